// The chats of a workspace: each is one run of an agent. The chosen one is shown beside the list.

import { html, useEffect, useState } from "../vendor.js";
import { api } from "../api.js";
import { address, go, parts } from "../router.js";
import { mayChange, titleOf } from "../state.js";
import { onHappening } from "../stream.js";
import { Actor } from "../parts/actor.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { useKeys } from "../parts/keys.js";
import { Split } from "../parts/split.js";
import { Empty, Loading, Problem } from "../parts/states.js";
import { messageOf, visibleLine } from "../parts/text.js";
import { Time } from "../parts/time.js";
import { toastProblem } from "../parts/toast.js";
import { VirtualList } from "../parts/virtual.js";
import { ChatDetail } from "./chat.js";

/** @typedef {{ id: string, title: string, path: string, mode: "plan" | "build", made_by: string, created_at: string, updated_at: string, size: number }} Chat */

const ROW = 64;

/** @param {{ workspace: string }} props */
export function Chats({ workspace }) {
  const [chats, setChats] = useState(/** @type {Chat[] | null} */ (null));
  const [next, setNext] = useState(/** @type {string | null} */ (null));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const [isNew, setIsNew] = useState(false);
  const chosenId = parts.value[3];

  const read = async () => {
    try {
      const page = await api.get(`/workspaces/${workspace}/chats?limit=200`);
      setChats(page.chats);
      setNext(page.next);
      setProblem(null);
    } catch (failure) {
      setProblem(failure);
    }
  };
  const readOlder = async () => {
    if (!next) return;
    const cursor = next;
    setNext(null);
    try {
      const page = await api.get(`/workspaces/${workspace}/chats?limit=200&cursor=${encodeURIComponent(cursor)}`);
      setChats((old) => [...(old ?? []), ...page.chats]);
      setNext(page.next);
    } catch (failure) {
      setNext(cursor);
      toastProblem(failure);
    }
  };
  useEffect(() => {
    void read();
    let timer = 0;
    const stop = onHappening(({ workspace: where, kind }) => {
      if (kind !== "reset" && (where !== workspace || !/^chat\.(created|renamed|deleted|mode)$/.test(kind))) return;
      clearTimeout(timer);
      timer = setTimeout(() => void read(), 150);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [workspace]);

  const place = chats?.findIndex((chat) => chat.id === chosenId) ?? -1;
  const move = (/** @type {number} */ by) => {
    const chat = chats?.[Math.max(0, Math.min(chats.length - 1, place + by))];
    if (chat) go(address("w", workspace, "chats", chat.id), { replace: Boolean(chosenId) });
  };
  useKeys({ j: () => move(1), k: () => move(-1), Escape: () => go(address("w", workspace, "chats")) });

  const list = html`<div class="list-head"><h2>Chats</h2>${mayChange(workspace) && html`<button class="button" onClick=${() => setIsNew(true)}><${Icon} name="plus" />New</button>`}</div>
    ${chats === null ? (problem ? html`<${Problem} problem=${problem} onRetry=${read} />` : html`<${Loading} label="Loading the chats" />`)
      : chats.length === 0 ? html`<${Empty} icon="chats" title="No chat yet"><p>Each run of an agent is a chat. It begins with the first call that may change something, or you make one and give its id to an agent.</p></${Empty}>`
      : html`<${VirtualList} role="list" label="Chats" count=${chats.length} height=${ROW} version=${chats} keyOf=${(/** @type {number} */ i) => chats[i]?.id ?? i} onEnd=${readOlder} scrollTo=${place} row=${(/** @type {number} */ i) => {
          const chat = /** @type {Chat} */ (chats[i]);
          return html`<a class="list-row" href=${address("w", workspace, "chats", chat.id)} aria-current=${chat.id === chosenId ? "true" : undefined}>
            <span class="kind-mark plain"><${Icon} name=${chat.mode === "plan" ? "plan" : "chats"} /></span><span class="min grow">
            <span class="row-line"><strong class="ellipsis">${visibleLine(titleOf(workspace, chat))}</strong><${Time} class="muted small" at=${chat.updated_at} /></span>
            <span class="row-line small"><${Actor} workspace=${workspace} actor=${chat.made_by} />${chat.mode === "plan" && html`<span class="chip warn">plan mode</span>`}</span></span></a>`;
        }} />`}`;
  const detail = chosenId ? html`<${ChatDetail} key=${chosenId} workspace=${workspace} id=${chosenId} />`
    : chats && chats.length > 0 ? html`<${Empty} icon="chats" title="Choose a chat"><p>You see what the agent said and did, with every call and its effect.</p></${Empty}>` : null;
  return html`<${Split} label="Chats" list=${list} detail=${detail} hasDetail=${Boolean(chosenId)} back=${address("w", workspace, "chats")} backLabel="Chats" />
    ${isNew && html`<${NewChat} workspace=${workspace} onClose=${() => setIsNew(false)} onMade=${read} />`}`;
}

/** @param {{ workspace: string, onClose: () => void, onMade: () => void }} props */
function NewChat({ workspace, onClose, onMade }) {
  const [problem, setProblem] = useState("");
  /** @param {SubmitEvent} event */
  const submit = async (event) => {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.target));
    try {
      const { chat } = await api.post(`/workspaces/${workspace}/chats`, { title: String(form.get("title") ?? "").trim(), mode: form.get("mode") });
      onClose();
      onMade();
      go(address("w", workspace, "chats", chat.id));
    } catch (failure) {
      setProblem(messageOf(failure));
    }
  };
  return html`<${Dialog} title="New chat" onClose=${onClose}><form onSubmit=${submit}>
    <label class="field"><span>Title</span><input name="title" required maxlength="200" autofocus placeholder="Greet people by name" /></label>
    <fieldset class="field"><legend>Mode</legend><div class="choices">
      <label class="choice"><input type="radio" name="mode" value="build" checked /><span>Build: the agent works</span></label>
      <label class="choice"><input type="radio" name="mode" value="plan" /><span>Plan: only plans change</span></label></div></fieldset>
    ${problem && html`<p class="form-problem" role="alert">${problem}</p>`}
    <div class="actions"><button type="button" class="button" onClick=${onClose}>Cancel</button><button class="button primary">Make it</button></div>
  </form></${Dialog}>`;
}
