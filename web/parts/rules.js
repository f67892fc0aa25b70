// Rules of a policy as a table.

import { html } from "../vendor.js";
import { Icon } from "./icons.js";
import { visibleLine } from "./text.js";

export const VERDICTS = /** @type {Record<string, { text: string, tone: string }>} */ ({ allow: { text: "Allow", tone: "good" }, ask: { text: "Ask", tone: "warn" }, deny: { text: "Deny", tone: "bad" } });

/** @param {unknown} words */
const listed = (words) => (Array.isArray(words) ? words : words === undefined || words === null ? [] : [words]).map((word) => visibleLine(word));

/** @param {{ rules: any[], title: string, onRemove?: (index: number) => void }} props */
export function RuleTable({ rules, title, onRemove }) {
  const hasWhy = rules.some((entry) => listed((entry.rule ?? entry).why).length > 0);
  return html`<div class="table-box" tabindex="0" role="region" aria-label=${title}><table><caption>${title}</caption><thead><tr><th>Decision</th><th>Effect</th><th>On</th><th>Tool</th>${hasWhy && html`<th>Why</th>`}${onRemove && html`<th><span class="sr-only">Remove</span></th>`}</tr></thead>
    <tbody>${rules.map((entry, i) => {
      const rule = entry.rule ?? entry;
      const verdict = VERDICTS[rule.then] ?? { text: visibleLine(rule.then), tone: "plain" };
      const on = [...listed(rule.path), ...listed(rule.host)];
      return html`<tr key=${i}><td><span class="verdict ${verdict.tone}">${verdict.text}</span></td><td>${listed(rule.effect).join(", ") || "anything"}</td><td class="mono">${on.length > 0 ? on.join(", ") : "everything"}</td><td class="mono">${listed(rule.tool).join(", ") || "any"}</td>${hasWhy && html`<td>${listed(rule.why)}</td>`}
        ${onRemove && html`<td class="last"><button class="icon-button small" aria-label=${`Remove rule ${i + 1} of ${title}`} title="Remove" onClick=${() => onRemove(i)}><${Icon} name="trash" /></button></td>`}</tr>`;
    })}</tbody></table></div>`;
}
