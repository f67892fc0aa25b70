// Other arguments for the call of a request. They are planned first: what was shown is approved, and nothing else.

import { html, useEffect, useMemo, useRef, useState } from "../vendor.js";
import { api, ApiError } from "../api.js";
import { address } from "../router.js";
import { parseDiff, totals } from "../parts/diff.js";
import { Counts, DiffView } from "../parts/diff-view.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { count, messageOf, visible, visibleLine } from "../parts/text.js";
import { toast } from "../parts/toast.js";
import { effectsOf, effectWords } from "../parts/words.js";

/** @typedef {{ texts: Record<string, string>, json: string | null }} Draft the text of each field, or the JSON of all arguments */
/** @typedef {{ key: string, diff: string, effect: any, hash: string }} Planned `key` is the JSON of the arguments that were planned */

/** What was typed and not sent, by request: a closed editor opens as it was. @type {Map<string, Draft>} */
const drafts = new Map();

/** How a value is edited. @param {any} schema @param {unknown} value @returns {"text" | "boolean" | "number" | "json"} */
function kindOf(schema, value) {
  const type = Array.isArray(schema?.type) ? schema.type.find((/** @type {string} */ one) => one !== "null") : schema?.type;
  if (value !== undefined && value !== null && typeof value === "object") return "json";
  if (type === "string" || typeof value === "string") return "text";
  if (type === "boolean" || typeof value === "boolean") return "boolean";
  if (type === "number" || type === "integer" || typeof value === "number") return "number";
  return "json";
}

/** @param {unknown} value */
const textOf = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

/** @param {any} args @returns {Record<string, string>} */
const textsOf = (args) => Object.fromEntries(Object.entries(args ?? {}).map(([name, value]) => [name, textOf(value)]));

/**
 * The arguments that the draft stands for, or what is wrong with it, by field.
 * @param {Draft} draft
 * @param {any} original
 * @param {Record<string, any>} schemas
 * @returns {{ args: Record<string, unknown>, wrong: Record<string, string> }}
 */
function argsOf(draft, original, schemas) {
  if (draft.json !== null) {
    try {
      const args = JSON.parse(draft.json);
      if (args === null || typeof args !== "object" || Array.isArray(args)) throw new Error("The arguments are an object: { … }");
      return { args, wrong: {} };
    } catch (failure) {
      return { args: {}, wrong: { arguments: messageOf(failure) } };
    }
  }
  /** @type {Record<string, unknown>} */
  const args = {};
  /** @type {Record<string, string>} */
  const wrong = {};
  for (const [name, text] of Object.entries(draft.texts)) {
    if (kindOf(schemas[name], original?.[name]) === "text") {
      args[name] = text;
      continue;
    }
    if (text.trim() === "") continue;
    try {
      args[name] = JSON.parse(text);
    } catch {
      wrong[name] = "This is not JSON: a number, true or false, \"a text\", [ … ] or { … }.";
    }
  }
  return { args, wrong };
}

/**
 * What the server says is wrong, by field. Where it names no field, it is the one whose name or value it mentions.
 * @param {unknown} failure
 * @param {Record<string, unknown>} args
 * @returns {Record<string, string>}
 */
function wrongFields(failure, args) {
  const fields = failure instanceof ApiError ? failure.fields : {};
  /** @type {Record<string, string>} */
  const wrong = {};
  for (const [name, text] of Object.entries(fields)) {
    if (name !== "arguments") wrong[name] = text;
    else for (const one of text.replace(/^Validation failed: /, "").split(/; (?=\w+: )/)) {
      const named = /^(\w+): (.*)$/s.exec(one);
      if (named?.[1] && (named[1] in args || named[2]?.startsWith("missing"))) wrong[named[1]] = String(named[2]);
      else wrong[""] = one;
    }
  }
  if (Object.keys(wrong).length > 0) return wrong;
  const message = messageOf(failure);
  const mentioned = Object.entries(args).find(([name, value]) => message.includes(`\`${name}\``) || (typeof value === "string" && value.length > 2 && message.includes(value)));
  return { [mentioned?.[0] ?? ""]: message };
}

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
      drafts.delete(approval.id);
      if (answer.status === "failed") toast("Approved, but it could not be done: the agent was told why.", { kind: "bad" });
      else toast("Approved with your arguments, and done.", answer.step_id ? { action: { label: "See the step", run: () => (location.hash = address("w", workspace, "timeline", answer.step_id)) } } : {});
      onDecided();
    } catch (failure) {
      setIsBusy(false);
      if (!(failure instanceof ApiError) || failure.status !== 409) return setWrong(wrongFields(failure, args));
      // The request or a file is another by now: both are read again, and nothing was decided.
      await onReload();
      await plan();
      setNotice("Something changed meanwhile, so nothing was decided. This is what would happen now.");
    }
  };

  const absent = Object.keys(schemas).filter((name) => !(name in draft.texts));
  const effects = planned ? effectsOf({ effect: planned.effect }) : [];
  const field = (/** @type {string} */ name) => html`<${Field} key=${name} name=${name} schema=${schemas[name]} kind=${kindOf(schemas[name], approval.args?.[name])} text=${draft.texts[name] ?? ""}
    wrong=${wrong[name] ?? ""} isChanged=${(draft.texts[name] ?? "") !== (approval.args && name in approval.args ? textOf(approval.args[name]) : "")} onText=${(/** @type {string} */ text) => setText(name, text)}
    onLeaveOut=${name in draft.texts ? () => leaveOut(name) : null} />`;
  const footer = html`<button class="button" onClick=${onClose}>Cancel</button>
    <button class="button ${isPlanned ? "" : "primary"}" disabled=${isBusy} onClick=${() => void plan()}><${Icon} name="eye" />${isBusy ? "One moment…" : isPlanned ? "Plan it again" : "Plan it"}</button>
    <button ref=${approveButton} class="button ${isPlanned ? "primary" : ""}" disabled=${!isPlanned || isBusy} title=${isPlanned ? "" : "Plan it first: you approve what you have seen"} onClick=${() => void approve()}><${Icon} name="check" />Approve with these arguments</button>`;
  return html`<${Dialog} title="Edit the arguments" wide onClose=${onClose} footer=${footer} onKeyDown=${(/** @type {KeyboardEvent} */ event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); void (isPlanned ? approve() : plan()); } }}>
    <div class="edit-head"><p class="muted">The call <code>${visibleLine(`${approval.toolset}.${approval.tool}`)}</code> is planned again with what you write here. The agent is told that you changed it.</p>
      <div class="segmented" role="group" aria-label="How to edit"><button type="button" aria-pressed=${draft.json === null} onClick=${() => draft.json !== null && setIsJson(false)}>Form</button><button type="button" aria-pressed=${draft.json !== null} onClick=${() => draft.json === null && setIsJson(true)}>JSON</button></div></div>
    <form ref=${form} class="edit-args" onSubmit=${(/** @type {Event} */ event) => { event.preventDefault(); void plan(); }}>
      ${draft.json !== null ? html`<${Field} name="arguments" title="Arguments as JSON" schema=${null} kind="json" text=${draft.json} wrong=${wrong.arguments ?? Object.entries(wrong).filter(([name]) => name !== "").map(([name, text]) => `${name}: ${text}`).join("\n")} isChanged=${false} onText=${(/** @type {string} */ json) => change({ texts: {}, json })} onLeaveOut=${null} />`
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

/**
 * One argument.
 * @param {{ name: string, title?: string, schema: any, kind: "text" | "boolean" | "number" | "json", text: string, wrong: string, isChanged: boolean, onText: (text: string) => void, onLeaveOut: (() => void) | null }} props
 */
function Field({ name, title, schema, kind, text, wrong, isChanged, onText, onLeaveOut }) {
  const id = `argument-${name}`;
  const isLong = kind === "json" || (kind === "text" && (text.includes("\n") || text.length > 90 || /content|patch|string|text|body|prompt/.test(name)));
  const input = (/** @type {any} */ event) => onText(event.target.value);
  const common = { id, class: "mono", spellcheck: false, "aria-invalid": wrong ? "true" : undefined, "aria-describedby": `${wrong ? `${id}-wrong ` : ""}${schema?.description ? `${id}-hint` : ""}`.trim() || undefined };
  return html`<div class="field argument ${wrong ? "wrong" : ""}">
    <div class="argument-head"><label for=${id}>${title ?? visibleLine(name)}</label>${isChanged && html`<span class="chip">changed</span>`}<span class="grow"></span>${onLeaveOut && html`<button type="button" class="link small" aria-label=${`Leave out ${visibleLine(name)}`} onClick=${onLeaveOut}>Leave out</button>`}</div>
    ${kind === "boolean" ? html`<select ...${common} value=${text} onChange=${input}><option value="">not set</option><option value="true">true</option><option value="false">false</option></select>`
      : isLong ? html`<textarea ...${common} rows=${Math.min(14, Math.max(kind === "json" ? 4 : 2, text.split("\n").length + 1))} value=${text} onInput=${input}></textarea>`
      : html`<input ...${common} inputmode=${kind === "number" ? "numeric" : undefined} autocomplete="off" value=${text} onInput=${input} />`}
    ${wrong && html`<small id=${`${id}-wrong`} class="argument-wrong" role="alert"><${Icon} name="alert" />${visible(wrong)}</small>`}
    ${schema?.description && html`<small id=${`${id}-hint`} class="muted">${visible(String(schema.description))}</small>`}
  </div>`;
}
