// What more than one screen needs: the person, the workspaces, what waits, and the names of actors.

import { signal, computed } from "./vendor.js";
import { all, api, isLoggedIn } from "./api.js";
import { onHappening, startStream } from "./stream.js";

/** @typedef {{ id: string, name: string, role: "owner" | "member" | "viewer", created_at: string, updated_at: string }} Workspace */
/** @typedef {{ id: string, email?: string, full_name?: string, is_local?: boolean }} Person `is_local`: the person of this machine, without an account */
/** @typedef {{ workspace_id: string, workspace_name: string, kind: "approval" | "question", waiting_since: string, approval?: any, question?: any, later_until?: string | null }} InboxEntry */

export const me = signal(/** @type {Person | null} */ (null));
export const workspaces = signal(/** @type {Workspace[] | null} */ (null));
export const inbox = signal(/** @type {InboxEntry[] | null} */ (null));
/** What the person put off, with the time at which it comes back; `null` where the server does not say. */
export const later = signal(/** @type {InboxEntry[] | null} */ (null));
/** Workspaces whose requests are missing in the inbox, with the reason. */
export const unavailable = signal(/** @type {{ workspace_id: string, workspace_name: string, error: string }[]} */ ([]));
/** What went wrong when the inbox was read last. */
export const inboxProblem = signal(/** @type {unknown} */ (null));
export const waiting = computed(() => inbox.value?.length ?? 0);

const IS_LOCAL = "is-local";
/** Whether the page was last used by the person of this machine, who has no password. */
export const wasLocal = () => localStorage.getItem(IS_LOCAL) === "yes";

/** Entries that are read at most. */
const MOST_ENTRIES = 1_000;

/** Reads who is logged in, and begins to follow what happens. */
export async function start() {
  const { user } = await api.get("/auth/me");
  me.value = user;
  isLoggedIn.value = true;
  if (user.is_local) localStorage.setItem(IS_LOCAL, "yes");
  else localStorage.removeItem(IS_LOCAL);
  await loadWorkspaces();
  void loadInbox();
  startStream();
}

/** Forgets everything of the person who was logged in. */
export function forget() {
  me.value = null;
  workspaces.value = null;
  inbox.value = null;
  later.value = null;
  names.value = {};
  actors.value = {};
  chats.value = {};
  wanted.clear();
  asked.clear();
}

export async function loadWorkspaces() {
  workspaces.value = await all("/workspaces", "workspaces");
}

/** @param {string} id */
export const workspaceOf = (id) => workspaces.value?.find((workspace) => workspace.id === id) ?? null;

/** Whether the person may change anything in a workspace. @param {string} id */
export const mayChange = (id) => workspaceOf(id)?.role !== "viewer" && workspaceOf(id) !== null;

/** @param {string} id */
export const isOwner = (id) => workspaceOf(id)?.role === "owner";

let isReading = false;
let isStale = false;

/** Reads what waits for the person; calls while it is being read make one more reading. */
export async function loadInbox() {
  if (isReading) {
    isStale = true;
    return;
  }
  isReading = true;
  try {
    do {
      isStale = false;
      inbox.value = await readInbox("");
      inboxProblem.value = null;
      await loadLater();
    } while (isStale);
  } catch (problem) {
    inboxProblem.value = problem;
  } finally {
    isReading = false;
  }
}

let comesBack = 0;

/** Reads what the person put off. What is due first is shown when its time comes. */
async function loadLater() {
  try {
    const entries = await readInbox("&later=true");
    later.value = entries.sort((a, b) => String(a.later_until).localeCompare(String(b.later_until)));
  } catch {
    later.value = null;
  }
  clearTimeout(comesBack);
  const first = later.value?.[0]?.later_until;
  if (first) comesBack = setTimeout(() => void loadInbox(), Math.max(1_000, Math.min(2 ** 31 - 1, Date.parse(first) - Date.now() + 500)));
}

/** The pages of the inbox. @param {string} filter @returns {Promise<InboxEntry[]>} */
async function readInbox(filter) {
  const entries = [];
  let missing = [];
  let cursor = "";
  do {
    const page = await api.get(`/inbox?limit=200${filter}${cursor}`);
    entries.push(...page.entries);
    missing = page.unavailable ?? [];
    cursor = page.next ? `&cursor=${encodeURIComponent(page.next)}` : "";
  } while (cursor !== "" && entries.length < MOST_ENTRIES);
  if (filter === "") unavailable.value = missing;
  return entries;
}

let timer = 0;
onHappening(({ kind }) => {
  if (kind === "reset" || kind === "workspaces") void loadWorkspaces();
  if (kind === "reset" || kind === "workspaces" || /^(approval|question|inbox)/.test(kind)) {
    clearTimeout(timer);
    timer = setTimeout(() => void loadInbox(), 120);
  }
});
document.addEventListener("visibilitychange", () => {
  if (isLoggedIn.value && document.visibilityState === "visible") void loadInbox();
});

/** The names of actors, by `person:ID` or `key:ID`. */
const names = signal(/** @type {Record<string, string>} */ ({}));
/** The members and keys of a workspace, as far as they are known. */
export const actors = signal(/** @type {Record<string, string[]>} */ ({}));
/** Workspaces whose names were asked for. @type {Set<string>} */
const asked = new Set();

/** @param {string} workspace */
async function loadNames(workspace) {
  try {
    const [members, keys] = await Promise.all([
      all(`/workspaces/${workspace}/members`, "members"),
      isOwner(workspace) ? all(`/workspaces/${workspace}/keys`, "keys") : [],
    ]);
    const found = { ...names.value };
    for (const member of members) found[`person:${member.user_id}`] = member.full_name || member.email;
    for (const key of keys) found[`key:${key.id}`] = key.name;
    names.value = found;
    actors.value = { ...actors.value, [workspace]: [...members.map((member) => `person:${member.user_id}`), ...keys.map((key) => `key:${key.id}`)] };
  } catch {
    asked.delete(workspace);
  }
}

/** Has the names of a workspace read again, after a key was made, say. @param {string} workspace */
export function forgetNames(workspace) {
  asked.delete(workspace);
}

/**
 * Who an actor is, and of what kind.
 * @param {string} workspace
 * @param {string | null | undefined} actor `person:ID`, `key:ID` or `external`
 */
export function actorOf(workspace, actor) {
  if (!actor || actor === "external") return { name: "Somebody outside", kind: "external" };
  const kind = actor.startsWith("person:") || actor === "person" ? "person" : actor.startsWith("external") ? "external" : "agent";
  if (me.value && (actor === `person:${me.value.id}` || (me.value.is_local && kind === "person"))) return { name: "You", kind };
  // On one machine agents have no keys, and say their own names.
  if (actor.startsWith("agent:")) return { name: actor === "agent:local" ? "Local agent" : actor.slice("agent:".length), kind };
  if (!asked.has(workspace) && workspaces.value) {
    asked.add(workspace);
    void loadNames(workspace);
  }
  const fallback = kind === "person" ? "A person" : kind === "external" ? "Somebody outside" : "An agent";
  const name = names.value[actor] ?? (/^(person|key|external)(:|$)/.test(actor) ? fallback : actor);
  return { name, kind };
}

/** The chats of workspaces, as far as they were needed. */
const chats = signal(/** @type {Record<string, { id: string, title: string }[]>} */ ({}));
/** The chats that were looked for. @type {Set<string>} */
const wanted = new Set();
onHappening(({ workspace, kind }) => {
  if (kind !== "chat.renamed" && kind !== "reset") return;
  wanted.clear();
  const { [workspace]: _, ...others } = chats.value;
  chats.value = kind === "reset" ? {} : others;
});

/**
 * A chat by its id; `null` while it is not known, and of one that was deleted or is very old.
 * @param {string} workspace
 * @param {string} id
 */
export function chatOf(workspace, id) {
  const found = chats.value[workspace]?.find((chat) => chat.id === id) ?? null;
  if (!found && !wanted.has(id)) {
    wanted.add(id);
    all(`/workspaces/${workspace}/chats`, "chats", 400).then((read) => (chats.value = { ...chats.value, [workspace]: read }), () => wanted.delete(id));
  }
  return found;
}

/**
 * The title of a chat, with the name of its agent or person where nobody gave it one.
 * @param {string} workspace
 * @param {{ title: string }} chat
 */
export function titleOf(workspace, chat) {
  const own = /^Default of ((?:key|person|agent):\S+)$/.exec(chat.title)?.[1];
  if (own === undefined) return chat.title;
  const { name } = actorOf(workspace, own);
  return name === "You" ? "Your chat" : `Chat of ${name}`;
}
