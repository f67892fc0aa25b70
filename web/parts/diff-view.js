// A diff of any number of files, as one virtual list: only the rows on the screen have nodes. One row is the current one:
// arrows move it while the diff has the focus, and keys tick, comment and mark what it is on.

import { html, useMemo, useRef, useState } from "../vendor.js";
import { byRisk, differingPart } from "./diff.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icons.js";
import { useKeys } from "./keys.js";
import { readable, visible, visibleLine } from "./text.js";
import { VirtualList } from "./virtual.js";

/** @typedef {import("./diff.js").DiffFile} DiffFile */
/** @typedef {import("./diff.js").DiffRow} DiffRow */
/** @typedef {import("./review.js").Review} Review */
/** @typedef {{ kind: "file", file: DiffFile } | { kind: "row", file: DiffFile, row: DiffRow, hunk: number } | { kind: "comment", file: DiffFile, comment: any } | { kind: "conflict", file: DiffFile } | { kind: "end" }} Item `hunk` counts the hunks of a file from 0 */
/**
 * Which files are ticked, and which hunks of those that can be split.
 * @typedef {{ isChosen: (file: DiffFile) => boolean, onToggle: (file: DiffFile) => void, canToggle?: (file: DiffFile) => boolean, isPartly?: (file: DiffFile) => boolean,
 *   canSplit?: (file: DiffFile) => boolean, isHunkChosen?: (file: DiffFile, hunk: number) => boolean, onToggleHunk?: (file: DiffFile, hunk: number) => void }} Choice
 */

const ROW = 20;
/** The header of a hunk that can be ticked: large enough for a finger. */
const HUNK = 30;
const HEADER = 42;
const COMMENT = 56;
const GAP = 14;
/** Characters of a line that are shown at once; the whole line is shown in a dialog. */
const LONGEST = 1_000;

const WORDS = { created: "New", removed: "Removed", modified: "Changed", moved: "Moved", note: "Note", conflict: "Conflict" };
const ICONS = { created: "plus", removed: "trash", modified: "edit", moved: "move", note: "alert", conflict: "alert" };

/**
 * @param {{ files: DiffFile[], label: string, fileHref?: (path: string) => string | null, choice?: Choice, review?: Review, isMain?: boolean }} props
 *   `choice` has a box to tick at each file, `review` comments on lines and marks of what was viewed; the diff that is `isMain` has the keys of the screen
 */
export function DiffView({ files, label, fileHref, choice, review, isMain }) {
  const [toggled, setToggled] = useState(/** @type {Set<string>} */ (new Set()));
  const [line, setLine] = useState(/** @type {string | null} */ (null));
  /** The current row, which stays the same when comments come in before it. */
  const [at, setAt] = useState(/** @type {Item | null} */ (null));
  const [hovered, setHovered] = useState(-1);
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const sorted = useMemo(() => byRisk(files), [files]);
  // What was viewed is closed, until it is opened by hand.
  const isClosed = (/** @type {DiffFile} */ file) => toggled.has(nameOf(file)) !== (review?.isSeen(file) ?? false);
  const closed = sorted.map((file) => (isClosed(file) ? "1" : "0")).join("");
  const items = useMemo(() => itemsOf(sorted, isClosed, review), [sorted, closed, review?.comments, choice === undefined]);
  const current = useMemo(() => (at ? items.findIndex((one) => isSame(one, at)) : -1), [items, at]);
  const setCurrent = (/** @type {number} */ i) => setAt(items[i] ?? null);
  const longest = sorted.reduce((most, file) => Math.max(most, file.longest), 0);
  const toggle = (/** @type {DiffFile} */ file) => {
    const next = new Set(toggled);
    if (!next.delete(nameOf(file))) next.add(nameOf(file));
    setToggled(next);
  };
  const see = (/** @type {DiffFile} */ file) => {
    const next = new Set(toggled);
    if (next.delete(nameOf(file))) setToggled(next);
    review?.onSeen(file, !review.isSeen(file));
  };
  const item = items[current];
  const splits = (/** @type {DiffFile} */ file) => choice?.canSplit?.(file) === true;

  const isStop = (/** @type {Item | undefined} */ one) => one?.kind === "file" || (one?.kind === "row" && one.row.kind === "hunk");
  /** @param {number} by @param {(one: Item | undefined) => boolean} [stops] */
  const move = (by, stops = (one) => one?.kind !== "end") => {
    for (let i = current + by; i >= 0 && i < items.length; i += by) if (stops(items[i])) return setCurrent(i);
  };
  const enter = () => {
    box.current?.focus();
    if (current < 0) setCurrent(0);
  };
  const tick = () => {
    // The box that has the focus, or the row that is the current one.
    const focused = document.activeElement;
    if (focused instanceof HTMLInputElement && focused.type === "checkbox" && box.current?.contains(focused)) return focused.click();
    const on = item ?? items[0];
    if (!choice || !on || on.kind === "end") return;
    if (current < 0) setCurrent(0);
    if (on.kind === "row" && splits(on.file)) choice.onToggleHunk?.(on.file, on.hunk);
    else choice.onToggle(on.file);
  };
  const comment = () => {
    if (review && item?.kind === "row" && isLine(item.row)) review.onComment(item.file, item.row);
    else if (review && item?.kind === "comment") review.onEdit(item.comment);
  };
  const mark = () => {
    const on = item ?? items[0];
    if (review?.canSee && on && on.kind !== "end") see(on.file);
  };
  const keys = { "]": () => move(1, isStop), "[": () => move(-1, isStop), x: tick, c: comment, v: mark };
  useKeys(isMain ? { ...keys, d: enter } : {});
  /** @param {KeyboardEvent} event */
  const keyDown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = /** @type {HTMLElement} */ (event.target);
    const isBox = target === event.currentTarget || (target instanceof HTMLInputElement && event.key.startsWith("Arrow"));
    const action = /** @type {Record<string, () => void>} */ ({ ...keys, ...(isBox ? { ArrowDown: () => move(1), ArrowUp: () => move(-1), Enter: () => item?.kind === "file" ? toggle(item.file) : comment() } : {}) })[event.key];
    if (!action || /^(TEXTAREA|SELECT)$/.test(target.tagName)) return;
    event.preventDefault();
    if (event.key.startsWith("Arrow")) box.current?.focus();
    action();
  };
  // What is said to screen readers as the current row moves.
  const said = item ? wordsOf(item) : "";

  const height = (/** @type {number} */ i) => heightOf(/** @type {Item} */ (items[i]), splits);
  const row = (/** @type {number} */ i) => {
    const one = /** @type {Item} */ (items[i]);
    if (one.kind === "file") return html`<${FileHeader} file=${one.file} isCurrent=${i === current} isClosed=${isClosed(one.file)} onToggle=${() => toggle(one.file)} href=${fileHref?.(one.file.to ?? one.file.from ?? "")} choice=${choice} review=${review} onSee=${() => see(one.file)} />`;
    if (one.kind === "conflict") return html`<${Conflict} file=${one.file} isLeftOut=${choice?.isChosen(one.file) === false} />`;
    if (one.kind === "comment") return html`<${Comment} comment=${one.comment} isCurrent=${i === current} onEdit=${() => review?.onEdit(one.comment)} />`;
    if (one.kind === "end") return null;
    const isLeftOut = choice !== undefined && (splits(one.file) ? choice.isHunkChosen?.(one.file, one.hunk) === false : !choice.isChosen(one.file));
    if (one.row.kind === "hunk" && choice && splits(one.file)) return html`<${HunkHeader} file=${one.file} hunk=${one.hunk} text=${one.row.text} isCurrent=${i === current} isLeftOut=${isLeftOut} onToggle=${() => choice.onToggleHunk?.(one.file, one.hunk)} />`;
    return html`<${Row} row=${one.row} isCurrent=${i === current} isLeftOut=${isLeftOut} onWhole=${setLine} onHover=${review?.canComment ? () => setHovered(i) : undefined}
      onComment=${review?.canComment && (i === current || i === hovered) && isLine(one.row) ? () => review.onComment(one.file, one.row) : null} />`;
  };
  return html`<div class="diff" ref=${box} role="region" aria-label=${label} tabindex="0" onKeyDown=${keyDown} onBlur=${(/** @type {FocusEvent} */ event) => { if (!isMain && !box.current?.contains(/** @type {Node | null} */ (event.relatedTarget))) setCurrent(-1); }}>
    <div class="diff-width" style=${{ minWidth: `calc(${Math.min(longest, LONGEST) + 4}ch + 8.5rem)` }}>
      <${VirtualList} count=${items.length} height=${height} version=${items} row=${row} scrollTo=${current} />
    </div>
    <span class="sr-only" role="status">${said}</span>
    ${line !== null && html`<${Dialog} title="The whole line" wide onClose=${() => setLine(null)}><pre class="whole-line" tabindex="0">${visible(line)}</pre></${Dialog}>`}
  </div>`;
}

/** What a file is known by when the same diff is read again. @param {DiffFile} file */
const nameOf = (file) => `${file.kind} ${file.from} ${file.to} ${file.note}`;

/** Whether two items are of the same row. @param {any} one @param {any} other */
const isSame = (one, other) => one.kind === other.kind && one.file === other.file && one.row === other.row && one.comment?.id === other.comment?.id;

/** @param {DiffRow} row */
const isLine = (row) => row.kind === "add" || row.kind === "remove" || row.kind === "same";

/** @param {Item} item */
function wordsOf(item) {
  if (item.kind === "file") return `${WORDS[item.file.kind]}: ${visibleLine(item.file.to ?? item.file.from ?? item.file.note)}`;
  if (item.kind === "comment") return `Your comment: ${visible(item.comment.text)}`;
  if (item.kind === "row" && isLine(item.row)) return `${{ add: "Added", remove: "Removed", same: "Line" }[/** @type {"add"} */ (item.row.kind)]} ${item.row.after || item.row.before}: ${visible(item.row.text.slice(0, 200))}`;
  return item.kind === "row" ? item.row.text : "";
}

/**
 * @param {DiffFile[]} files
 * @param {(file: DiffFile) => boolean} isClosed
 * @param {Review | undefined} review
 */
function itemsOf(files, isClosed, review) {
  /** @type {Item[]} */
  const items = [];
  for (const file of files) {
    items.push({ kind: "file", file });
    if (file.kind === "conflict") items.push({ kind: "conflict", file });
    if (!isClosed(file)) {
      const comments = review?.commentsOf(file) ?? null;
      let hunk = -1;
      for (const row of file.rows) {
        if (row.kind === "hunk") hunk++;
        items.push({ kind: "row", file, row, hunk });
        if (comments && isLine(row)) for (const comment of comments.get(row.kind === "remove" ? `old ${row.before}` : `new ${row.after}`) ?? []) items.push({ kind: "comment", file, comment });
      }
    }
    items.push({ kind: "end" });
  }
  return items;
}

/** @param {Item} item @param {(file: DiffFile) => boolean} splits */
function heightOf(item, splits) {
  if (item.kind === "row") return item.row.kind === "hunk" && splits(item.file) ? HUNK : ROW;
  return { file: HEADER, comment: COMMENT, conflict: innerWidth < 600 ? 64 : 46, end: GAP }[item.kind];
}

/** @param {{ file: DiffFile, isCurrent: boolean, isClosed: boolean, onToggle: () => void, href?: string | null, choice?: Choice, review?: Review, onSee: () => void }} props */
function FileHeader({ file, isCurrent, isClosed, onToggle, href, choice, review, onSee }) {
  const hasRows = file.rows.length > 0;
  const isOpen = (hasRows && !isClosed) || file.kind === "conflict";
  const isLeftOut = choice !== undefined && !choice.isChosen(file);
  const path = visibleLine(file.to ?? file.from ?? file.note);
  const canSee = review?.canSee && (hasRows || Boolean(file.hash)) && file.kind !== "conflict" && file.kind !== "note";
  return html`<div class="diff-file ${file.kind} ${isOpen ? "open" : ""} ${isLeftOut ? "left-out" : ""} ${isCurrent ? "current" : ""}"><div class="diff-file-inner">
    ${choice && (choice.canToggle?.(file) === false ? html`<span class="tick none"></span>` : html`<label class="tick"><input type="checkbox" aria-label=${path} checked=${!isLeftOut} indeterminate=${choice.isPartly?.(file) === true} onChange=${() => choice.onToggle(file)} /></label>`)}
    ${(hasRows || !choice) && html`<button class="icon-button small" aria-expanded=${hasRows && !isClosed} aria-label=${`${isClosed ? "Show" : "Hide"} the changes of ${path}`} disabled=${!hasRows} onClick=${onToggle}>
      <${Icon} name=${isClosed || !hasRows ? "right" : "down"} /></button>`}
    <span class="change-mark ${file.kind}"><${Icon} name=${ICONS[file.kind]} /><span>${WORDS[file.kind]}</span></span>
    <span class="diff-path" title=${path}>${file.kind === "moved" && file.from !== file.to ? html`<s>${visibleLine(file.from ?? "")}</s> → ` : ""}${href ? html`<a href=${href}>${path}</a>` : path}</span>
    ${isLeftOut ? html`<span class="muted">left out</span>` : file.kind !== "note" && file.kind !== "conflict" && file.note && !hasRows && file.kind !== "moved" ? html`<span class="muted">${file.note}</span>` : ""}
    <span class="grow"></span><${Counts} added=${file.added} removed=${file.removed} />
    ${canSee && html`<label class="seen-box" title="Closes the file, until it changes"><input type="checkbox" aria-label=${`Viewed: ${path}`} checked=${review.isSeen(file)} onChange=${onSee} /><${Icon} name="eye" /><span>Viewed</span></label>`}
  </div></div>`;
}

/** The header of a hunk that can be ticked. @param {{ file: DiffFile, hunk: number, text: string, isCurrent: boolean, isLeftOut: boolean, onToggle: () => void }} props */
function HunkHeader({ file, hunk, text, isCurrent, isLeftOut, onToggle }) {
  return html`<div class="diff-row hunk splits ${isCurrent ? "current" : ""}"><label class="hunk-tick"><input type="checkbox" checked=${!isLeftOut} aria-label=${`Change ${hunk + 1} of ${visibleLine(file.to ?? file.from ?? "")}`} onChange=${onToggle} /><span class="code">${text}</span>${isLeftOut && html`<span class="left-word">left out</span>`}</label></div>`;
}

/** A comment that is not sent yet. @param {{ comment: any, isCurrent: boolean, onEdit: () => void }} props */
function Comment({ comment, isCurrent, onEdit }) {
  return html`<div class="diff-comment ${isCurrent ? "current" : ""}"><div class="diff-comment-inner"><${Icon} name="chats" /><span class="diff-comment-text grow">${visible(comment.text)}</span><button class="button small" aria-label=${`Edit the comment on line ${comment.line}`} onClick=${onEdit}>Edit</button></div></div>`;
}

/** Why a file is in conflict. @param {{ file: DiffFile, isLeftOut: boolean }} props */
function Conflict({ file, isLeftOut }) {
  const why = visible(file.note.charAt(0).toUpperCase() + file.note.slice(1));
  return html`<p class="diff-conflict ${isLeftOut ? "left-out" : ""}" title=${why}><span>${why}.${file.href && html` <a href=${file.href}>See that step</a>`}</span></p>`;
}

/** Lines added and removed. @param {{ added: number, removed: number }} props */
export function Counts({ added, removed }) {
  if (added === 0 && removed === 0) return null;
  return html`<span class="counts">${added > 0 && html`<span class="plus" title="Lines added">+${readable(added)}</span>`}${added > 0 && removed > 0 && " "}${removed > 0 && html`<span class="minus" title="Lines removed">−${readable(removed)}</span>`}</span>`;
}

const SIGNS = { add: "+", remove: "−", same: "", hunk: "", note: "" };

/** @param {{ row: DiffRow, isCurrent: boolean, isLeftOut: boolean, onWhole: (line: string) => void, onHover?: () => void, onComment: (() => void) | null }} props */
function Row({ row, isCurrent, isLeftOut, onWhole, onHover, onComment }) {
  const name = `diff-row ${row.kind} ${isCurrent ? "current" : ""} ${isLeftOut ? "left-out" : ""}`;
  if (row.kind === "hunk" || row.kind === "note") return html`<div class=${name}><span class="no"></span><span class="no"></span><span class="sign"></span><span class="code">${row.text}</span></div>`;
  return html`<div class=${name} onPointerEnter=${onHover}><span class="no">${row.before || ""}</span><span class="no">${row.after || ""}</span><span class="sign">${onComment
    ? html`<button class="add-comment" tabindex="-1" aria-label=${`Comment on line ${row.after || row.before}`} title="Comment on this line" onClick=${onComment}>+</button>` : SIGNS[row.kind]}</span><span class="code">${code(row)}</span>${
    row.text.length > LONGEST && html`<button class="link" onClick=${() => onWhole(row.text)}>… ${readable(row.text.length - LONGEST)} more characters</button>`}</div>`;
}

/** @param {DiffRow} row */
function code(row) {
  const text = row.text.length > LONGEST ? row.text.slice(0, LONGEST) : row.text;
  const part = row.pair ? differingPart(row.text, row.pair.text) : null;
  if (!part || part[0] >= text.length) return visible(text);
  return html`${visible(text.slice(0, part[0]))}<mark>${visible(text.slice(part[0], part[1]))}</mark>${visible(text.slice(part[1]))}`;
}
