// Keyboard shortcuts: single keys, which do nothing while somebody types or a dialog is open. A key that is held down
// moves through a list, and does everything else once: what it would decide next has not been seen.

import { useLayoutEffect, useRef, signal } from "../vendor.js";

/** @typedef {{ [key: string]: () => void }} Shortcuts */

/** @type {{ current: Shortcuts }[]} */
const stack = [];

/** The keys that go on while they are held down. */
const REPEATING = new Set(["j", "k", "ArrowDown", "ArrowUp", "[", "]"]);

/** Whether the overlay with all shortcuts is shown. */
export const isHelpShown = signal(false);

/** Whether the key belongs to a field; a box that is ticked takes the space bar only. @param {KeyboardEvent} event */
function isTyping(event) {
  const target = /** @type {HTMLElement | null} */ (event.target);
  if (target instanceof HTMLInputElement && target.type === "checkbox") return event.key === " ";
  return target !== null && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event)) return;
  if (document.querySelector("dialog[open]")) return;
  if (event.repeat && !REPEATING.has(event.key)) return;
  // On a link or a button, Enter is theirs.
  if (event.key === "Enter" && event.target !== document.body && /** @type {HTMLElement} */ (event.target).id !== "content") return;
  for (let i = stack.length - 1; i >= 0; i--) {
    const action = stack[i]?.current[event.key];
    if (action) {
      event.preventDefault();
      action();
      return;
    }
  }
});

/**
 * Has keys do something while the component is shown.
 * @param {Shortcuts} shortcuts
 */
export function useKeys(shortcuts) {
  const entry = useRefOf(shortcuts);
  // As soon as it is on the screen, and not a moment later.
  useLayoutEffect(() => {
    stack.push(entry);
    return () => void stack.splice(stack.indexOf(entry), 1);
  }, []);
}

/**
 * The arrow keys in a tree: up and down go from row to row, right opens a folder and left closes it.
 * @param {KeyboardEvent} event at an element whose rows have the class `tree-row`
 */
export function treeKeys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const rows = /** @type {HTMLElement[]} */ ([.../** @type {HTMLElement} */ (event.currentTarget).querySelectorAll(".tree-row")])
    .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top);
  const at = rows.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  const row = rows[at];
  if (!row) return;
  const isOpen = row.getAttribute("aria-expanded");
  if (event.key === "ArrowDown") rows[at + 1]?.focus();
  else if (event.key === "ArrowUp") rows[at - 1]?.focus();
  else if (event.key === "ArrowRight" && isOpen === "false") row.click();
  else if (event.key === "ArrowLeft" && isOpen === "true") row.click();
  else return;
  event.preventDefault();
}

/**
 * A reference that always has the newest value.
 * @template T
 * @param {T} value
 * @returns {{ current: T }}
 */
export function useRefOf(value) {
  const reference = useRef(value);
  reference.current = value;
  return reference;
}
