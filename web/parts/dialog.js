// A dialog, as the browser has it: it holds the focus, and Escape closes it.

import { html, useEffect, useRef } from "../vendor.js";
import { Icon } from "./icons.js";

/**
 * @param {{ title: string, onClose: () => void, children?: any, wide?: boolean, footer?: any, hasFocus?: boolean, onKeyDown?: (event: KeyboardEvent) => void }} props `wide` fills the screen of a phone; `footer` stays while the rest scrolls; `hasFocus` where nothing in it is to have the focus at first
 */
export function Dialog({ title, onClose, children, wide, footer, hasFocus, onKeyDown }) {
  const reference = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    reference.current?.showModal();
    if (hasFocus) reference.current?.focus();
    return () => before?.focus?.();
  }, []);
  const clickOutside = (/** @type {MouseEvent} */ event) => event.target === reference.current && onClose();
  return html`<dialog ref=${reference} class=${wide ? "wide" : ""} aria-label=${title} tabindex=${hasFocus ? -1 : undefined} onKeyDown=${onKeyDown} onClick=${clickOutside}
      onCancel=${(/** @type {Event} */ event) => { event.preventDefault(); onClose(); }}>
    <div class="dialog-body">
      <header><h2>${title}</h2><button class="icon-button" aria-label="Close" onClick=${onClose}><${Icon} name="x" /></button></header>
      <div class="dialog-scroll">${children}</div>
      ${footer && html`<div class="actions">${footer}</div>`}
    </div>
  </dialog>`;
}
