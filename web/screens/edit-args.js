// Other arguments for the call of a request. They are planned first: what was shown is approved, and nothing else.

import { html, useEffect, useMemo, useRef, useState } from "../vendor.js";
import { api, ApiError } from "../api.js";
import { address } from "../router.js";
import { argsOf, ArgumentField, kindOf, textOf, textsOf, wrongFields } from "../parts/args-form.js";
import { parseDiff, totals } from "../parts/diff.js";
import { Counts, DiffView } from "../parts/diff-view.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { count, messageOf, visible, visibleLine } from "../parts/text.js";
import { toast } from "../parts/toast.js";
import { effectsOf, effectWords, outcomeOf } from "../parts/words.js";

/** @typedef {import("../parts/args-form.js").Draft} Draft */
/** @typedef {{ key: string, diff: string, effect: any, hash: string }} Planned `key` is the JSON of the arguments that were planned */

/** What was typed and not sent, by request: a closed editor opens as it was. @type {Map<string, Draft>} */
const drafts = new Map();

/** @param {{ workspace: string, approval: any, onClose: () => void, onDecided: () => void, onReload: () => Promise<void> }} props */
export function EditArguments({ workspace, approval, onClose, onDecided, onReload }) {
  const [draft, setDraft] = useState(/** @type {Draft} */ (drafts.get(approval.id) ?? { texts: textsOf(approval.args), json: null }));
  const [schemas, setSchemas] = useState(/** @type {Record<string, any>} */ ({}));
  const [planned, setPlanned] = useState(/** @type {Planned | null} */ (null));
  const [wrong, setWrong] = useState(/** @type {Record<string, string>} */ ({}));
  const [notice, setNotice] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  const approveButton = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  useEffect(() => {
    api.get(`/workspaces/${workspace}/tools?toolset=${encodeURIComponent(approval.toolset)}`)
      .then(({ tools }) => setSchemas(tools.find((/** @type {any} */ tool) => tool.name === approval.tool)?.input_schema?.properties ?? {}))
      // Without them the fields have no descriptions.
      .catch(() => {});
  }, []);

  const { args, wrong: malformed } = argsOf(draft, approval.args, schemas);
  const key = JSON.stringify(args);
  const isPlanned = planned !== null && planned.key === key && Object.keys(malformed).length === 0;
  const files = useMemo(() => (planned ? parseDiff(planned.diff) : []), [planned]);
  /** @param {Draft} next */
  const change = (next) => {
    drafts.set(approval.id, next);
    setDraft(next);
    setWrong({});
    setNotice("");
  };
  /** @param {string} name @param {string} text */
  const setText = (name, text) => change({ ...draft, texts: { ...draft.texts, [name]: text } });
  const leaveOut = (/** @type {string} */ name) => change({ ...draft, texts: Object.fromEntries(Object.entries(draft.texts).filter(([other]) => other !== name)) });
  const setIsJson = (/** @type {boolean} */ isJson) => {
    if (Object.keys(malformed).length > 0) return setWrong(malformed);
    change(isJson ? { texts: {}, json: JSON.stringify(args, null, 2) } : { texts: textsOf(args), json: null });
  };

  const plan = async () => {
    if (isBusy) return;
    if (Object.keys(malformed).length > 0) return setWrong(malformed);
    setIsBusy(true);
    setWrong({});
    try {
      const made = { key, diff: "", effect: null, hash: "" };
      /** @type {any} */
      let part = { next: 0 };
      while (part.next !== null) {
        part = (await api.post(`/workspaces/${workspace}/approvals/${approval.id}/plan`, { args, from: part.next })).plan;
        Object.assign(made, { diff: made.diff + part.diff, effect: part.effect, hash: part.state_hash });
      }
      setPlanned(made);
      setTimeout(() => approveButton.current?.focus());
    } catch (failure) {
      setPlanned(null);
      setWrong(wrongFields(failure, args));
      // The first field that is wrong has the focus.
      setTimeout(() => /** @type {HTMLElement | null | undefined} */ (form.current?.querySelector("[aria-invalid=true]"))?.focus());
    }
    setIsBusy(false);
  };
  const approve = async () => {
    if (!isPlanned || !planned || isBusy) return;
    setIsBusy(true);
    try {
      const answer = await api.post(`/workspaces/${workspace}/approvals/${approval.id}/decision`, { decision: "approve", state_hash: approval.state_hash, args, plan_hash: planned.hash });
      const { text, isGood, isDecided } = outcomeOf(answer, "Approved with your arguments, and done.");
      if (!isDecided) return await planAgain();
      drafts.delete(approval.id);
      const step = answer.status === "executed" && answer.step_id;
      toast(text, { kind: isGood ? "good" : "bad", ...(step ? { action: { label: "See the step", run: () => (location.hash = address("w", workspace, "timeline", step)) } } : {}) });
      onDecided();
    } catch (failure) {
      if (failure instanceof ApiError && failure.status === 409) return await planAgain();
      setIsBusy(false);
      setWrong(wrongFields(failure, args));
    }
  };
  /** The request or a file is another by now: both are read again, and nothing was decided. */
  const planAgain = async () => {
    await onReload();
    await plan();
    setNotice("Something changed meanwhile, so nothing was decided. This is what would happen now.");
  };

  const absent = Object.keys(schemas).filter((name) => !(name in draft.texts));
  const effects = planned ? effectsOf({ effect: planned.effect }) : [];
  const field = (/** @type {string} */ name) => html`<${ArgumentField} key=${name} name=${name} schema=${schemas[name]} kind=${kindOf(schemas[name], approval.args?.[name])} text=${draft.texts[name] ?? ""}
    wrong=${wrong[name] ?? ""} isChanged=${(draft.texts[name] ?? "") !== (approval.args && name in approval.args ? textOf(approval.args[name]) : "")} onText=${(/** @type {string} */ text) => setText(name, text)}
    onLeaveOut=${name in draft.texts ? () => leaveOut(name) : null} />`;
  const footer = html`<button class="button" onClick=${onClose}>Cancel</button>
    <button class="button ${isPlanned ? "" : "primary"}" disabled=${isBusy} onClick=${() => void plan()}><${Icon} name="eye" />${isBusy ? "One moment…" : isPlanned ? "Plan it again" : "Plan it"}</button>
    <button ref=${approveButton} class="button ${isPlanned ? "primary" : ""}" disabled=${!isPlanned || isBusy} title=${isPlanned ? "" : "Plan it first: you approve what you have seen"} onClick=${() => void approve()}><${Icon} name="check" />Approve with these arguments</button>`;
  return html`<${Dialog} title="Edit the arguments" wide onClose=${onClose} footer=${footer} onKeyDown=${(/** @type {KeyboardEvent} */ event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); void (isPlanned ? approve() : plan()); } }}>
    <div class="edit-head"><p class="muted">The call <code>${visibleLine(`${approval.toolset}.${approval.tool}`)}</code> is planned again with what you write here. The agent is told that you changed it.</p>
      <div class="segmented" role="group" aria-label="How to edit"><button type="button" aria-pressed=${draft.json === null} onClick=${() => draft.json !== null && setIsJson(false)}>Form</button><button type="button" aria-pressed=${draft.json !== null} onClick=${() => draft.json === null && setIsJson(true)}>JSON</button></div></div>
    <form ref=${form} class="edit-args" onSubmit=${(/** @type {Event} */ event) => { event.preventDefault(); void plan(); }}>
      ${draft.json !== null ? html`<${ArgumentField} name="arguments" title="Arguments as JSON" schema=${null} kind="json" text=${draft.json} wrong=${wrong.arguments ?? Object.entries(wrong).filter(([name]) => name !== "").map(([name, text]) => `${name}: ${text}`).join("\n")} isChanged=${false} onText=${(/** @type {string} */ json) => change({ texts: {}, json })} onLeaveOut=${null} />`
        : html`${Object.keys(draft.texts).map(field)}
          ${Object.entries(wrong).filter(([name]) => name !== "" && !(name in draft.texts) && !absent.includes(name)).map(([name, text]) => html`<p key=${name} class="form-problem" role="alert"><strong>${visibleLine(name)}:</strong> ${visible(text)}</p>`)}
          ${absent.length > 0 && html`<details class="arguments more-args" open=${absent.some((name) => wrong[name])}><summary>${count(absent.length, "more argument")} of this tool</summary>${absent.map(field)}</details>`}`}
      <button hidden></button>
    </form>
    ${wrong[""] && html`<p class="form-problem" role="alert">${visible(wrong[""])}</p>`}
    ${notice && html`<div class="banner warn" role="alert"><${Icon} name="alert" /><span>${notice}</span></div>`}
    ${planned && html`<section class="planned ${isPlanned ? "" : "outdated"}" aria-label="What would happen with these arguments">
      <div class="diff-summary"><strong>${isPlanned ? "What would happen" : "What would have happened: plan it again"}</strong><${Counts} ...${totals(files)} /></div>
      ${files.length > 0 ? html`<${DiffView} files=${files} label="What would change with these arguments" />`
        : effects.length > 0 ? html`<ul class="effects">${effects.slice(0, 50).map((effect, i) => { const words = effectWords(effect); return html`<li key=${i} class="effect ${words.tone}"><${Icon} name=${words.icon} /><span>${words.one}</span> <span class="path">${visibleLine(words.target)}</span></li>`; })}</ul>`
        : html`<p class="nothing"><${Icon} name="check" />Nothing would change.</p>`}</section>`}
  </${Dialog}>`;
}
