// The one event stream of this browser, over all workspaces. A browser opens six connections to a server, so one tab holds
// the stream (Web Locks decide which) and passes the events on to the others (BroadcastChannel). It reconnects by itself
// with the id of the last event.

import { signal } from "./vendor.js";
import { isLoggedIn, request } from "./api.js";

/** @typedef {{ workspace: string, kind: string, ref: string }} Happening one thing that happened; `kind` is `reset` where everything has to be read again */

/** `live`, `connecting` or `offline`. */
export const connection = signal("connecting");
/** How many of the person's workspaces are followed, where there are too many for all; `null` where all are. */
export const followed = signal(/** @type {number | null} */ (null));
/** @type {Set<(happening: Happening) => void>} */
const listeners = new Set();
const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("toolyard-events") : null;
/** The id of the last event. */
let lastId = "";
/** How long the server may be silent, in milliseconds: it sends a comment every 15 seconds. */
const SILENCE = 45_000;
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

/** @param {any} message */
function receive(message) {
  if (message.type === "happening") {
    lastId = message.id || lastId;
    tell(message.happening);
  } else if (message.type === "state" && !isLeader) {
    connection.value = message.connection;
    followed.value = message.followed;
  } else if (message.type === "hello" && isLeader) {
    tellState();
  }
}

function tellState() {
  channel?.postMessage({ type: "state", connection: connection.value, followed: followed.value });
}

/** Holds the stream until the tab is closed: reads it, and connects again after a break. */
async function lead() {
  isLeader = true;
  let pause = 500;
  for (;;) {
    if (isLoggedIn.value === false) {
      // The next one to log in may be somebody else, whose events have other ids.
      lastId = "";
      await wait(500);
      continue;
    }
    const abort = new AbortController();
    try {
      const headers = { accept: "text/event-stream", ...(lastId ? { "last-event-id": lastId } : {}) };
      const answer = await request("/api/v1/events", { headers, signal: abort.signal });
      if (!answer.ok || !answer.body) throw new Error(`status ${answer.status}`);
      setConnection("live");
      pause = 500;
      // Without an id to go on from, what happened before the stream began is not known.
      const isFirst = lastId === "";
      await read(answer.body, abort, () => {
        // The first piece says so if not all workspaces are followed.
        followed.value = null;
        // A server that was stopped and started again may have left something undone, which no event says.
        pass({ workspace: "", kind: isFirst ? "reset" : "inbox", ref: "" }, "");
      });
    } catch {
      setConnection(navigator.onLine === false ? "offline" : "connecting");
    }
    await wait(pause);
    pause = Math.min(pause * 2, 8_000);
    if (pause >= 4_000) setConnection("offline");
  }
}

/** @param {number} milliseconds */
const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** @param {string} state */
function setConnection(state) {
  connection.value = state;
  tellState();
}

/**
 * Reads server-sent events until the stream ends, or is silent for too long: a computer that slept has a connection that
 * nobody answers any more.
 * @param {ReadableStream<Uint8Array>} body
 * @param {AbortController} abort ends the connection
 * @param {() => void} begin called with the first piece, from which on no event is missed
 */
async function read(body, abort, begin) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let hasBegun = false;
  for (;;) {
    const silence = setTimeout(() => abort.abort(), SILENCE);
    const { done, value } = await reader.read().finally(() => clearTimeout(silence));
    if (done) return;
    if (!hasBegun) begin();
    hasBegun = true;
    text += decoder.decode(value, { stream: true });
    let end;
    while ((end = text.indexOf("\n\n")) >= 0) {
      take(text.slice(0, end));
      text = text.slice(end + 2);
    }
  }
}

/** Takes one event. @param {string} block */
function take(block) {
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
  if (name === "partial") {
    followed.value = Number(fields.followed) || null;
    return tellState();
  }
  if (name === "reset") return pass({ workspace: "", kind: "reset", ref: "" }, id);
  pass({ workspace: fields.workspace ?? "", kind: fields.kind ?? name, ref: fields.ref ?? "" }, id);
}

/**
 * Tells this tab and the others.
 * @param {Happening} happening
 * @param {string} id
 */
function pass(happening, id) {
  if (id !== "") lastId = id;
  channel?.postMessage({ type: "happening", happening, id });
  tell(happening);
}

addEventListener("online", () => isLeader && setConnection("connecting"));
addEventListener("offline", () => isLeader && setConnection("offline"));
