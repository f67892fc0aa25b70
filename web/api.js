// Calls to the HTTP API. The login is in HttpOnly cookies, which scripts cannot read; a call that is answered with
// 401 refreshes the login once and is made again.

import { signal } from "./vendor.js";

/** What went wrong, in words that a person can read. */
export class ApiError extends Error {
  /**
   * @param {number} status the HTTP status, or 0 if the server could not be reached
   * @param {string} code the server's code, as `CONFLICT`
   * @param {string} message
   * @param {Record<string, string>} [fields] by argument, what was expected
   */
  constructor(status, code, message, fields = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.fields = fields;
  }
}

/** Whether the person is logged in; `null` while that is not known yet. */
export const isLoggedIn = signal(/** @type {boolean | null} */ (null));

/** Whether the last call reached the server. */
export const isReachable = signal(true);

/** How long the login of another tab counts as new, in milliseconds. */
const FRESH = 5_000;
const REFRESHED_AT = "login-refreshed-at";

/** @type {Promise<boolean> | null} */
let refreshing = null;

/** Exchanges the refresh token, once for all calls and all tabs: a refresh token is good for one exchange. */
export function refreshLogin() {
  const asked = Date.now();
  refreshing ??= inTurn("toolyard-login", () => exchange(asked)).finally(() => (refreshing = null));
  return refreshing;
}

/**
 * Does work while no other tab does the same. Without Web Locks (a page that is not on HTTPS or loopback) it just does it.
 * @template T
 * @param {string} name
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
function inTurn(name, work) {
  return navigator.locks ? navigator.locks.request(name, work) : work();
}

/** @param {number} asked when the refresh was asked for */
async function exchange(asked) {
  const last = Number(localStorage.getItem(REFRESHED_AT) ?? 0);
  if (last > asked - FRESH && last <= Date.now()) return true;
  const answer = await send("/api/v1/auth/refresh", { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
  if (answer.ok) localStorage.setItem(REFRESHED_AT, String(Date.now()));
  // A server that is busy or fails does not say that the login is over.
  else if (answer.status === 429 || answer.status >= 500) await unpack(answer);
  return answer.ok;
}

/**
 * @param {string} path
 * @param {RequestInit} options
 */
async function send(path, options) {
  try {
    const answer = await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
    isReachable.value = answer.status !== 502;
    return answer;
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    isReachable.value = false;
    throw new ApiError(0, "OFFLINE", "The server cannot be reached.");
  }
}

/**
 * A call that refreshes the login if it has to. The answer can have any status.
 * @param {string} path
 * @param {RequestInit} [options]
 */
export async function request(path, options = {}) {
  const answer = await send(path, options);
  if (answer.status !== 401) return answer;
  if (await refreshLogin()) {
    const again = await send(path, options);
    if (again.status !== 401) return again;
  }
  localStorage.removeItem(REFRESHED_AT);
  isLoggedIn.value = false;
  throw new ApiError(401, "INVALID_TOKEN", "Please log in.");
}

/**
 * @param {string} method
 * @param {string} path below `/api/v1`
 * @param {unknown} [body]
 * @returns {Promise<any>}
 */
async function call(method, path, body) {
  const answer = await request(`/api/v1${path}`, {
    method,
    headers: body === undefined ? {} : { "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return unpack(answer);
}

/** @param {Response} answer */
async function unpack(answer) {
  const text = await answer.text();
  /** @type {any} */
  let value = null;
  try {
    value = text === "" ? null : JSON.parse(text);
  } catch {
    // A proxy's page, say: the status says what happened.
  }
  if (answer.ok) return value;
  const message = typeof value?.error === "string" ? value.error : words(answer.status);
  throw new ApiError(answer.status, value?.code ?? "", message, value?.fields ?? {});
}

/** @param {number} status */
function words(status) {
  if (status === 502 || status === 503 || status === 504) return "The server is not there at the moment.";
  if (status === 429) return "Too many requests: wait a moment and try again.";
  return `The server answered with status ${status}.`;
}

export const api = {
  /** @param {string} path */
  get: (path) => call("GET", path),
  /** @param {string} path @param {unknown} [body] */
  post: (path, body) => call("POST", path, body),
  /** @param {string} path @param {unknown} body */
  put: (path, body) => call("PUT", path, body),
  /** @param {string} path @param {unknown} body */
  patch: (path, body) => call("PATCH", path, body),
  /** @param {string} path */
  delete: (path) => call("DELETE", path),
};

/**
 * Calls a tool as this person.
 * @param {string} workspace
 * @param {string} tool
 * @param {Record<string, unknown>} args
 * @param {string} [toolset]
 */
export async function callTool(workspace, tool, args, toolset = "workspace") {
  const answer = await api.post(`/workspaces/${workspace}/tools`, { tool, args, toolset, wait_ms: 0 });
  const refusal = answer?.error ?? answer?.result?.error;
  if (answer?.success !== true || answer.result?.ok === false) throw new ApiError(200, "TOOL", messageOfTool(refusal));
  if (answer.result?.status === "approval_pending") throw new ApiError(200, "PENDING", "The policy asks before this is done: it waits in the inbox.");
  return answer.result;
}

/** @param {unknown} refusal what a tool says is wrong: a text, or an object with one */
function messageOfTool(refusal) {
  const message = typeof refusal === "object" && refusal !== null && "message" in refusal ? refusal.message : refusal;
  return typeof message === "string" ? message : "The tool answered nothing.";
}

/**
 * The items of a list from all of its pages.
 * @param {string} path
 * @param {string} name the field with the items
 * @param {number} [most] how many at most
 * @param {number} [limit] how many in a page
 * @returns {Promise<any[]>}
 */
export async function all(path, name, most = 1_000, limit = 200) {
  const items = [];
  let cursor = "";
  do {
    const page = await api.get(`${path}${path.includes("?") ? "&" : "?"}limit=${limit}${cursor}`);
    items.push(...page[name]);
    cursor = page.next ? `&cursor=${encodeURIComponent(page.next)}` : "";
  } while (cursor !== "" && items.length < most);
  return items;
}

/**
 * Logs in with the cookies that the answer sets.
 * @param {string} email
 * @param {string} password
 */
export async function logIn(email, password) {
  const headers = { "content-type": "application/json" };
  const answer = await send("/api/v1/auth/login", { method: "POST", headers, body: JSON.stringify({ email, password }) });
  return (await unpack(answer)).user;
}

/**
 * Makes an account.
 * @param {{ email: string, password: string, full_name?: string }} account
 */
export async function register(account) {
  const headers = { "content-type": "application/json" };
  return unpack(await send("/api/v1/auth/register", { method: "POST", headers, body: JSON.stringify(account) }));
}

/**
 * Exchanges the one-time code of `toolyard ui` for a login.
 * @param {string} code
 */
export async function useCode(code) {
  const headers = { "content-type": "application/json" };
  return unpack(await send("/api/v1/auth/code", { method: "POST", headers, body: JSON.stringify({ code }) }));
}

/** Ends this login. */
export async function logOut() {
  const headers = { "content-type": "application/json" };
  await send("/api/v1/auth/logout", { method: "POST", headers, body: "{}" });
  localStorage.removeItem(REFRESHED_AT);
  isLoggedIn.value = false;
}
