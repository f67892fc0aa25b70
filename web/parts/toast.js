// Short messages at the edge of the page, which go away by themselves.

import { html, signal, useLayoutEffect, useRef } from "../vendor.js";
import { Icon } from "./icons.js";
import { messageOf } from "./text.js";

/** @typedef {{ id: number, text: string, kind: "good" | "bad", action?: { label: string, run: () => void } }} Toast */

const toasts = signal(/** @type {Toast[]} */ ([]));
let nextId = 1;

/**
 * Says something.
 * @param {string} text
 * @param {{ kind?: "good" | "bad", action?: { label: string, run: () => void } }} [options]
 */
export function toast(text, options = {}) {
  const made = { id: nextId++, text, kind: options.kind ?? "good", action: options.action };
  // What could be undone before may not be what is meant any more.
  const others = toasts.value.filter((other) => !other.action || other.action.label !== made.action?.label);
  toasts.value = [...others.slice(-2), made];
  setTimeout(() => dismiss(made.id), made.kind === "bad" || made.action ? 9_000 : 4_500);
}

/** Says what went wrong. @param {unknown} problem */
export const toastProblem = (problem) => toast(messageOf(problem), { kind: "bad" });

/** @param {number} id */
const dismiss = (id) => (toasts.value = toasts.value.filter((toast) => toast.id !== id));

export function Toasts() {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  // Shown anew, it is before a dialog that was opened meanwhile.
  useLayoutEffect(() => {
    box.current?.hidePopover?.();
    box.current?.showPopover?.();
  }, [toasts.value]);
  return html`<div ref=${box} class="toasts" popover="manual" role="status" aria-live="polite">
    ${toasts.value.map((toast) => html`<div key=${toast.id} class="toast ${toast.kind}">
      <${Icon} name=${toast.kind === "good" ? "check" : "alert"} />
      <span class="grow">${toast.text}</span>
      ${toast.action && html`<button class="link" onClick=${() => { dismiss(toast.id); toast.action?.run(); }}>${toast.action.label}</button>`}
      <button class="icon-button small" aria-label="Dismiss" onClick=${() => dismiss(toast.id)}><${Icon} name="x" /></button>
    </div>`)}
  </div>`;
}
