// "For this chat" and "Always": the rule that such a yes saves, shown before it counts.

import { html, useEffect, useRef, useState } from "../vendor.js";
import { api, ApiError } from "../api.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { RuleTable } from "../parts/rules.js";
import { Loading, Problem } from "../parts/states.js";
import { count, visible, visibleLine } from "../parts/text.js";
import { effectsOf, effectWords } from "../parts/words.js";

/** Effects that are listed. */
const SHOWN = 20;

const WORDS = {
  rule: { title: "Always allow this?", button: "Allow it always", icon: "shield", where: "for every agent and chat of the workspace", after: "The settings list it under \"Allowed always\", where it can be removed." },
  chat: { title: "Allow this in the whole chat?", button: "Allow it in this chat", icon: "chats", where: "in this chat only", after: "It ends with the chat." },
};

/** @param {{ workspace: string, approval: any, scope: "rule" | "chat", isBusy: boolean, onClose: () => void, onAllow: () => void }} props */
export function Always({ workspace, approval, scope, isBusy, onClose, onAllow }) {
  /** `rule` is null where there is no such yes; `why` says why. */
  const [found, setFound] = useState(/** @type {{ rule: any, why: string | null } | null} */ (null));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const read = async () => {
    try {
      const { rules } = await api.get(`/workspaces/${workspace}/approvals/${approval.id}/rules`);
      setFound(rules.find((/** @type {any} */ one) => one.scope === scope) ?? { rule: null, why: "There is no such yes for this request." });
      setProblem(null);
    } catch (failure) {
      setProblem(failure);
    }
  };
  useEffect(() => void read(), []);
  useEffect(() => {
    if (found?.rule) button.current?.focus();
  }, [found]);
  const words = WORDS[scope];
  // A server that does not say the rule: what it would cover is said in words.
  const isUnsaid = problem instanceof ApiError && (problem.status === 404 || problem.status === 405);
  const may = !isBusy && (isUnsaid || Boolean(found?.rule));
  const footer = html`<button class="button" onClick=${onClose}>Cancel</button><button ref=${button} class="button primary" disabled=${!may} onClick=${onAllow}><${Icon} name=${words.icon} />${words.button}</button>`;
  return html`<${Dialog} title=${words.title} wide onClose=${onClose} footer=${footer}>
    ${isUnsaid ? html`<${InWords} approval=${approval} where=${words.where} />`
      : problem ? html`<${Problem} problem=${problem} onRetry=${read} />`
      : !found ? html`<${Loading} lines=${3} label="Loading the rule" />`
      : !found.rule ? html`<div class="banner warn"><${Icon} name="alert" /><span>${visible(found.why ?? "")}</span></div>`
      : html`<p class="spaced-below">This request is approved, and this rule is saved. It holds ${words.where}.</p><div class="always-rule"><${RuleTable} rules=${[found.rule]} title="The rule" /></div>`}
    ${may && html`<p class="muted">${words.after}</p>`}
  </${Dialog}>`;
}

/** @param {{ approval: any, where: string }} props */
function InWords({ approval, where }) {
  const effects = effectsOf(approval);
  return html`<p class="spaced-below">This request is approved, and a rule is saved: from then on the tool <code>${visibleLine(`${approval.toolset}.${approval.tool}`)}</code> may do the following without asking, ${where}.</p>
    <ul class="effects">${effects.slice(0, SHOWN).map((effect, i) => { const words = effectWords(effect); return html`<li key=${i} class="effect ${words.tone}"><${Icon} name=${words.icon} /><span>${words.one}${words.isFolder ? " the folder" : ""}</span> <span class="path">${visibleLine(words.target)}</span></li>`; })}
      ${effects.length > SHOWN && html`<li class="effect plain"><span></span>and ${count(effects.length - SHOWN, "more", "more")}</li>`}</ul>`;
}
