// Taking back what happened, always with a preview first: the undo or redo of a step, and going back to a step. It is a
// dialog, and a page of its own on a phone. What was shown is done, or nothing.

import { html, useEffect, useMemo, useRef, useState } from "../vendor.js";
import { api, ApiError } from "../api.js";
import { address, go } from "../router.js";
import { readChanges } from "../parts/change-pages.js";
import { byRisk, filesOf, totals } from "../parts/diff.js";
import { Counts, DiffView } from "../parts/diff-view.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { Loading } from "../parts/states.js";
import { count, messageOf, readable, visibleLine } from "../parts/text.js";
import { toast } from "../parts/toast.js";

/** @typedef {import("../parts/diff.js").DiffFile} DiffFile */
/** @typedef {"undo" | "redo" | "back-to"} Way */
/** @typedef {{ changes: any[], conflicts: { path: string, why: string }[], left?: string[], truncated: boolean, next: string | null, state_hash: string | null }} Preview */

/** The ways, as they are in addresses: `#/w/ID/timeline/STEP/undo`. @type {readonly string[]} */
export const WAYS = ["undo", "redo", "back-to"];

const WORDS = {
  undo: { title: "Undo this step?", button: "Undo it", done: "Undone", icon: "undo", text: "What came after this step stays. The undo is a new step, which can be undone too." },
  redo: { title: "Redo this step?", button: "Redo it", done: "Redone", icon: "redo", text: "This does again what was undone. It is a new step, which can be undone too." },
  "back-to": { title: "Go back to here?", button: "Go back", done: "Went back", icon: "rewind", text: "" },
};

/** @param {number | null} later how many steps came after the step */
const backText = (later) => `The files become what they were right after this step: ${later === null ? "all later steps are" : later === 1 ? "the one later step is" : `the ${readable(later)} later steps are`} taken back. It is a new step, which can be undone too. What other programs made in between stays.`;

/** The path by which a file is ticked. @param {DiffFile} file */
const pathOf = (file) => file.to ?? file.from ?? "";

/**
 * @param {object} props
 * @param {string} props.workspace
 * @param {any} props.step
 * @param {Way} props.way
 * @param {number | null} props.later how many steps came after the step, if that is known
 * @param {() => void} props.onClose
 * @param {() => void} props.onDone
 */
export function TakeBack({ workspace, step, way, later, onClose, onDone }) {
  const [preview, setPreview] = useState(/** @type {Preview | null} */ (null));
  /** All files of the preview, and those that were left out of it. */
  const [files, setFiles] = useState(/** @type {DiffFile[]} */ ([]));
  const [left, setLeft] = useState(/** @type {Set<string>} */ (new Set()));
  const [problem, setProblem] = useState("");
  const [isStale, setIsStale] = useState(false);
  const [isBusy, setIsBusy] = useState(true);
  const asked = useRef(0);
  const words = WORDS[way];
  const route = `/workspaces/${workspace}/steps/${step.id}/${way}`;

  /** Asks what would happen. Of several questions the last one counts. @param {Set<string>} without the paths that are left out */
  const look = async (without) => {
    const mine = ++asked.current;
    setIsBusy(true);
    setProblem("");
    try {
      const asks = { preview: true, ...scope(step, files, without) };
      const page = async (/** @type {string} */ cursor) => (await api.post(route, cursor ? { ...asks, cursor } : asks)).preview;
      const read = /** @type {Preview | null} */ (await readChanges(page, () => mine === asked.current));
      if (!read) return;
      setPreview(read);
      setFiles((old) => merged(workspace, old, read, without));
    } catch (failure) {
      if (mine !== asked.current) return;
      setPreview(null);
      setProblem(messageOf(failure));
    }
    setIsBusy(false);
  };
  useEffect(() => void look(left), []);

  /** @param {Set<string>} next */
  const leaveOut = (next) => {
    setLeft(next);
    setIsStale(false);
    if (files.some((file) => !next.has(pathOf(file)))) void look(next);
  };
  const doIt = async () => {
    if (!mayDo || !preview) return;
    setIsBusy(true);
    setIsStale(false);
    try {
      const done = await api.post(route, { state_hash: preview.state_hash, ...scope(step, files, left) });
      toast(`${words.done}: ${count(done.paths.length, "file")}.`, { action: { label: "Undo this", run: () => go(address("w", workspace, "timeline", done.step_id, "undo")) } });
      onDone();
    } catch (failure) {
      // Something else would happen by now: it is shown, and nothing was done.
      const isChanged = failure instanceof ApiError && failure.status === 409;
      await look(left);
      if (isChanged) setIsStale(true);
      else setProblem(messageOf(failure));
    }
  };

  const chosen = files.filter((file) => !left.has(pathOf(file)));
  const conflicts = chosen.filter((file) => file.kind === "conflict");
  const mayDo = !isBusy && preview !== null && preview.state_hash !== null && preview.changes.length > 0 && chosen.length > 0;
  const mayLeaveOut = !isBusy && conflicts.length > 0 && chosen.length > conflicts.length;
  const doButton = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const leaveOutButton = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const hadFocus = useRef(false);
  // The button that leads on has the focus, unless the person went elsewhere.
  useEffect(() => {
    const next = mayDo ? doButton.current : mayLeaveOut ? leaveOutButton.current : null;
    if (!next || (hadFocus.current && document.activeElement !== document.body && document.activeElement?.tagName !== "DIALOG")) return;
    hadFocus.current = true;
    next.focus();
  }, [mayDo, mayLeaveOut]);
  /** Enter does it from everywhere but from what has a meaning for Enter itself. A key that is held down does nothing: what it would do has not been seen. @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    if (event.key !== "Enter" || (!event.repeat && /** @type {HTMLElement} */ (event.target).closest("button, a"))) return;
    event.preventDefault();
    if (!event.repeat) void doIt();
  };
  const shown = useMemo(() => byRisk(files).map((file) => (left.has(pathOf(file)) ? { ...file, rows: [], added: 0, removed: 0 } : file)), [files, left]);
  const choice = {
    isChosen: (/** @type {DiffFile} */ file) => !left.has(pathOf(file)),
    onToggle: (/** @type {DiffFile} */ file) => {
      const next = new Set(left);
      if (!next.delete(pathOf(file))) next.add(pathOf(file));
      leaveOut(next);
    },
  };
  const isNothing = preview !== null && files.length === 0;
  const buttons = html`<button class="button" onClick=${onClose}>Cancel<kbd>Esc</kbd></button>
    <button class="button primary" ref=${doButton} disabled=${!mayDo} onClick=${doIt}><${Icon} name=${words.icon} />${words.button}<kbd>Enter</kbd></button>`;
  return html`<${Dialog} title=${words.title} wide hasFocus onClose=${onClose} onKeyDown=${onKeyDown} footer=${buttons}>
    <p class="muted">${way === "back-to" ? backText(later) : words.text}</p>
    ${isStale && html`<div class="banner warn" role="alert"><${Icon} name="alert" /><span><strong>Something changed meanwhile, so nothing was done.</strong> This is what would happen now.</span></div>`}
    ${problem && html`<div class="banner bad" role="alert"><${Icon} name="alert" /><span>${problem}</span><button class="button" onClick=${() => void look(left)}>Try again</button></div>`}
    ${conflicts.length > 0 && html`<div class="banner bad" role="alert"><${Icon} name="alert" /><span><strong>${count(conflicts.length, "conflict")}: nothing is done while ${conflicts.length === 1 ? "it is" : "they are"} included.</strong> ${conflicts.length === 1 ? "The file was" : "These files were"} changed since.</span>
      ${chosen.length > conflicts.length && html`<button class="button" ref=${leaveOutButton} disabled=${isBusy} onClick=${() => leaveOut(new Set([...left, ...conflicts.map(pathOf)]))}>Leave ${conflicts.length === 1 ? "it" : "them"} out</button>`}</div>`}
    ${preview && (preview.truncated || preview.next) && html`<div class="banner warn"><${Icon} name="alert" /><span>This is too large to be shown whole: ${preview.next ? `only ${count(preview.changes.length, "file")} are here` : "a diff is cut"}. It is done as a whole.</span></div>`}
    ${(preview?.left?.length ?? 0) > 0 && html`<div class="banner"><${Icon} name="files" /><span>Build output stays as it is: <span class="path">${visibleLine(preview?.left?.[0] ?? "")}</span>${(preview?.left?.length ?? 0) > 1 && ` and ${count((preview?.left?.length ?? 0) - 1, "more", "more")}`}</span></div>`}
    ${isNothing ? html`<p class="nothing"><${Icon} name="check" />Nothing would change: the files are like that already.</p>`
      : files.length === 0 ? problem === "" && html`<${Loading} lines=${5} label="Loading the preview" />`
      : html`<div class="diff-summary"><strong>${chosen.length === files.length ? count(files.length, "file") : `${readable(chosen.length)} of ${count(files.length, "file")}`}</strong><${Counts} ...${totals(chosen)} /></div>
        <${DiffView} files=${shown} label="What would change" choice=${files.length > 1 ? choice : undefined} />`}
  </${Dialog}>`;
}

/**
 * The `paths` of a call: all, unless some are left out.
 * @param {any} step
 * @param {DiffFile[]} files
 * @param {Set<string>} left
 */
function scope(step, files, left) {
  if (left.size === 0) return {};
  // The server knows a file by the path that it had in the step; it may have been moved since.
  const then = new Map(step.changes.map((/** @type {any} */ change) => [change.file_id, [change.from, change.to]]));
  const chosen = files.filter((file) => !left.has(pathOf(file)));
  const paths = new Set(chosen.flatMap((file) => then.get(file.id) ?? [file.from, file.to]).filter((path) => typeof path === "string"));
  // A folder stands for everything below it, so it is left out together with something in it.
  return { paths: [...paths].filter((path) => ![...left].some((other) => other.startsWith(`${path}/`))) };
}

/**
 * The files of a preview, with those that were left out of it in their places.
 * @param {string} workspace
 * @param {DiffFile[]} old
 * @param {Preview} preview
 * @param {Set<string>} left
 * @returns {DiffFile[]}
 */
function merged(workspace, old, preview, left) {
  const fresh = [...preview.conflicts.map((conflict) => conflictFile(workspace, conflict)), ...filesOf(preview.changes)];
  const known = new Set(fresh.map(pathOf));
  return [...old.filter((file) => left.has(pathOf(file)) && !known.has(pathOf(file))), ...fresh];
}

/** A file that cannot be taken back, with the way to the later step that it names. @param {string} workspace @param {{ path: string, why: string }} conflict @returns {DiffFile} */
function conflictFile(workspace, { path, why }) {
  const named = /^(.*) \(step ([0-9a-f-]{36}), [^()]*\)$/s.exec(why);
  const href = named?.[2] ? address("w", workspace, "timeline", named[2]) : undefined;
  return { kind: "conflict", from: path, to: path, note: named?.[1] ?? why, rows: [], added: 0, removed: 0, longest: 0, href };
}
