// The arguments of a tool as a form: a field for each, and what is wrong with them at the field.

import { html } from "../vendor.js";
import { ApiError } from "../api.js";
import { Icon } from "./icons.js";
import { messageOf, visible, visibleLine } from "./text.js";

/** @typedef {{ texts: Record<string, string>, json: string | null }} Draft the text of each field, or the JSON of all arguments */

/** How a value is edited. @param {any} schema @param {unknown} value @returns {"text" | "boolean" | "number" | "json"} */
export function kindOf(schema, value) {
  const type = Array.isArray(schema?.type) ? schema.type.find((/** @type {string} */ one) => one !== "null") : schema?.type;
  if (value !== undefined && value !== null && typeof value === "object") return "json";
  // What takes any value takes a text.
  if (type === "string" || typeof value === "string" || (type === undefined && value === undefined)) return "text";
  if (type === "boolean" || typeof value === "boolean") return "boolean";
  if (type === "number" || type === "integer" || typeof value === "number") return "number";
  return "json";
}

/** @param {unknown} value */
export const textOf = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

/** @param {any} args @returns {Record<string, string>} */
export const textsOf = (args) => Object.fromEntries(Object.entries(args ?? {}).map(([name, value]) => [name, textOf(value)]));

/**
 * The arguments that the draft stands for, or what is wrong with it, by field.
 * @param {Draft} draft
 * @param {any} original
 * @param {Record<string, any>} schemas
 * @returns {{ args: Record<string, unknown>, wrong: Record<string, string> }}
 */
export function argsOf(draft, original, schemas) {
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
export function wrongFields(failure, args) {
  const fields = failure instanceof ApiError ? failure.fields : {};
  /** @type {Record<string, string>} */
  const wrong = {};
  for (const [name, text] of Object.entries(fields)) {
    if (name !== "arguments" && !(name === "args" && text.startsWith("Validation failed: "))) wrong[name] = text;
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

/**
 * One argument.
 * @param {{ name: string, title?: string, schema: any, kind: "text" | "boolean" | "number" | "json", text: string, wrong: string, isChanged: boolean, onText: (text: string) => void, onLeaveOut: (() => void) | null }} props
 */
export function ArgumentField({ name, title, schema, kind, text, wrong, isChanged, onText, onLeaveOut }) {
  const id = `argument-${encodeURIComponent(name)}`;
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
