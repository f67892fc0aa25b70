// A button with a menu of choices: arrows move in it, Enter chooses, Escape closes it.

import { html, useEffect, useLayoutEffect, useRef } from "../vendor.js";
import { Icon } from "./icons.js";

/** @typedef {{ label: string, hint?: string, icon?: string, run: () => void, isDisabled?: boolean }} Choice */

/**
 * @param {{ label: string, icon?: string, shortcut?: string, choices: Choice[], isOpen: boolean, onOpen: (isOpen: boolean) => void, isDisabled?: boolean, class?: string, isSmall?: boolean }} props `isSmall` shows the label to screen readers only
 */
export function Menu({ label, icon, shortcut, choices, isOpen, onOpen, isDisabled, class: name = "", isSmall }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const items = () => [...(box.current?.querySelectorAll(/** @type {any} */ ("[role=menuitem]:enabled")) ?? [])];
  useLayoutEffect(() => {
    if (isOpen) items()[0]?.focus();
  }, [isOpen]);
  useEffect(() => {
    if (!isOpen) return;
    const outside = (/** @type {Event} */ event) => !box.current?.contains(/** @type {Node} */ (event.target)) && onOpen(false);
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [isOpen]);
  const close = () => {
    onOpen(false);
    button.current?.focus();
  };
  /** @param {KeyboardEvent} event */
  const keyDown = (event) => {
    if (!isOpen) return;
    // The shortcuts of the screen wait until the menu is closed.
    event.stopPropagation();
    const all = items();
    const at = all.indexOf(document.activeElement);
    if (event.key === "Escape") close();
    else if (event.key === "Tab") onOpen(false);
    else if (event.key === "ArrowDown") all[(at + 1) % all.length]?.focus();
    else if (event.key === "ArrowUp") all[(at - 1 + all.length) % all.length]?.focus();
    else if (event.key === "Home") all[0]?.focus();
    else if (event.key === "End") all.at(-1)?.focus();
    else return;
    if (event.key !== "Tab") event.preventDefault();
  };
  return html`<div class="menu-box ${name}" ref=${box} onKeyDown=${keyDown}>
    <button ref=${button} type="button" class="button" aria-haspopup="menu" aria-expanded=${isOpen} aria-label=${isSmall ? label : undefined} disabled=${isDisabled} onClick=${() => onOpen(!isOpen)}>${isSmall ? html`<${Icon} name="more" />` : html`${icon && html`<${Icon} name=${icon} />`}${label}${shortcut ? html`<kbd>${shortcut}</kbd>` : html`<${Icon} name="down" class="tiny" />`}`}</button>
    ${isOpen && html`<div class="menu" role="menu" aria-label=${label}>${choices.map((choice) => html`<button key=${choice.label} type="button" role="menuitem" disabled=${choice.isDisabled} onClick=${() => { close(); choice.run(); }}>${choice.icon && html`<${Icon} name=${choice.icon} />`}<span class="grow">${choice.label}</span>${choice.hint && html`<span class="muted small">${choice.hint}</span>`}</button>`)}</div>`}
  </div>`;
}
