// Reads unified diffs into rows. Lines of contents are counted by the hunk's header, so that a content that looks like
// a header is still shown as what it is.

/** @typedef {{ kind: "hunk" | "same" | "add" | "remove" | "note", before: number, after: number, text: string, pair?: DiffRow }} DiffRow */
/** @typedef {{ from: string | null, to: string | null, kind: "created" | "removed" | "modified" | "moved" | "note" | "conflict", note: string, rows: DiffRow[], added: number, removed: number, longest: number, id?: string, hash?: string, oldHash?: string, href?: string }} DiffFile `id` is the file's, and `hash` and `oldHash` are its content's after and before, where they are known; `href` leads to what is in conflict with it */

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/**
 * @param {string} text
 * @returns {DiffFile[]}
 */
export function parseDiff(text) {
  const lines = text.split("\n");
  if (lines[lines.length - 1] === "") lines.pop();
  /** @type {DiffFile[]} */
  const files = [];
  /** @type {DiffFile | null} */
  let file = null;
  let i = 0;
  while (i < lines.length) {
    const line = /** @type {string} */ (lines[i]);
    const next = lines[i + 1];
    if (line.startsWith("--- ") && next !== undefined && next.startsWith("+++ ")) {
      const [from, to] = [pathOf(line), pathOf(next)];
      file = { from, to, kind: from === null ? "created" : to === null ? "removed" : from === to ? "modified" : "moved", note: "", rows: [], added: 0, removed: 0, longest: 0 };
      files.push(file);
      i += 2;
      continue;
    }
    const hunk = HUNK.exec(line);
    if (hunk && file) {
      i = readHunk(lines, i, hunk, file);
      continue;
    }
    if (line.startsWith("\\ ")) files.push(noteFile(line.slice(2)));
    else if (line !== "" && !line.startsWith("diff --git")) files.push(noteFile(line));
    i += 1;
  }
  return files;
}

/** @param {string} line */
function pathOf(line) {
  if (line.slice(4) === "/dev/null") return null;
  return "/" + unquoted(line.slice(4)).replace(/^[ab]\//, "").replace(/^\//, "");
}

const ESCAPES = /** @type {Record<string, number>} */ ({ a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 });

/** A name of a diff, which is in quotes if it has quotes, backslashes or control characters. @param {string} name */
function unquoted(name) {
  if (!/^".*"$/.test(name)) return name;
  const bytes = [];
  for (const [piece] of name.slice(1, -1).matchAll(/\\[0-7]{3}|\\.|[^\\]+/gs)) {
    const escape = piece.startsWith("\\") ? piece.slice(1) : "";
    if (escape === "") bytes.push(...new TextEncoder().encode(piece));
    else bytes.push(escape.length === 3 ? parseInt(escape, 8) : ESCAPES[escape] ?? escape.charCodeAt(0));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

const NAME = String.raw`(\/.*?|"(?:[^"\\]|\\.)*")`;
const MOVED = new RegExp(`^moved ${NAME} to ${NAME}$`);
const REMOVED = new RegExp(`^removed ${NAME}( \\(\\d+ bytes\\))?$`);
const CREATED = new RegExp(`^new ${NAME}( \\(\\d+ bytes\\)| with mode \\d+)?$`);

/** A change without a text diff, as `moved /a to /b`. @param {string} words @returns {DiffFile} */
function noteFile(words) {
  const moved = MOVED.exec(words);
  const removed = REMOVED.exec(words);
  const created = CREATED.exec(words);
  const base = { note: words, rows: [], added: 0, removed: 0, longest: 0 };
  const name = (/** @type {string | undefined} */ text) => unquoted(text ?? "");
  if (moved) return { ...base, kind: "moved", from: name(moved[1]), to: name(moved[2]) };
  // A folder has no bytes.
  const detail = (/** @type {string | undefined} */ text) => (text === undefined || text === " (0 bytes)" ? "" : text.trim());
  if (removed) return { ...base, kind: "removed", from: name(removed[1]), to: null, note: detail(removed[2]) };
  if (created) return { ...base, kind: "created", from: null, to: name(created[1]), note: detail(created[2]) };
  return { ...base, kind: "note", from: null, to: null };
}

/**
 * Reads one hunk, and returns where the next line is.
 * @param {string[]} lines
 * @param {number} at
 * @param {RegExpExecArray} hunk
 * @param {DiffFile} file
 */
function readHunk(lines, at, hunk, file) {
  let before = Number(hunk[1]);
  let after = Number(hunk[3]);
  let removed = hunk[2] === undefined ? 1 : Number(hunk[2]);
  let added = hunk[4] === undefined ? 1 : Number(hunk[4]);
  file.rows.push({ kind: "hunk", before, after, text: /** @type {string} */ (lines[at]) });
  let i = at + 1;
  /** @type {DiffRow[]} */
  let removals = [];
  /** @type {DiffRow[]} */
  let additions = [];
  const pairUp = () => {
    // Lines that were replaced one by one are compared with each other.
    if (removals.length === additions.length) removals.forEach((row, n) => { row.pair = additions[n]; /** @type {DiffRow} */ (additions[n]).pair = row; });
    removals = [];
    additions = [];
  };
  for (; i < lines.length; i++) {
    const line = /** @type {string} */ (lines[i]);
    const sign = line[0];
    if (sign === "\\") {
      // After the last line of a hunk, anything else is a change without a text diff.
      if (removed <= 0 && added <= 0 && !line.startsWith("\\ No newline")) break;
      file.rows.push({ kind: "note", before: 0, after: 0, text: line.slice(2) });
      continue;
    }
    if (removed <= 0 && added <= 0) break;
    const text = line.slice(1);
    if (text.length > file.longest) file.longest = text.length;
    if (sign === "-") {
      if (additions.length > 0) pairUp();
      const row = { kind: /** @type {const} */ ("remove"), before: before++, after: 0, text };
      removed--;
      file.removed++;
      removals.push(row);
      file.rows.push(row);
    } else if (sign === "+") {
      const row = { kind: /** @type {const} */ ("add"), before: 0, after: after++, text };
      added--;
      file.added++;
      additions.push(row);
      file.rows.push(row);
    } else {
      pairUp();
      file.rows.push({ kind: "same", before: before++, after: after++, text });
      removed--;
      added--;
    }
  }
  pairUp();
  return i;
}

/** What is at risk comes first. @type {Record<DiffFile["kind"], number>} */
const RISK = { conflict: 0, removed: 1, moved: 2, note: 3, modified: 4, created: 5 };

/** @param {DiffFile[]} files */
export const byRisk = (files) => files.map((file, i) => ({ file, i })).sort((a, b) => RISK[a.file.kind] - RISK[b.file.kind] || a.i - b.i).map(({ file }) => file);

/**
 * Where two lines differ: the middle between what they begin and end with alike, at the borders of words.
 * @param {string} mine
 * @param {string} other
 * @returns {[number, number] | null}
 */
export function differingPart(mine, other) {
  const most = Math.min(mine.length, other.length);
  if (most > 4_000) return null;
  let start = 0;
  while (start < most && mine[start] === other[start]) start++;
  let end = 0;
  while (end < most - start && mine[mine.length - 1 - end] === other[other.length - 1 - end]) end++;
  const isWord = (/** @type {string | undefined} */ character) => character !== undefined && /[\p{L}\p{N}_]/u.test(character);
  while (start > 0 && isWord(mine[start - 1]) && (isWord(mine[start]) || isWord(other[start]))) start--;
  while (end > 0 && isWord(mine[mine.length - end]) && (isWord(mine[mine.length - end - 1]) || isWord(other[other.length - end - 1]))) end--;
  const until = mine.length - end;
  // Lines with little in common are not compared.
  if (start + end < Math.min(mine.trim().length, other.trim().length) * 0.25) return null;
  return until > start ? [start, until] : null;
}

/** @param {DiffFile[]} files */
export const totals = (files) => files.reduce((sum, file) => ({ added: sum.added + file.added, removed: sum.removed + file.removed }), { added: 0, removed: 0 });

/** The changes of a step as files of a diff. @param {any[]} changes @returns {DiffFile[]} */
export function filesOf(changes) {
  return joined(changes).map((change) => {
    const parsed = change.diff ? parseDiff(change.diff)[0] : undefined;
    const mode = change.mode_before && change.mode_after && change.mode_before !== change.mode_after ? `mode ${change.mode_before} → ${change.mode_after}` : "";
    const kind = /** @type {DiffFile["kind"]} */ ({ created: "created", removed: "removed", moved: "moved" }[/** @type {"created"} */ (change.summary)] ?? "modified");
    const note = mode || (change.diff ? "" : change.summary === "touched" ? "its time was set" : change.summary === "modified" ? "not text" : "");
    const id = change.file_id;
    const hash = change.hash_after ?? change.hash_before ?? undefined;
    const oldHash = change.hash_before ?? undefined;
    if (parsed) return { ...parsed, id, hash, oldHash, kind, from: change.from ?? null, to: change.to ?? null, note };
    return { id, hash, kind, from: change.from ?? null, to: change.to ?? null, note, rows: [], added: 0, removed: 0, longest: 0 };
  });
}

/** A file that was moved and changed has two changes, which are shown as one. @param {any[]} changes */
function joined(changes) {
  /** @type {any[]} */
  const found = [];
  for (const change of changes) {
    const last = found.at(-1);
    if (last && last.file_id === change.file_id && last.summary === "moved" && !last.diff && change.summary === "modified") found[found.length - 1] = { ...change, summary: "moved", from: last.from };
    else found.push(change);
  }
  return found;
}
