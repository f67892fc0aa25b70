// A question of an agent, as a form that is made from the schemas of its answers.

import { html, useEffect, useRef, useState } from "../vendor.js";
import { api, ApiError } from "../api.js";
import { address } from "../router.js";
import { inbox, mayChange, workspaceOf } from "../state.js";
import { onHappening } from "../stream.js";
import { Actor } from "../parts/actor.js";
import { ChatLink } from "../parts/chat-link.js";
import { Icon } from "../parts/icons.js";
import { useKeys } from "../parts/keys.js";
import { laterTimes, setLater, untilWords } from "../parts/later.js";
import { Menu } from "../parts/menu.js";
import { Loading, Problem } from "../parts/states.js";
import { asText, messageOf, visible, visibleLine } from "../parts/text.js";
import { Time } from "../parts/time.js";
import { toast } from "../parts/toast.js";
import { inboxPlace } from "./inbox-place.js";
import { Plan } from "./plan.js";

/** @typedef {{ name: string, question: string, schema: any, buttons?: { label: string, value: string }[] }} Item */

/** @param {{ workspace: string, id: string, onAnswered: () => void }} props */
export function QuestionDetail({ workspace, id, onAnswered }) {
  const [question, setQuestion] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const load = async () => {
    try {
      setQuestion(await api.get(`/workspaces/${workspace}/questions/${id}`));
      setProblem(null);
    } catch (failure) {
      setProblem(failure);
    }
  };
  useEffect(() => {
    void load();
    return onHappening(({ workspace: where, kind, ref }) => {
      if (kind === "reset" || (where === workspace && ref === id)) void load();
    });
  }, [workspace, id]);
  const isGone = question?.status === "pending" && inbox.value !== null && !inbox.value.some((entry) => entry.question?.id === id);
  useEffect(() => {
    if (isGone) void load();
  }, [isGone, inbox.value]);
  if (problem && !question) return html`<${Problem} problem=${problem} onRetry=${load} />`;
  if (!question) return html`<div class="pad"><${Loading} label="Loading the question" /></div>`;
  return html`<article class="request" aria-label="Question">
    <div class="request-head">
      <div class="request-who"><${Actor} workspace=${workspace} actor=${question.asked_by} /><span class="muted">asks in</span><a href=${address("w", workspace, "timeline")}>${visibleLine(workspaceOf(workspace)?.name ?? "a workspace")}</a>
        <${ChatLink} workspace=${workspace} id=${question.chat_id} /><span class="grow"></span><${Time} class="muted" at=${question.asked_at} /></div>
      <h1 class="request-title">${question.questions.length > 1 ? `${question.questions.length} questions` : "A question"}</h1>
    </div>
    ${question.plan && html`<${Plan} workspace=${workspace} plan=${question.plan} />`}
    ${question.status === "pending" ? html`<${Form} workspace=${workspace} question=${question} onReload=${load} onAnswered=${onAnswered} />` : html`<${Answered} workspace=${workspace} question=${question} />`}
  </article>`;
}

/** @param {{ workspace: string, question: any }} props */
export function Answered({ workspace, question }) {
  return html`<div class="banner good" role="status"><${Icon} name="check" /><span class="grow"><strong>Answered</strong> by <${Actor} workspace=${workspace} actor=${question.answered_by} />, <${Time} at=${question.answered_at ?? question.asked_at} />.</span></div>
    <dl class="answers">${question.questions.map((/** @type {Item} */ item) => html`<div key=${item.name}><dt>${visible(item.question)}</dt><dd>${visible(own(question.answers ?? {}, item.name))}</dd></div>`)}</dl>`;
}

/** A field that the object has itself: a question can be named `constructor`. @param {Record<string, any>} object @param {string} name */
const own = (object, name) => (Object.hasOwn(object, name) ? object[name] : undefined);

/** @param {{ workspace: string, question: any, onReload: () => Promise<void>, onAnswered: () => void }} props */
function Form({ workspace, question, onReload, onAnswered }) {
  const [answers, setAnswers] = useState(/** @type {Record<string, any>} */ ({}));
  const [typed, setTyped] = useState(/** @type {Record<string, boolean>} */ ({}));
  const [problem, setProblem] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  const may = mayChange(workspace);
  const items = /** @type {Item[]} */ (question.questions);
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const [isLaterOpen, setIsLaterOpen] = useState(false);
  const putOff = async (/** @type {Date | null} */ until) => (await setLater(workspace, question.id, until)) && onAnswered();
  const times = [...(inboxPlace().isLater ? [{ label: "Back into the inbox", icon: "inbox", run: () => void putOff(null) }] : []), ...laterTimes(new Date()).map(({ label, until }) => ({ label, icon: "timeline", hint: untilWords(until), run: () => void putOff(until) }))];
  useKeys({ l: () => may && setIsLaterOpen(true) });

  /** @param {string} name @param {unknown} value @param {boolean} byText */
  const set = (name, value, byText) => {
    setAnswers((old) => ({ ...old, [name]: value }));
    setTyped((old) => ({ ...old, [name]: byText }));
  };
  /** @param {SubmitEvent} event */
  const submit = async (event) => {
    event.preventDefault();
    setIsBusy(true);
    setProblem("");
    const byText = items.some((item) => own(typed, item.name));
    try {
      await api.post(`/workspaces/${workspace}/questions/${question.id}/answer`, { answers, via: byText ? "text" : "button" });
      toast("Answered.");
      onAnswered();
    } catch (failure) {
      setIsBusy(false);
      if (failure instanceof ApiError && failure.status === 409) await onReload();
      else setProblem(failure instanceof ApiError && Object.keys(failure.fields).length > 0 ? Object.values(failure.fields).join("; ") : messageOf(failure));
    }
  };
  return html`<form ref=${form} class="question-form" onSubmit=${submit}>
    ${items.map((item) => html`<${Field} key=${item.name} item=${item} value=${own(answers, item.name)} isDisabled=${!may} onChange=${(/** @type {unknown} */ value, /** @type {boolean} */ byText) => set(item.name, value, byText)} />`)}
    ${problem && html`<p class="form-problem" role="alert">${problem}</p>`}
    <div class="decide">${may ? html`<button class="button primary" disabled=${isBusy || items.some((item) => own(answers, item.name) === undefined)}><${Icon} name="check" />Send the answer</button><span class="grow"></span><${Menu} label="Later" shortcut="l" isOpen=${isLaterOpen} onOpen=${setIsLaterOpen} isDisabled=${isBusy} choices=${times} />` : html`<p class="muted">You can look at this workspace; its members answer.</p>`}</div>
  </form>`;
}

/** The answers to choose from, if the question has any. @param {Item} item */
function choicesOf(item) {
  if (item.buttons?.length) return item.buttons;
  const values = item.schema?.enum ?? (item.schema?.const !== undefined ? [item.schema.const] : undefined);
  if (Array.isArray(values)) return values.map((value) => ({ label: asText(value), value }));
  if (item.schema?.type === "boolean") return [{ label: "Yes", value: true }, { label: "No", value: false }];
  return null;
}

/** @param {{ item: Item, value: any, isDisabled: boolean, onChange: (value: unknown, byText: boolean) => void }} props */
function Field({ item, value, isDisabled, onChange }) {
  const choices = choicesOf(item);
  const many = item.schema?.type === "array" && Array.isArray(item.schema.items?.enum) ? item.schema.items.enum : null;
  const hint = typeof item.schema?.description === "string" ? html`<small class="muted">${visible(item.schema.description)}</small>` : null;
  if (choices) {
    return html`<fieldset class="field"><legend>${visible(item.question)}</legend>${hint}<div class="choices">
      ${choices.map((choice, i) => html`<label key=${i} class="choice"><input type="radio" name=${item.name} checked=${value === choice.value} disabled=${isDisabled} onChange=${() => onChange(choice.value, false)} /><span>${visible(choice.label)}</span></label>`)}
    </div></fieldset>`;
  }
  if (many) {
    const chosen = Array.isArray(value) ? value : [];
    return html`<fieldset class="field"><legend>${visible(item.question)}</legend>${hint}<div class="choices">
      ${many.map((/** @type {unknown} */ one, /** @type {number} */ i) => html`<label key=${i} class="choice"><input type="checkbox" checked=${chosen.includes(one)} disabled=${isDisabled} onChange=${() => onChange(chosen.includes(one) ? chosen.filter((other) => other !== one) : [...chosen, one], true)} /><span>${visible(one)}</span></label>`)}
    </div></fieldset>`;
  }
  const type = item.schema?.type;
  const isNumber = type === "number" || type === "integer";
  const isText = type === "string" || type === undefined;
  /** @param {Event} event */
  const input = (event) => {
    const raw = /** @type {HTMLInputElement} */ (event.target).value;
    if (isText) return onChange(raw, true);
    if (isNumber) return onChange(raw === "" ? undefined : Number(raw), true);
    try {
      onChange(JSON.parse(raw), true);
    } catch {
      onChange(undefined, true);
    }
  };
  return html`<label class="field"><span class="question-text">${visible(item.question)}</span>${hint}
    ${isNumber ? html`<input type="number" step=${type === "integer" ? 1 : "any"} min=${item.schema.minimum} max=${item.schema.maximum} disabled=${isDisabled} onInput=${input} />`
      : html`<textarea rows=${isText ? 2 : 4} maxlength=${item.schema?.maxLength} placeholder=${isText ? "" : `JSON: ${type}`} disabled=${isDisabled} onInput=${input}></textarea>`}</label>`;
}
