// Reading a diff: comments on its lines, which are gathered and sent together, and marks of the files that were viewed. A
// mark is for one content: it falls off when the content changes.

import { html, useEffect, useMemo, useRef, useState } from "../vendor.js";
import { addComment, editComment, lastChat, markSeen, needNotes, notes, removeComment } from "../notes.js";
import { mayChange } from "../state.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icons.js";
import { sha256 } from "./sha256.js";
import { messageOf, sizeInWords, visible, visibleLine } from "./text.js";
import { toastProblem } from "./toast.js";

/** @typedef {import("./diff.js").DiffFile} DiffFile */
/** @typedef {import("./diff.js").DiffRow} DiffRow */

/**
 * @typedef {object} Review
 * @property {any[]} comments
 * @property {boolean} canComment
 * @property {boolean} canSee
 * @property {(file: DiffFile) => Map<string, any[]>} commentsOf the comments of a file, by side and line: `new 12`
 * @property {(file: DiffFile, row: DiffRow) => void} onComment
 * @property {(comment: any) => void} onEdit
 * @property {(file: DiffFile) => boolean} isSeen
 * @property {(file: DiffFile, isSeen: boolean) => void} onSeen
 */

/** The path by which a file is noted. @param {DiffFile} file */
const pathOf = (file) => file.to ?? file.from ?? "";

/** The longest comment that the server takes, in bytes of UTF-8. */
const LONGEST = 8 << 10;

/** @type {WeakMap<DiffFile, string>} */
const hashes = new WeakMap();

/** What a note is about: the hash of the content, or of the diff where only that is known. @param {DiffFile} file */
function hashOf(file) {
  let hash = file.hash ?? hashes.get(file);
  if (!hash) hashes.set(file, (hash = sha256(`${file.kind}\n${file.from}\n${file.to}\n${file.note}\n${file.rows.map((row) => `${row.kind} ${row.text}`).join("\n")}`)));
  return hash;
}

/** The hash of one side of a diff. @param {DiffFile} file @param {"old" | "new"} side */
const sideHash = (file, side) => (side === "old" && file.oldHash) || hashOf(file);

/**
 * @param {string} workspace
 * @param {{ step_id: string } | { approval_id: string }} target what the diff is of
 * @param {{ chat?: string | null, oldStep?: string }} [options] `oldStep` is the step that the old side is of, where two steps are compared
 * @returns {{ review: Review, dialog: any }}
 */
export function useReview(workspace, target, { chat, oldStep } = {}) {
  const [editing, setEditing] = useState(/** @type {{ file?: DiffFile, row?: DiffRow, comment?: any } | null} */ (null));
  const id = "step_id" in target ? target.step_id : target.approval_id;
  useEffect(() => needNotes(workspace), [workspace]);
  useEffect(() => {
    if (chat && lastChat.value[workspace] !== chat) lastChat.value = { ...lastChat.value, [workspace]: chat };
  }, [workspace, chat]);
  const { comments: all = null, seen = null } = notes.value[workspace] ?? {};
  const comments = useMemo(() => (all ?? []).filter((comment) => comment.step_id === id || comment.approval_id === id || (oldStep && comment.step_id === oldStep && comment.side === "old")), [all, id, oldStep]);
  const review = {
    comments,
    canComment: all !== null && mayChange(workspace),
    canSee: seen !== null,
    commentsOf: (/** @type {DiffFile} */ file) => {
      /** @type {Map<string, any[]>} */
      const found = new Map();
      const mine = comments.filter((comment) => comment.path === pathOf(file));
      // A comment on an older state of the diff is in the list of comments only.
      for (const comment of mine) if (comment.content_hash === sideHash(file, comment.side)) found.set(`${comment.side} ${comment.line}`, [...(found.get(`${comment.side} ${comment.line}`) ?? []), comment]);
      return found;
    },
    onComment: (/** @type {DiffFile} */ file, /** @type {DiffRow} */ row) => review.canComment && setEditing({ file, row }),
    onEdit: (/** @type {any} */ comment) => setEditing({ comment }),
    isSeen: (/** @type {DiffFile} */ file) => Boolean(seen?.get(pathOf(file))?.size) && seen?.get(pathOf(file))?.has(hashOf(file)) === true,
    onSeen: (/** @type {DiffFile} */ file, /** @type {boolean} */ isSeen) => void markSeen(workspace, pathOf(file), hashOf(file), isSeen).catch(toastProblem),
  };
  const save = async (/** @type {string} */ text) => {
    if (editing?.comment) return editComment(workspace, editing.comment.id, text);
    const { file, row } = /** @type {{ file: DiffFile, row: DiffRow }} */ (editing);
    const isOld = row.kind === "remove";
    const about = isOld && oldStep ? { step_id: oldStep } : target;
    await addComment(workspace, { step_id: null, approval_id: null, ...about, path: pathOf(file), side: isOld ? "old" : "new", line: isOld ? row.before : row.after, content_hash: sideHash(file, isOld ? "old" : "new"), text });
  };
  const about = editing && {
    comment: editing.comment ?? null,
    path: editing.comment?.path ?? pathOf(/** @type {DiffFile} */ (editing.file)),
    line: editing.comment?.line ?? (editing.row?.kind === "remove" ? editing.row.before : editing.row?.after),
    quoted: editing.row?.text ?? null,
  };
  const dialog = about && html`<${CommentDialog} workspace=${workspace} ...${about} onSave=${save} onClose=${() => setEditing(null)} />`;
  return { review, dialog };
}

/** @param {{ workspace: string, comment: any, path: string, line: number, quoted: string | null, onSave: (text: string) => Promise<void>, onClose: () => void }} props */
export function CommentDialog({ workspace, comment, path, line, quoted, onSave, onClose }) {
  const [problem, setProblem] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useEffect(() => field.current?.focus(), []);
  /** @param {() => Promise<void>} work */
  const run = async (work) => {
    setIsBusy(true);
    try {
      await work();
      onClose();
    } catch (failure) {
      setProblem(messageOf(failure));
      setIsBusy(false);
    }
  };
  const submit = () => {
    const text = field.current?.value.trim() ?? "";
    if (text === "") return setProblem("Write something first.");
    const bytes = new TextEncoder().encode(text).length;
    if (bytes > LONGEST) return setProblem(`This is too long: it has ${sizeInWords(bytes)}, and a comment has ${sizeInWords(LONGEST)} at most.`);
    if (!isBusy) void run(() => onSave(text));
  };
  /** @param {KeyboardEvent} event */
  const keyDown = (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    submit();
  };
  /** @param {Event} event */
  const submitted = (event) => {
    event.preventDefault();
    submit();
  };
  const remove = comment && html`
    <button type="button" class="button danger" disabled=${isBusy} onClick=${() => void run(() => removeComment(workspace, comment.id))}>
      <${Icon} name="trash" />Remove</button>
    <span class="grow"></span>`;
  return html`<${Dialog} title=${comment ? "Your comment" : "Comment on a line"} onClose=${onClose}><form onSubmit=${submitted}>
    <p class="muted small comment-place"><span class="path">${visibleLine(path)}</span>, line ${line}</p>
    ${quoted !== null && html`<pre class="block quoted">${visible(quoted.slice(0, 400)) || " "}</pre>`}
    <label class="field"><span>What should be different</span>
      <textarea ref=${field} rows="4" maxlength=${LONGEST} defaultValue=${comment?.text ?? ""} onKeyDown=${keyDown}></textarea>
      <small class="muted">It is kept for you until you send your comments to a chat.</small></label>
    ${problem && html`<p class="form-problem" role="alert">${problem}</p>`}
    <div class="actions">${remove}<button type="button" class="button" onClick=${onClose}>Cancel</button>
      <button class="button primary" disabled=${isBusy}>Keep it</button></div>
  </form></${Dialog}>`;
}
