// A diff of any number of files, as one virtual list: only the rows on the screen have nodes.

import { html, useMemo, useState } from "../vendor.js";
import { byRisk, differingPart } from "./diff.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icons.js";
import { readable, visible, visibleLine } from "./text.js";
import { VirtualList } from "./virtual.js";

/** @typedef {import("./diff.js").DiffFile} DiffFile */
/** @typedef {import("./diff.js").DiffRow} DiffRow */
/** @typedef {{ kind: "file", file: DiffFile, index: number } | { kind: "row", row: DiffRow } | { kind: "conflict", file: DiffFile } | { kind: "end" }} Item */
/** @typedef {{ isChosen: (file: DiffFile) => boolean, onToggle: (file: DiffFile) => void }} Choice which files are ticked */

const ROW = 20;
const HEADER = 42;
const GAP = 14;
/** Characters of a line that are shown at once; the whole line is shown in a dialog. */
const LONGEST = 1_000;

const WORDS = { created: "New", removed: "Removed", modified: "Changed", moved: "Moved", note: "Note", conflict: "Conflict" };
const ICONS = { created: "plus", removed: "trash", modified: "edit", moved: "move", note: "alert", conflict: "alert" };

/**
 * @param {{ files: DiffFile[], label: string, fileHref?: (path: string) => string | null, choice?: Choice }} props `choice` has a box to tick at each file
 */
export function DiffView({ files, label, fileHref, choice }) {
  const [closed, setClosed] = useState(/** @type {Set<string>} */ (new Set()));
  const [line, setLine] = useState(/** @type {string | null} */ (null));
  const sorted = useMemo(() => byRisk(files), [files]);
  const items = useMemo(() => itemsOf(sorted, closed), [sorted, closed]);
  const longest = sorted.reduce((most, file) => Math.max(most, file.longest), 0);
  const toggle = (/** @type {DiffFile} */ file) => {
    const next = new Set(closed);
    if (!next.delete(nameOf(file))) next.add(nameOf(file));
    setClosed(next);
  };
  const height = (/** @type {number} */ i) => heightOf(/** @type {Item} */ (items[i]));
  const row = (/** @type {number} */ i) => {
    const item = /** @type {Item} */ (items[i]);
    if (item.kind === "file") return html`<${FileHeader} file=${item.file} isClosed=${closed.has(nameOf(item.file))} onToggle=${() => toggle(item.file)} href=${fileHref?.(item.file.to ?? item.file.from ?? "")} choice=${choice} />`;
    if (item.kind === "conflict") return html`<${Conflict} file=${item.file} isLeftOut=${choice?.isChosen(item.file) === false} />`;
    return item.kind === "end" ? null : html`<${Row} row=${item.row} onWhole=${setLine} />`;
  };
  return html`<div class="diff" role="region" aria-label=${label} tabindex="0">
    <div class="diff-width" style=${{ minWidth: `calc(${Math.min(longest, LONGEST) + 4}ch + 8.5rem)` }}>
      <${VirtualList} count=${items.length} height=${height} version=${items} row=${row} />
    </div>
    ${line !== null && html`<${Dialog} title="The whole line" wide onClose=${() => setLine(null)}><pre class="whole-line" tabindex="0">${visible(line)}</pre></${Dialog}>`}
  </div>`;
}

/** What a file is known by when the same diff is read again. @param {DiffFile} file */
const nameOf = (file) => `${file.kind} ${file.from} ${file.to} ${file.note}`;

/** @param {DiffFile[]} files @param {Set<string>} closed */
function itemsOf(files, closed) {
  /** @type {Item[]} */
  const items = [];
  files.forEach((file, index) => {
    items.push({ kind: "file", file, index });
    if (file.kind === "conflict") items.push({ kind: "conflict", file });
    if (!closed.has(nameOf(file))) for (const row of file.rows) items.push({ kind: "row", row });
    items.push({ kind: "end" });
  });
  return items;
}

/** @param {Item} item */
const heightOf = (item) => (item.kind === "file" ? HEADER : item.kind === "row" ? ROW : item.kind === "conflict" ? (innerWidth < 600 ? 64 : 46) : GAP);

/** @param {{ file: DiffFile, isClosed: boolean, onToggle: () => void, href?: string | null, choice?: Choice }} props */
function FileHeader({ file, isClosed, onToggle, href, choice }) {
  const hasRows = file.rows.length > 0;
  const isOpen = (hasRows && !isClosed) || file.kind === "conflict";
  const isLeftOut = choice !== undefined && !choice.isChosen(file);
  const path = visibleLine(file.to ?? file.from ?? file.note);
  return html`<div class="diff-file ${file.kind} ${isOpen ? "open" : ""} ${isLeftOut ? "left-out" : ""}"><div class="diff-file-inner">
    ${choice && html`<label class="tick"><input type="checkbox" aria-label=${path} checked=${!isLeftOut} onChange=${() => choice.onToggle(file)} /></label>`}
    ${(hasRows || !choice) && html`<button class="icon-button small" aria-expanded=${hasRows && !isClosed} aria-label=${`${isClosed ? "Show" : "Hide"} the changes of ${path}`} disabled=${!hasRows} onClick=${onToggle}>
      <${Icon} name=${isClosed || !hasRows ? "right" : "down"} /></button>`}
    <span class="change-mark ${file.kind}"><${Icon} name=${ICONS[file.kind]} /><span>${WORDS[file.kind]}</span></span>
    <span class="diff-path" title=${path}>${file.kind === "moved" && file.from !== file.to ? html`<s>${visibleLine(file.from ?? "")}</s> → ` : ""}${href ? html`<a href=${href}>${path}</a>` : path}</span>
    ${isLeftOut ? html`<span class="muted">left out</span>` : file.kind !== "note" && file.kind !== "conflict" && file.note && !hasRows && file.kind !== "moved" ? html`<span class="muted">${file.note}</span>` : ""}
    <span class="grow"></span><${Counts} added=${file.added} removed=${file.removed} />
  </div></div>`;
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

/** @param {{ row: DiffRow, onWhole: (line: string) => void }} props */
function Row({ row, onWhole }) {
  if (row.kind === "hunk") return html`<div class="diff-row hunk"><span class="no"></span><span class="no"></span><span class="sign"></span><span class="code">${row.text}</span></div>`;
  if (row.kind === "note") return html`<div class="diff-row note"><span class="no"></span><span class="no"></span><span class="sign"></span><span class="code">${row.text}</span></div>`;
  return html`<div class="diff-row ${row.kind}"><span class="no">${row.before || ""}</span><span class="no">${row.after || ""}</span><span class="sign">${SIGNS[row.kind]}</span><span class="code">${code(row)}</span>${
    row.text.length > LONGEST && html`<button class="link" onClick=${() => onWhole(row.text)}>… ${readable(row.text.length - LONGEST)} more characters</button>`}</div>`;
}

/** @param {DiffRow} row */
function code(row) {
  const text = row.text.length > LONGEST ? row.text.slice(0, LONGEST) : row.text;
  const part = row.pair ? differingPart(row.text, row.pair.text) : null;
  if (!part || part[0] >= text.length) return visible(text);
  return html`${visible(text.slice(0, part[0]))}<mark>${visible(text.slice(part[0], part[1]))}</mark>${visible(text.slice(part[1]))}`;
}
