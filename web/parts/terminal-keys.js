// What the keys of a keyboard are for a program in a terminal.

/** Keys that are sequences of their own, before a modifier is counted in. @type {Record<string, string>} */
const CURSOR = { ArrowUp: "A", ArrowDown: "B", ArrowRight: "C", ArrowLeft: "D", End: "F", Home: "H" };
/** @type {Record<string, number>} */
const NUMBERED = { Insert: 2, Delete: 3, PageUp: 5, PageDown: 6, F5: 15, F6: 17, F7: 18, F8: 19, F9: 20, F10: 21, F11: 23, F12: 24 };
/** @type {Record<string, string>} */
const FUNCTION = { F1: "P", F2: "Q", F3: "R", F4: "S" };
const ESCAPE = "\u001b";

/**
 * The characters that a key sends, or null where it sends none, or the text that it writes.
 * @param {KeyboardEvent} event
 * @returns {string | null}
 */
export function sequenceOf(event) {
  const { key } = event;
  const modifiers = 1 + (event.shiftKey ? 1 : 0) + (event.altKey ? 2 : 0) + (event.ctrlKey ? 4 : 0);
  const own = CURSOR[key] ?? FUNCTION[key];
  if (own) return modifiers > 1 ? `${ESCAPE}[1;${modifiers}${own}` : key in FUNCTION ? `${ESCAPE}O${own}` : `${ESCAPE}[${own}`;
  if (NUMBERED[key]) return `${ESCAPE}[${NUMBERED[key]}${modifiers > 1 ? `;${modifiers}` : ""}~`;
  if (key === "Enter") return event.altKey ? `${ESCAPE}\r` : "\r";
  if (key === "Tab") return event.shiftKey ? `${ESCAPE}[Z` : "\t";
  if (key === "Backspace") return event.altKey ? `${ESCAPE}\u007f` : "\u007f";
  if (key === "Escape") return ESCAPE;
  if (event.ctrlKey && !event.altKey && !event.metaKey) return control(key);
  if (event.altKey && !event.ctrlKey && key.length === 1 && key.charCodeAt(0) < 128) return ESCAPE + key;
  return null;
}

/** The control character of a key: Ctrl-C is 3. @param {string} key */
function control(key) {
  if (key === " " || key === "2") return "\u0000";
  const code = key.length === 1 ? key.toUpperCase().charCodeAt(0) : 0;
  return code >= 64 && code < 96 ? String.fromCharCode(code - 64) : null;
}

/**
 * The beginning of a text that is sent in one call. A character of two UTF-16 units is never cut in half: the server refuses
 * half of one.
 * @param {string} text
 * @param {number} most UTF-16 units
 */
export function beginningOf(text, most) {
  const isCut = text.length > most && /[\ud800-\udbff]/.test(text.charAt(most - 1));
  return text.slice(0, isCut ? most - 1 : most);
}

/** A pasted text as a terminal gets it: each line ends as with the Enter key. @param {string} text */
export const pasted = (text) => text.replace(/\r\n|\n/g, "\r");
