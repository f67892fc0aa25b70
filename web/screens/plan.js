// The plan that a question asks to accept: the one that the chat wrote last.

import { html, useEffect, useState } from "../vendor.js";
import { all, callTool } from "../api.js";
import { Icon } from "../parts/icons.js";
import { Loading } from "../parts/states.js";
import { visible, visibleLine } from "../parts/text.js";
import { fileAddress } from "./files.js";

/** Whether a question asks to accept a plan. @param {any} question */
export const asksForPlan = (question) => question.questions.some((/** @type {any} */ item) => Array.isArray(item.schema?.enum) && item.schema.enum.length === 2 && item.schema.enum.includes("Accept") && item.schema.enum.includes("Reject"));

/** @param {{ workspace: string, chat: string }} props */
export function Plan({ workspace, chat }) {
  const [plan, setPlan] = useState(/** @type {any} */ (null));
  useEffect(() => {
    readPlan(workspace, chat).then(setPlan, () => setPlan({ isMissing: true }));
  }, [workspace, chat]);
  if (!plan) return html`<${Loading} lines=${4} label="Loading the plan" />`;
  if (plan.isMissing) return null;
  return html`<section class="plan" aria-label="The plan"><header><${Icon} name="plan" /><h2 class="grow">${visibleLine(plan.metadata?.title ?? "The plan")}</h2><a class="small" href=${fileAddress(workspace, plan.path)}>${visibleLine(plan.path)}</a></header>
    <div class="plan-text">${visible(plan.content)}</div>${plan.truncated && html`<p class="muted">The plan is longer: open its file to see all of it.</p>`}</section>`;
}

/** @param {string} workspace @param {string} chat */
async function readPlan(workspace, chat) {
  const turns = await all(`/workspaces/${workspace}/chats/${chat}`, "messages", 100_000);
  const written = turns.filter((turn) => turn.kind === "tool_call" && turn.data.ok && /plan_(write|edit)$/.test(turn.data.tool)).at(-1);
  const path = written?.data.answer?.result?.path;
  if (!path) return { isMissing: true };
  return callTool(workspace, "plan_read", { path });
}
