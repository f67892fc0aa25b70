// The comments of the person that are not sent yet, on every screen of a workspace, and sending them to a chat.

import { html, useEffect, useState } from "../vendor.js";
import { all } from "../api.js";
import { address, go } from "../router.js";
import { titleOf } from "../state.js";
import { editComment, lastChat, needNotes, notes, sendComments } from "../notes.js";
import { CommentDialog } from "../parts/review.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { useKeys } from "../parts/keys.js";
import { Loading } from "../parts/states.js";
import { count, messageOf, visible, visibleLine } from "../parts/text.js";
import { toast } from "../parts/toast.js";

/** @param {{ workspace: string }} props */
export function CommentBar({ workspace }) {
  const [isSending, setIsSending] = useState(false);
  const comments = notes.value[workspace]?.comments ?? [];
  useKeys({ S: () => comments.length > 0 && setIsSending(true) });
  useEffect(() => needNotes(workspace), [workspace]);
  useEffect(() => {
    if (comments.length === 0) setIsSending(false);
  }, [comments.length]);
  if (comments.length === 0) return null;
  return html`<div class="comment-bar" role="region" aria-label="Your comments"><${Icon} name="chats" /><span class="grow"><strong>${count(comments.length, "comment")}</strong> <span class="muted">not sent yet</span></span>
      <button class="button primary" onClick=${() => setIsSending(true)}>Send to chat<kbd>⇧S</kbd></button></div>
    ${isSending && html`<${Send} workspace=${workspace} comments=${comments} onClose=${() => setIsSending(false)} />`}`;
}

/** @param {{ workspace: string, comments: import("../notes.js").Comment[], onClose: () => void }} props */
function Send({ workspace, comments, onClose }) {
  const [chats, setChats] = useState(/** @type {any[] | null} */ (null));
  const [chat, setChat] = useState(lastChat.value[workspace] ?? "");
  const [left, setLeft] = useState(/** @type {Set<string>} */ (new Set()));
  const [editing, setEditing] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  useEffect(() => {
    all(`/workspaces/${workspace}/chats`, "chats", 400).then((found) => {
      setChats(found);
      if (!found.some((one) => one.id === chat)) setChat(found[0]?.id ?? "");
    }, (failure) => setProblem(messageOf(failure)));
  }, [workspace]);
  const chosen = comments.filter((comment) => !left.has(comment.id));
  const send = async () => {
    if (chat === "" || chosen.length === 0 || isBusy) return;
    setIsBusy(true);
    try {
      await sendComments(workspace, chat, chosen.map((comment) => comment.id));
      toast(`Sent: ${count(chosen.length, "comment")}, as one message.`, { action: { label: "See the chat", run: () => go(address("w", workspace, "chats", chat)) } });
      onClose();
    } catch (failure) {
      setProblem(messageOf(failure));
      setIsBusy(false);
    }
  };
  const toggle = (/** @type {string} */ id) => {
    const next = new Set(left);
    if (!next.delete(id)) next.add(id);
    setLeft(next);
  };
  const footer = html`<button class="button" onClick=${onClose}>Cancel</button><button class="button primary" disabled=${isBusy || chat === "" || chosen.length === 0} onClick=${() => void send()}>Send ${count(chosen.length, "comment")}</button>`;
  if (editing) return html`<${CommentDialog} workspace=${workspace} comment=${editing} path=${editing.path} line=${editing.line} quoted=${null} onSave=${(/** @type {string} */ text) => editComment(workspace, editing.id, text)} onClose=${() => setEditing(null)} />`;
  return html`<${Dialog} title="Send your comments" wide onClose=${onClose} footer=${footer}>
    <p class="muted">They go to the chat as one message, which the agent gets with its next answer.</p>
    ${chats === null && problem === "" ? html`<${Loading} lines=${2} label="Loading the chats" />`
      : chats?.length === 0 ? html`<p class="form-problem">This workspace has no chat yet: an agent's first call makes one.</p>`
      : html`<label class="field"><span>Chat</span><select value=${chat} onChange=${(/** @type {any} */ event) => setChat(event.target.value)}>${(chats ?? []).map((one) => html`<option key=${one.id} value=${one.id} selected=${one.id === chat}>${visibleLine(titleOf(workspace, one)).slice(0, 100)}</option>`)}</select></label>`}
    <ul class="comment-list" aria-label="Comments">${comments.slice(0, 200).map((comment) => html`<li key=${comment.id}><label class="tick"><input type="checkbox" checked=${!left.has(comment.id)} aria-label=${`Send the comment on ${visibleLine(comment.path)}, line ${comment.line}`} onChange=${() => toggle(comment.id)} /></label>
      <div class="grow min"><a class="path small" href=${comment.approval_id ? address("inbox", workspace, "approval", comment.approval_id) : address("w", workspace, "timeline", comment.step_id)} onClick=${onClose}>${visibleLine(comment.path)}:${comment.line}</a><p class="comment-text">${visible(comment.text)}</p></div>
      <button class="button small" aria-label=${`Edit the comment on ${visibleLine(comment.path)}, line ${comment.line}`} onClick=${() => setEditing(comment)}>Edit</button></li>`)}</ul>
    ${problem && html`<p class="form-problem" role="alert">${problem}</p>`}
  </${Dialog}>`;
}
