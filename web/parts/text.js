// Texts of others: names, paths and contents can hold characters that change how the rest is shown. They are made visible.

/** Control characters, invisible ones, those that turn the direction of text around, and tags, which hide whole texts. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|\udb40[\udc00-\udfff]/g;
/** What an emoji can end with before the characters that join it with the next one. */
const EMOJI = /(\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)$/u;

/**
 * The text with what hides in it as `‹U+202E›`. The joiners within an emoji stay. A value that is not a text, though one
 * was expected, is shown as JSON.
 * @param {unknown} value
 */
export function visible(value) {
  const text = asText(value);
  return text.replace(HIDDEN, (character, /** @type {number} */ at) => {
    if ((character === "\u200d" || character === "\ufe0f") && EMOJI.test(text.slice(Math.max(0, at - 2), at))) return character;
    return byNumber(character);
  });
}

/** The same for what is one line, as a name or a path: a line break or a tab is shown by its number, too. @param {unknown} value */
export const visibleLine = (value) => visible(value).replace(/[\n\t]/g, byNumber);

/** @param {string} character */
const byNumber = (character) => `‹U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}›`;

/** A value as a text. A program that sends an object where a text belongs must not be able to run a method of it. @param {unknown} value */
export const asText = (value) => (typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value) ?? "");

/** What went wrong, in words; what is wrong with single fields says more than that some are. @param {unknown} problem */
export function messageOf(problem) {
  const fields = Object.entries(/** @type {any} */ (problem)?.fields ?? {});
  if (fields.length > 0) return visible(fields.map(([name, text]) => (name === "arguments" ? asText(text) : `${name}: ${asText(text)}`)).join("; "));
  return visible(/** @type {any} */ (problem)?.message ?? problem);
}

/** The part of a path after the last slash. @param {string} path */
export const baseName = (path) => path.slice(path.lastIndexOf("/") + 1) || "/";

/** The part of a path before the name, with the slash. @param {string} path */
export const folderOf = (path) => path.slice(0, path.lastIndexOf("/") + 1);

const numbers = new Intl.NumberFormat();

/** @param {number} number */
export const readable = (number) => numbers.format(number);

/**
 * `1 file`, `3 files`.
 * @param {number} number
 * @param {string} one
 * @param {string} [many]
 */
export const count = (number, one, many = `${one}s`) => `${readable(number)} ${number === 1 ? one : many}`;

/** @param {number} bytes */
export function sizeInWords(bytes) {
  if (bytes < 1024) return count(bytes, "byte");
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(bytes < 10_240 ? 1 : 0)} KiB`;
  if (bytes < 1024 ** 3) return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
  return `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
}
