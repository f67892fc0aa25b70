// Which files of a request, and which hunks of a file, are to be approved. The rest is refused.

import { useEffect, useMemo, useState } from "../vendor.js";
import { count, readable } from "./text.js";

/** @typedef {import("./diff.js").DiffFile} DiffFile */

/** The path that a decision names a file by. @param {DiffFile} file */
const pathOf = (file) => file.to ?? file.from ?? "";

/** @param {DiffFile} file */
const hunksOf = (file) => file.rows.reduce((sum, row) => sum + (row.kind === "hunk" ? 1 : 0), 0);

/**
 * @param {DiffFile[]} files
 * @param {string | null} version what is chosen holds for this state of the request only
 */
export function usePartChoice(files, version) {
  /** What is left out: `path`, or `path`, a line break and the number of a hunk. */
  const [left, setLeft] = useState(/** @type {Set<string>} */ (new Set()));
  useEffect(() => setLeft(new Set()), [version]);
  /** New folders for other new files: they come with what is in them. */
  const folders = useMemo(() => new Set(files.filter((file) => file.kind === "created" && file.rows.length === 0 && files.some((other) => pathOf(other).startsWith(`${pathOf(file)}/`))).map(pathOf)), [files]);
  /** The pieces of each path that can be chosen by themselves. */
  const pieces = useMemo(() => {
    /** @type {Map<string, string[]>} */
    const found = new Map();
    for (const file of files) {
      const path = pathOf(file);
      if (path === "" || file.kind === "note" || folders.has(path)) continue;
      const hunks = file.kind === "modified" && !found.has(path) ? hunksOf(file) : 0;
      // A file that is moved or has no text diff is one piece; so is a path with several changes.
      found.set(path, hunks > 1 ? Array.from({ length: hunks }, (_, i) => `${path}\n${i}`) : [path]);
    }
    return found;
  }, [files, folders]);
  const of = (/** @type {DiffFile} */ file) => pieces.get(pathOf(file)) ?? [];
  const total = [...pieces.values()].reduce((sum, list) => sum + list.length, 0);
  const chosen = [...pieces.values()].reduce((sum, list) => sum + list.filter((piece) => !left.has(piece)).length, 0);
  const chosenFiles = [...pieces.values()].filter((list) => list.some((piece) => !left.has(piece))).length;
  const isSplit = [...pieces.values()].some((list) => list.some((piece) => left.has(piece)) && list.some((piece) => !left.has(piece)));
  /** @param {string[]} list */
  const toggle = (list) => {
    const next = new Set(left);
    // What is partly chosen becomes wholly chosen.
    const isWhole = list.every((piece) => !left.has(piece));
    for (const piece of list) if (isWhole) next.add(piece); else next.delete(piece);
    setLeft(next);
  };
  const isFolderNeeded = (/** @type {string} */ path) => [...pieces].some(([other, list]) => other.startsWith(`${path}/`) && list.some((piece) => !left.has(piece)));
  const choice = {
    canToggle: (/** @type {DiffFile} */ file) => of(file).length > 0,
    isChosen: (/** @type {DiffFile} */ file) => folders.has(pathOf(file)) ? isFolderNeeded(pathOf(file)) : of(file).length === 0 || of(file).some((piece) => !left.has(piece)),
    isPartly: (/** @type {DiffFile} */ file) => of(file).some((piece) => left.has(piece)) && of(file).some((piece) => !left.has(piece)),
    onToggle: (/** @type {DiffFile} */ file) => toggle(of(file)),
    canSplit: (/** @type {DiffFile} */ file) => of(file).length > 1,
    isHunkChosen: (/** @type {DiffFile} */ file, /** @type {number} */ hunk) => !left.has(of(file)[hunk] ?? ""),
    onToggleHunk: (/** @type {DiffFile} */ file, /** @type {number} */ hunk) => toggle(of(file).slice(hunk, hunk + 1)),
  };
  /** The `parts` of a decision. @returns {{ path: string, hunks?: number[] }[]} */
  const parts = () => [...[...folders].filter(isFolderNeeded).map((path) => ({ path })), ...[...pieces].flatMap(([path, list]) => {
    const hunks = list.flatMap((piece, i) => (left.has(piece) ? [] : [i]));
    return hunks.length === 0 ? [] : hunks.length === list.length ? [{ path }] : [{ path, hunks }];
  })];
  return {
    choice,
    /** Whether there is anything to choose from. */
    canChoose: total > 1,
    isPartial: chosen < total,
    isNothing: total > 0 && chosen === 0,
    /** `2 of 3 files`, `4 of 5 changes`. */
    words: isSplit || pieces.size === 1 ? `${readable(chosen)} of ${count(total, "change")}` : `${readable(chosenFiles)} of ${count(pieces.size, "file")}`,
    parts,
  };
}
