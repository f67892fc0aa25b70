// Several requests decided in one call: all of them are shown first, each with its diff, and each has its own result.

import { html, useEffect, useMemo, useRef, useState } from "../vendor.js";
import { api } from "../api.js";
import { Actor } from "../parts/actor.js";
import { parseDiff, totals } from "../parts/diff.js";
import { Counts, DiffView } from "../parts/diff-view.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { count, messageOf, visible, visibleLine } from "../parts/text.js";
import { toast, toastProblem } from "../parts/toast.js";
import { effectsOf, effectWords, headline, outcomeOf } from "../parts/words.js";

/** @typedef {import("../state.js").InboxEntry} InboxEntry */

/** Decisions in one call, at most. */
const AT_ONCE = 50;

/** Whether a request can be decided together with others: it waits, and the whole of it is shown in a list. @param {InboxEntry} entry */
export const canBeSelected = (entry) => entry.kind === "approval" && entry.approval?.status === "pending" && entry.approval.state_hash !== null;

/** @param {{ entries: InboxEntry[], approves: boolean, onClose: () => void, onDone: (ids: string[]) => void }} props */
export function Several({ entries, approves, onClose, onDone }) {
  const [isBusy, setIsBusy] = useState(false);
  const [failed, setFailed] = useState(/** @type {Record<string, string>} */ ({}));
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const reason = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => (approves ? button : reason).current?.focus(), []);
  const decide = async () => {
    if (isBusy) return;
    setIsBusy(true);
    const word = reason.current?.value.trim();
    /** @type {string[]} */
    const decided = [];
    let waiting = 0;
    /** @type {Record<string, string>} */
    const wrong = {};
    try {
      for (let from = 0; from < entries.length; from += AT_ONCE) {
        const decisions = entries.slice(from, from + AT_ONCE).map((entry) => ({ workspace_id: entry.workspace_id, approval_id: entry.approval.id, approve: approves, state_hash: entry.approval.state_hash, ...(word ? { reason: word } : {}) }));
        const { results } = await api.post("/inbox/decisions", { decisions });
        for (const result of results) {
          if (result.error) {
            wrong[result.approval_id] = messageOf(Object.assign(new Error(result.error.error ?? "It could not be decided."), { fields: result.error.fields }));
            continue;
          }
          const { text, isGood, isDecided } = outcomeOf(result.approval);
          if (isDecided) decided.push(result.approval_id);
          if (!isGood) wrong[result.approval_id] = isDecided ? text : "It asks for something else by now: look at it again.";
          else if (result.approval.status === "approved") waiting++;
        }
      }
    } catch (failure) {
      toastProblem(failure);
      setIsBusy(false);
      if (decided.length > 0) onDone(decided);
      return;
    }
    setIsBusy(false);
    const good = decided.filter((id) => !wrong[id]).length;
    if (good > 0) toast(`${approves ? "Approved" : "Denied"}: ${count(good, "request")}.${waiting > 0 ? ` Not done yet: ${waiting}, which the agent's process does.` : ""}`);
    setFailed(wrong);
    onDone(decided);
    if (Object.keys(wrong).length === 0) onClose();
  };
  const rest = entries.filter((entry) => Object.keys(failed).length === 0 || failed[entry.approval.id]);
  const hasFailed = Object.keys(failed).length > 0;
  const verb = approves ? "Approve" : "Deny";
  const footer = hasFailed ? html`<button class="button primary" onClick=${onClose}>Close</button>`
    : html`<button class="button" onClick=${onClose}>Cancel</button><button ref=${button} class="button ${approves ? "primary" : "danger"}" disabled=${isBusy} onClick=${() => void decide()}><${Icon} name=${approves ? "check" : "x"} />${isBusy ? "One moment…" : `${verb} ${entries.length}`}</button>`;
  return html`<${Dialog} title=${`${verb} ${count(entries.length, "request")}?`} wide onClose=${onClose} footer=${footer}>
    ${hasFailed ? html`<div class="banner warn" role="alert"><${Icon} name="alert" /><span>${rest.length} of ${count(entries.length, "request")} ${rest.length === 1 ? "was" : "were"} not ${approves ? "done" : "denied"}. Each says why.</span></div>`
      : !approves && html`<label class="field"><span>A word to the agents (optional)</span><input ref=${reason} maxlength="2000" placeholder="What to do instead" onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Enter" && void decide()} /></label>`}
    ${rest.map((entry) => html`<${One} key=${entry.approval.id} entry=${entry} problem=${failed[entry.approval.id] ?? ""} />`)}
  </${Dialog}>`;
}

/** @param {{ entry: InboxEntry, problem: string }} props */
function One({ entry, problem }) {
  const { approval } = entry;
  const files = useMemo(() => parseDiff(approval.diff ?? ""), [approval.diff]);
  const about = headline(approval);
  const effects = effectsOf(approval);
  return html`<section class="several-one" aria-label=${`${about.verb} ${visibleLine(about.target)}`}>
    <h3>${about.verb} ${about.isCode ? html`<code>${visible(about.target)}</code>` : html`<span class="path">${visibleLine(about.target)}</span>`}${about.more > 0 && html` <span class="muted">and ${count(about.more, "more", "more")}</span>`} <${Counts} ...${totals(files)} /></h3>
    <p class="row-by small"><${Actor} workspace=${entry.workspace_id} actor=${approval.asked_by} /><span class="muted">in ${visibleLine(entry.workspace_name)}</span></p>
    ${problem && html`<p class="form-problem" role="alert">${problem}</p>`}
    ${files.length > 0 ? html`<${DiffView} files=${files} label=${`What would change: ${visibleLine(about.target)}`} />`
      : html`<ul class="effects">${effects.slice(0, 20).map((effect, i) => { const words = effectWords(effect); return html`<li key=${i} class="effect ${words.tone}"><${Icon} name=${words.icon} /><span>${words.one}</span> <span class="path">${visibleLine(words.target)}</span></li>`; })}</ul>`}
  </section>`;
}
