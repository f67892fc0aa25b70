// The one event stream of this browser. A browser opens six connections to a server, so one tab holds the stream
// (Web Locks decide which) and passes the events on to the others (BroadcastChannel). It reconnects by itself with
// the id of the last event. A server without `/events` for all workspaces is asked for the events of the workspaces
// that are open in tabs, and `polled` says that the inbox has to be asked for now and then.

import { signal } from "./vendor.js";
import { isLoggedIn, request } from "./api.js";

/** @typedef {{ workspace: string, kind: string, ref: string }} Happening one thing that happened; `kind` is `reset` where everything has to be read again */

/** `live`, `connecting` or `offline`. */
export const connection = signal("connecting");
/** Whether the server has no stream over all workspaces. */
export const polled = signal(false);

/** @type {Set<(happening: Happening) => void>} */
const listeners = new Set();
const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("toolyard-events") : null;
/** The workspaces that tabs have open, the newest last. @type {string[]} */
let wanted = [];
/** The last event's id, by stream. @type {Map<string, string>} */
const lastIds = new Map();
/** @type {Map<string, AbortController>} */
const open = new Map();
let isLeader = false;
let isStarted = false;

/**
 * Calls a function with everything that happens, until the returned function is called.
 * @param {(happening: Happening) => void} listener
 */
export function onHappening(listener) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** @param {Happening} happening */
function tell(happening) {
  for (const listener of listeners) listener(happening);
}

/** Begins to listen. */
export function startStream() {
  if (isStarted) return;
  isStarted = true;
  if (channel) channel.onmessage = (message) => receive(message.data);
  channel?.postMessage({ type: "hello" });
  if (navigator.locks && channel) {
    void navigator.locks.request("toolyard-events", () => lead());
  } else {
    void lead();
  }
}

/** Says that this tab shows a workspace. @param {string} workspace */
export function want(workspace) {
  addWanted(workspace);
  channel?.postMessage({ type: "want", workspace });
}

/** @param {any} message */
function receive(message) {
  if (message.type === "happening") {
    lastIds.set(message.stream, message.id);
    tell(message.happening);
  } else if (message.type === "state" && !isLeader) {
    connection.value = message.connection;
    polled.value = message.polled;
    if (wanted.length > 0) channel?.postMessage({ type: "want", workspace: wanted[wanted.length - 1] });
  } else if (message.type === "want") {
    addWanted(message.workspace);
  } else if (message.type === "hello" && isLeader) {
    tellState();
  }
}

/** @param {string} workspace */
function addWanted(workspace) {
  wanted = [...wanted.filter((other) => other !== workspace), workspace].slice(-3);
  if (isLeader && polled.value) followWanted();
}

function tellState() {
  channel?.postMessage({ type: "state", connection: connection.value, polled: polled.value });
}

/** Holds the stream until the tab is closed. */
function lead() {
  isLeader = true;
  void follow("");
  return new Promise(() => {});
}

/** In place of the stream over everything: one stream for each workspace that is open in a tab. */
function followWanted() {
  for (const [workspace, abort] of open) if (!wanted.includes(workspace)) abort.abort();
  for (const workspace of wanted) if (!open.has(workspace)) void follow(workspace);
}

/**
 * Reads a stream for as long as it is wanted, and connects again after a break.
 * @param {string} workspace the workspace, or "" for all of them
 */
async function follow(workspace) {
  const abort = new AbortController();
  open.set(workspace, abort);
  const path = workspace === "" ? "/api/v1/events" : `/api/v1/workspaces/${workspace}/events`;
  let pause = 500;
  while (!abort.signal.aborted) {
    if (isLoggedIn.value === false) {
      // The next one to log in may be somebody else, whose events have other ids.
      lastIds.clear();
      await new Promise((resolve) => setTimeout(resolve, 500));
      continue;
    }
    try {
      const last = lastIds.get(workspace);
      const answer = await request(path, { headers: { accept: "text/event-stream", ...(last ? { "last-event-id": last } : {}) }, signal: abort.signal });
      if (workspace === "" && answer.status === 404) {
        polled.value = true;
        setConnection("live");
        open.delete("");
        return followWanted();
      }
      if (answer.status === 403 || answer.status === 404) break;
      if (!answer.ok || !answer.body) throw new Error(`status ${answer.status}`);
      setConnection("live");
      pause = 500;
      // Without an id to go on from, what happened before the stream began is not known.
      const begin = () => !last && pass({ workspace, kind: "reset", ref: "" }, workspace, "");
      await read(answer.body, workspace, begin);
    } catch {
      if (abort.signal.aborted) break;
      setConnection(navigator.onLine === false ? "offline" : "connecting");
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(pause * 2, 8_000);
    if (pause >= 4_000) setConnection("offline");
  }
  open.delete(workspace);
}

/** @param {string} state */
function setConnection(state) {
  connection.value = state;
  tellState();
}

/**
 * Reads server-sent events until the stream ends.
 * @param {ReadableStream<Uint8Array>} body
 * @param {string} workspace
 * @param {() => void} begin called with the first piece, from which on no event is missed
 */
async function read(body, workspace, begin) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let hasBegun = false;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    if (!hasBegun) begin();
    hasBegun = true;
    text += decoder.decode(value, { stream: true });
    let end;
    while ((end = text.indexOf("\n\n")) >= 0) {
      take(text.slice(0, end), workspace);
      text = text.slice(end + 2);
    }
  }
}

/**
 * Takes one event.
 * @param {string} block
 * @param {string} workspace
 */
function take(block, workspace) {
  let id = "";
  let name = "message";
  let data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("id:")) id = line.slice(3).trim();
    else if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data += line.slice(5).trim();
  }
  if (data === "") return;
  let fields;
  try {
    fields = JSON.parse(data);
  } catch {
    return;
  }
  if (name === "reset" || name === "lost") return pass({ workspace, kind: "reset", ref: "" }, workspace, id);
  const kind = fields.kind ?? name;
  const ref = fields.ref ?? fields.step_id ?? fields.approval_id ?? fields.question_id ?? fields.terminal_id ?? fields.chat_id ?? "";
  pass({ workspace: fields.workspace ?? workspace, kind, ref }, workspace, id);
}

/**
 * Tells this tab and the others.
 * @param {Happening} happening
 * @param {string} stream
 * @param {string} id
 */
function pass(happening, stream, id) {
  if (id !== "") lastIds.set(stream, id);
  channel?.postMessage({ type: "happening", happening, stream, id });
  tell(happening);
}

addEventListener("online", () => isLeader && setConnection("connecting"));
addEventListener("offline", () => isLeader && setConnection("offline"));
