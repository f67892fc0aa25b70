// The plan that a question asks to accept. The question names it with the hash of its content: Accept is for exactly that.

import { html, useEffect, useState } from "../vendor.js";
import { callTool } from "../api.js";
import { Icon } from "../parts/icons.js";
import { Loading } from "../parts/states.js";
import { visible, visibleLine } from "../parts/text.js";
import { fileAddress } from "./files.js";

/** @param {{ workspace: string, plan: { path: string, hash: string } }} props */
export function Plan({ workspace, plan }) {
  const [found, setFound] = useState(/** @type {any} */ (null));
  useEffect(() => {
    setFound(null);
    callTool(workspace, "plan_read", { path: plan.path }).then(setFound, () => setFound({ isMissing: true }));
  }, [workspace, plan.path, plan.hash]);
  if (!found) return html`<${Loading} lines=${4} label="Loading the plan" />`;
  if (found.isMissing || found.hash !== plan.hash) {
    return html`<div class="banner warn" role="alert"><${Icon} name="alert" /><span>The plan <a href=${fileAddress(workspace, plan.path)}>${visibleLine(plan.path)}</a> is another by now than the one that this question is about. It cannot be accepted: the agent has to ask again.</span></div>`;
  }
  return html`<section class="plan" aria-label="The plan"><header><${Icon} name="plan" /><h2 class="grow">${visibleLine(found.metadata?.title ?? "The plan")}</h2><a class="small" href=${fileAddress(workspace, found.path)}>${visibleLine(found.path)}</a></header>
    <div class="plan-text">${visible(found.content)}</div>${found.truncated && html`<p class="muted">The plan is longer: open its file to see all of it.</p>`}</section>`;
}
