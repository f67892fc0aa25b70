// "Always": the rule that would be saved, shown before it counts.

import { html, useEffect, useRef } from "../vendor.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { RuleTable } from "../parts/rules.js";
import { count, visibleLine } from "../parts/text.js";
import { effectsOf, effectWords } from "../parts/words.js";

/** Effects that are listed. */
const SHOWN = 20;

/** @param {{ approval: any, isBusy: boolean, onClose: () => void, onAlways: () => void }} props */
export function Always({ approval, isBusy, onClose, onAlways }) {
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
  useEffect(() => button.current?.focus(), []);
  const effects = effectsOf(approval);
  const footer = html`<button class="button" onClick=${onClose}>Cancel</button><button ref=${button} class="button primary" disabled=${isBusy} onClick=${onAlways}><${Icon} name="shield" />Allow it always</button>`;
  return html`<${Dialog} title="Always allow this?" wide onClose=${onClose} footer=${footer}>
    ${approval.always_rule ? html`<p class="spaced-below">This request is approved, and this rule is saved. It holds for every agent and chat of the workspace.</p>
        <div class="always-rule"><${RuleTable} rules=${[approval.always_rule]} title="The rule" /></div>`
      : html`<p class="spaced-below">This request is approved, and a rule is saved: from then on the tool <code>${visibleLine(`${approval.toolset}.${approval.tool}`)}</code> may do the following without asking, for every agent and chat of the workspace.</p>
        <ul class="effects">${effects.slice(0, SHOWN).map((effect, i) => { const words = effectWords(effect); return html`<li key=${i} class="effect ${words.tone}"><${Icon} name=${words.icon} /><span>${words.one}${words.isFolder ? " the folder" : ""}</span> <span class="path">${visibleLine(words.target)}</span></li>`; })}
          ${effects.length > SHOWN && html`<li class="effect plain"><span></span>and ${count(effects.length - SHOWN, "more", "more")}</li>`}</ul>`}
    <p class="muted">The settings list it under "Allowed always", where it can be removed.</p>
  </${Dialog}>`;
}
