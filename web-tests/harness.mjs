// What the tests of the page share: a real `toolyard serve` with the page, an agent with a key, and a browser that fails a
// test on any violation of the CSP, any error on the console, and any finding of axe-core.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** How long a test waits for what it expects, in milliseconds: much longer than even a very busy machine needs. */
export const PATIENCE = Number(process.env.PATIENCE ?? 120_000);

/** Whether what depends on the machine's speed is asserted, and what takes minutes is done. */
export const IS_SOAK = process.env.YARD_SOAK === "1";

export const EMAIL = "ada@example.com";
export const PASSWORD = "a long enough password";

/** The screens in which every story is done. axe-core looks at each of them in both themes. */
export const WIDE = { width: 1440, height: 900, theme: "light" };
export const PHONE = { width: 360, height: 740, theme: "dark" };
export const LOOKS = [WIDE, PHONE];

/** Between a phone and a wide screen. */
export const TABLET = { width: 768, height: 1024, theme: "light" };

/** The program that is tested. */
export function binaryToTest() {
  const binary = process.env.TOOLYARD;
  assert.ok(binary, "say with TOOLYARD which binary to test: TOOLYARD=target/debug/toolyard");
  return binary;
}

/** Options with which the program serves the page from `web/` as it is now, so that a change of it needs no build. */
export const FROM_FOLDER = ["--page-files", join(import.meta.dirname, "..", "web")];
/** No options: the program serves the files that are built into it, compressed. */
export const BUILT_IN = [];

/** Starts a server with the page. */
export async function startServer(pageFiles = FROM_FOLDER) {
  const binary = binaryToTest();
  const folder = mkdtempSync(join(tmpdir(), "toolyard-page-"));
  let process_ = await startBinary(binary, folder, 0, pageFiles);
  const api = new Api(process_.url);
  await api.call("POST", "/auth/register", { email: EMAIL, password: PASSWORD, full_name: "Ada Lovelace" });
  await api.logIn(EMAIL, PASSWORD);
  return {
    url: process_.url,
    api,
    /** Ends the server as a crash would. */
    async kill() {
      process_.kill("SIGKILL");
      await process_.ended;
    },
    /** Starts a server that was killed again, at the same address. */
    async startAgain() {
      process_ = await startBinary(binary, folder, Number(new URL(process_.url).port), pageFiles);
    },
    /** The process of the server, by its number. */
    pid: () => process_.pid,
    /** The folder on the disk in which the files of a workspace are. */
    files: (workspace) => join(folder, "data", "workspaces", workspace),
    async close() {
      process_.kill("SIGTERM");
      await process_.ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function startBinary(binary, folder, port, pageFiles) {
  const environment = { ...process.env, TOOLYARD__LOG__LEVEL: "error" };
  const child = spawn(binary, ["serve", "--listen", `127.0.0.1:${port}`, "--data-dir", join(folder, "data"), ...pageFiles], { env: environment, cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  return new Promise((resolve, reject) => {
    let said = "";
    const hear = (piece) => {
      said += piece;
      const url = /listens on (http:\/\/[\d.]+:\d+)/.exec(said)?.[1];
      if (url) resolve({ url, ended, pid: child.pid, kill: (signal) => child.kill(signal) });
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("exit", () => reject(new Error(`toolyard ended: ${said}`)));
  });
}

/** The HTTP API as a person, or as an agent with a key. */
export class Api {
  constructor(url, token = "") {
    this.url = url;
    this.token = token;
  }

  async call(method, path, body) {
    const headers = { ...(this.token && { authorization: `Bearer ${this.token}` }), ...(body !== undefined && { "content-type": "application/json" }) };
    const answer = await fetch(`${this.url}/api/v1${path}`, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    const text = await answer.text();
    return text === "" ? null : JSON.parse(text);
  }

  async logIn(email, password) {
    this.token = (await this.call("POST", "/auth/login", { email, password })).access_token;
  }

  /** Makes a workspace with a chat and an agent in it. */
  async workspace(name, policy = { preset: "guarded", rules: [] }) {
    const id = (await this.call("POST", "/workspaces", { name })).workspace.id;
    await this.call("PUT", `/workspaces/${id}/policy`, policy);
    const key = (await this.call("POST", `/workspaces/${id}/keys`, { name: "Test agent", role: "member", toolsets: ["workspace", "codex"] })).key;
    const chat = (await this.call("POST", `/workspaces/${id}/chats`, { title: "A test run" })).chat.id;
    const agent = new Api(this.url, key);
    const tool = (api, chat_id) => (tool, args, toolset = "workspace") => api.call("POST", `/workspaces/${id}/tools`, { tool, args, toolset, chat_id, wait_ms: 0 });
    return { id, chat, key, agent: tool(agent, chat), person: tool(this), list: (what) => this.call("GET", `/workspaces/${id}/${what}`) };
  }
}

/** A name of somebody else's, which leads to this machine. */
export const REBOUND = "theirs.example";

let browser;
/** The browser, started once. */
async function startBrowser() {
  const flags = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run", `--host-resolver-rules=MAP ${REBOUND} 127.0.0.1`];
  browser ??= await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: flags });
  return browser;
}

/** A browser of somebody who has not been here yet. */
export async function newContext(storageState = undefined) {
  const context = await (await startBrowser()).newContext({ storageState });
  context.setDefaultTimeout(PATIENCE);
  return context;
}

export async function closeBrowser() {
  await browser?.close();
  browser = undefined;
}

/** Answers that are asked for to find out what the server has, and that browsers report as errors. */
const EXPECTED = /\/api\/v1\/(inbox|events|workspaces\/[0-9a-f-]+\/(comments|seen))(\?|$)/;

/**
 * Opens the page, logged in, in one look.
 * @returns the page with `check()`, which fails on anything that was wrong so far, `axe()` and `close()`
 */
export async function openPage(server, look, address = "#/inbox", { isLoggedIn = true, ignore = null, email = EMAIL, password = PASSWORD } = {}) {
  // Colours and places change at once: axe-core would look at what is between two of them.
  const context = await (await startBrowser()).newContext({ viewport: { width: look.width, height: look.height }, colorScheme: look.theme, reducedMotion: "reduce", baseURL: server.url, permissions: ["clipboard-write", "clipboard-read"] });
  context.setDefaultTimeout(PATIENCE);
  const wrong = [];
  // Of every tab of the browser, also those that a test opens itself.
  context.on("page", (tab) => {
    tab.on("pageerror", (error) => wrong.push(`error: ${error.stack}`));
    tab.on("console", (message) => {
      const from = message.location().url;
      const isExpected = EXPECTED.test(from) || (!isLoggedIn && /\/api\/v1\/auth\//.test(from)) || (ignore && ignore.test(`${from} ${message.text()}`));
      if (message.type() === "error" && !isExpected) wrong.push(`console: ${message.text()} (${from})`);
    });
    tab.on("dialog", (dialog) => (wrong.push(`a dialog of the browser: ${dialog.message()}`), dialog.dismiss()));
  });
  await context.exposeFunction("reportViolation", (text) => wrong.push(`CSP: ${text}`));
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      if (!window.isAxeRunning) window.reportViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sample} ${event.sourceFile}:${event.lineNumber}`);
    });
  });
  const logIn = async () => assert.ok((await context.request.post("/api/v1/auth/login", { data: { email, password } })).ok(), `${email} can log in`);
  const [page] = await Promise.all([context.newPage(), isLoggedIn && logIn()]);
  await page.goto(`/${address}`);

  return Object.assign(page, {
    look,
    isPhone: look.width < 900,
    /** Fails on what was wrong since the page was opened, and if the page is wider than the screen. */
    async check() {
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `the page is ${wide} px wider than the screen`);
      assert.deepEqual(wrong, []);
      const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
      assert.ok(nodes <= 2_000, `the page has ${nodes} nodes`);
    },
    /** Fails on what axe-core finds in the light and in the dark theme. */
    async axe(where) {
      const other = look.theme === "light" ? "dark" : "light";
      await this.axeIn(look.theme, where);
      await page.emulateMedia({ colorScheme: other });
      await this.axeIn(other, where);
      await page.emulateMedia({ colorScheme: look.theme });
    },
    /** Fails on what axe-core finds in the theme that is shown. */
    async axeIn(theme, where) {
      await page.evaluate(() => (window.isAxeRunning = true));
      if (!(await page.evaluate(() => Boolean(window.axe)))) await page.evaluate(axeSource);
      // The other theme has other colours and nothing else.
      const rules = theme === look.theme ? ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] : ["color-contrast"];
      const found = await page.evaluate(async (runOnly) => {
        const { violations } = await window.axe.run(document, { runOnly, resultTypes: ["violations"] });
        return violations.map((one) => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} [${node.any[0]?.message ?? ""}]`).join(" | ")}`);
      }, rules);
      await page.evaluate(() => (window.isAxeRunning = false));
      assert.deepEqual(found, [], `axe-core at ${where}`);
      await this.shot(where, theme);
    },
    /** Keeps a picture of the screen, if SHOTS names a folder. */
    async shot(where, theme = look.theme) {
      if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${where}-${look.width}-${theme}.png`) });
    },
    /**
     * Scrolls a list to its end, a piece with each frame, and says how many nodes there were at most and how long 95 % of the
     * frames took. With YARD_SOAK=1 that is at most 50 ms.
     */
    async scrolls(list, by, last) {
      const seen = await page.evaluate(scrollThrough, { list, by, last, patience: PATIENCE });
      console.log(`# ${seen.frames} frames, 95 % of them within ${Math.round(seen.slow)} ms, at most ${seen.most} nodes, ${seen.height} px`);
      if (IS_SOAK) assert.ok(seen.slow < 50, `95 % of the frames took up to ${seen.slow} ms`);
      return seen;
    },
    /** What was wrong in any tab so far. */
    wrong,
    leave: () => context.close(),
  });
}

/** Runs in the page: see `scrolls`. */
async function scrollThrough({ list, by, last, patience }) {
  const box = document.querySelector(list);
  const frames = [];
  let most = 0;
  let isAtEnd = false;
  // As far as the list goes, unless it goes no further for a long time.
  let moved = performance.now();
  while (!isAtEnd && performance.now() - moved < patience) {
    const begin = performance.now();
    const [top, height] = [box.scrollTop, box.scrollHeight];
    box.scrollTop += by;
    await new Promise((resolve) => requestAnimationFrame(resolve));
    // Frames in which the list only waits for the server's next page are quick, and say nothing.
    if (box.scrollTop !== top || box.scrollHeight !== height) {
      moved = performance.now();
      frames.push(moved - begin);
    }
    most = Math.max(most, document.querySelectorAll("*").length);
    isAtEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 1 && box.textContent.includes(last);
  }
  frames.sort((a, b) => a - b);
  return { most, isAtEnd, frames: frames.length, slow: frames[Math.floor(frames.length * 0.95)], height: box.scrollHeight };
}

/** How long the fixed work takes on the quiet machine that the bounds are for, in milliseconds. */
const WORK = 20;

/** Runs in the page: how long a fixed piece of work takes, in milliseconds. */
function fixedWork() {
  const begin = performance.now();
  const lines = Array.from({ length: 40_000 }, (_, i) => `line ${i}: ${(i * 7_919) % 1_000}`).sort();
  window.workDone = lines.reduce((sum, line) => sum + line.indexOf("9"), 0);
  return performance.now() - begin;
}

/** Measures how many times as long this machine takes for things as a quiet one, by what each round of work takes. */
export function slowness() {
  const works = [];
  return {
    async measure(page) {
      for (let i = 0; i < 3; i++) works.push(await page.evaluate(fixedWork));
    },
    factor: () => Math.max(1, median(works) / WORK),
  };
}

/** Does something for each number below `count`, with so many workers at a time, each with every so many-th of the numbers. */
export async function inParallel(count, workers, work) {
  const worker = async (first) => {
    for (let i = first; i < count; i += workers) await work(i, first);
  };
  await Promise.all(Array.from({ length: workers }, (_, first) => worker(first)));
}

/** The middle one of numbers. */
export const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** Waits until something is true. */
export async function until(what, test, timeout = PATIENCE) {
  const end = Date.now() + timeout;
  for (;;) {
    const value = await test();
    if (value) return value;
    if (Date.now() > end) throw new Error(`it did not happen in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
