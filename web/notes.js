// What a person notes on diffs, by workspace: comments that are not sent yet, and the files that were viewed.

import { signal } from "./vendor.js";
import { all, api } from "./api.js";

/** @typedef {{ id: string, step_id: string | null, approval_id: string | null, path: string, side: "old" | "new", line: number, content_hash: string, text: string }} Comment */
/** @typedef {{ comments: Comment[] | null, seen: Map<string, Set<string>> | null }} Notes `null` where the server does not keep them; `seen` has the hashes by path */

export const notes = signal(/** @type {Record<string, Notes>} */ ({}));
/** The chat in which the person read last, by workspace: comments are sent there unless another is chosen. */
export const lastChat = signal(/** @type {Record<string, string>} */ ({}));
/** @type {Set<string>} */
const asked = new Set();

/** @param {string} workspace @param {Partial<Notes>} changed */
const change = (workspace, changed) => (notes.value = { ...notes.value, [workspace]: { comments: null, seen: null, ...notes.value[workspace], ...changed } });

/** Reads the notes of a workspace, once. @param {string} workspace */
export function needNotes(workspace) {
  if (asked.has(workspace)) return;
  asked.add(workspace);
  void readComments(workspace);
  all(`/workspaces/${workspace}/seen`, "seen", 20_000, 1_000).then((marks) => {
    const seen = new Map();
    for (const { path, hash } of marks) seen.set(path, (seen.get(path) ?? new Set()).add(hash));
    change(workspace, { seen });
  }, () => {});
}

/** Forgets everything, for another person. */
export function forgetNotes() {
  asked.clear();
  notes.value = {};
  lastChat.value = {};
}

/** @param {string} workspace */
export async function readComments(workspace) {
  try {
    change(workspace, { comments: await all(`/workspaces/${workspace}/comments`, "comments") });
  } catch {
    // The server keeps none, or is away: without them nothing can be lost.
  }
}

/** @param {string} workspace @param {Omit<Comment, "id">} comment */
export async function addComment(workspace, comment) {
  const { step_id, approval_id, ...rest } = comment;
  await api.post(`/workspaces/${workspace}/comments`, { ...(step_id ? { step_id } : { approval_id }), ...rest });
  await readComments(workspace);
}

/** @param {string} workspace @param {string} id @param {string} text */
export async function editComment(workspace, id, text) {
  await api.patch(`/workspaces/${workspace}/comments/${id}`, { text });
  await readComments(workspace);
}

/** @param {string} workspace @param {string} id */
export async function removeComment(workspace, id) {
  await api.delete(`/workspaces/${workspace}/comments/${id}`);
  await readComments(workspace);
}

/** Sends comments as one message. @param {string} workspace @param {string} chat @param {string[]} ids */
export async function sendComments(workspace, chat, ids) {
  await api.post(`/workspaces/${workspace}/comments/send`, { chat_id: chat, comment_ids: ids });
  await readComments(workspace);
}

/** Marks a content as viewed, or not. @param {string} workspace @param {string} path @param {string} hash @param {boolean} isSeen */
export async function markSeen(workspace, path, hash, isSeen) {
  const set = (/** @type {boolean} */ value) => {
    const seen = new Map(notes.value[workspace]?.seen);
    const hashes = new Set(seen.get(path));
    if (value) hashes.add(hash);
    else hashes.delete(hash);
    change(workspace, { seen: seen.set(path, hashes) });
  };
  // The box is ticked at once, and set back if the server did not take it.
  set(isSeen);
  try {
    await api.put(`/workspaces/${workspace}/seen`, { path, hash, seen: isSeen });
  } catch (failure) {
    set(!isSeen);
    throw failure;
  }
}
