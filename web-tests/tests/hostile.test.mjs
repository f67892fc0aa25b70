// Names, contents, diffs, chats, questions, rules, terminals, addresses and errors that want to run as code, to hide
// something or to break the layout (payloads.mjs) are shown as text, in every place where the page shows them.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Api, closeBrowser, LOOKS, openPage, PATIENCE, PHONE, startServer, until, WIDE } from "../harness.mjs";
import { GROUPS, PAYLOADS } from "../payloads.mjs";
import { visible, visibleLine } from "../../web/parts/text.js";

/** Turns of a chat that are shown at once are at most 80: a message and a call for each payload. */
const IN_A_CHAT = 38;

const withoutNul = (texts) => texts.filter((text) => !text.includes("\u0000"));
/** What a file can hold and still be a text. */
const TEXTS = withoutNul(PAYLOADS);

let server, place;
before(async () => {
  server = await startServer();
  place = await fill();
});
after(async () => {
  await closeBrowser();
  await server.close();
});

/** The payload as a name of one line, of at most so many characters. */
const lineOf = (payload, most = 200) => [...payload.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, " ").trim()].slice(0, most).join("") || "x";

/** The payload as a name of a file: everything but what no name can have. */
function fileName(payload) {
  let name = payload.replaceAll("/", "\u2215").replaceAll("\u0000", "\u2400");
  while (Buffer.byteLength(name) > 200) name = [...name].slice(0, -5).join("");
  return /^\.{0,2}$/.test(name) || name.trim() === "" ? `x${name}x` : name;
}

/** Puts every payload into files, contents, calls, messages, titles, keys, rules, questions and requests of one workspace. */
async function fill() {
  const workspace = await server.api.workspace(`<img src=x onerror=alert(1)> ${"W".repeat(150)}`, { preset: "open", rules: [] });
  const base = `/workspaces/${workspace.id}`;
  const call = (api, chat_id, tool, args, toolset = "workspace") => api.call("POST", `${base}/tools`, { tool, args, toolset, chat_id, wait_ms: 0 });
  const names = [];
  /** Some payloads, in a chat of their own. */
  const fillChat = async (payloads, from) => {
    let chat;
    for (const [i, payload] of payloads.entries()) {
      const made = (await server.api.call("POST", `${base}/chats`, { title: lineOf(payload) })).chat.id;
      chat ??= made;
      const key = (await server.api.call("POST", `${base}/keys`, { name: lineOf(payload), role: "member", toolsets: ["workspace"] })).key;
      const agent = new Api(server.api.url, key);
      const name = fileName(payload);
      const written = await call(agent, chat, "write", { path: `/h/${name}`, content: `${payload}\n` });
      assert.ok(written.success, `${JSON.stringify(name)}: ${JSON.stringify(written)}`);
      names[from + i] = name;
      await server.api.call("POST", `${base}/chats/${chat}/messages`, { role: "user", content: payload });
    }
    return chat;
  };
  const chats = await Promise.all(Array.from({ length: Math.ceil(PAYLOADS.length / IN_A_CHAT) }, (_, i) => fillChat(PAYLOADS.slice(i * IN_A_CHAT, (i + 1) * IN_A_CHAT), i * IN_A_CHAT)));
  const all = TEXTS.join("\n");
  await workspace.agent("write", { path: "/all.txt", content: `${all}\n` });
  await workspace.agent("write", { path: "/all.txt", content: `${TEXTS.map((payload) => `${payload}!`).join("\n")}\n`, overwrite: true });
  for (let i = 0; i < PAYLOADS.length; i += 16) {
    const questions = [0, 4, 8, 12].map((n) => PAYLOADS.slice(i + n, i + n + 4)).filter((texts) => texts.length > 0).map((texts, n) => ({
      name: n === 0 ? "__proto__" : n === 1 ? "constructor" : `q${n}`, question: `${texts.join("\n")}\n?`, schema: { type: "string", enum: [...texts, "no"], description: texts[0] },
    }));
    const asked = await workspace.agent("ask_user", { questions });
    assert.ok(asked.success, JSON.stringify(asked).slice(0, 400));
  }
  const pattern = (payload) => fileName(lineOf(payload)).replace(/[[\]{}*?\\!]/g, "_");
  const rule = (payload) => ({ effect: "change", path: pattern(payload), tool: pattern(payload), then: "allow", why: payload.slice(0, 500) });
  const rules = [{ effect: "change", path: "**", then: "ask", why: all.slice(0, 900) }, ...PAYLOADS.map(rule)];
  const saved = await server.api.call("PUT", `${base}/policy`, { preset: "open", rules });
  assert.ok(saved.rules, JSON.stringify(saved).slice(0, 400));
  // One request whose diff has every payload, as the name and as the content of a file. Without a box there is none.
  const removal = await workspace.agent("shell", { command: "rm -r h", workdir: null, timeout_ms: 30_000 }, "codex");
  for (const group of GROUPS) await workspace.agent("write", { path: `/new/${fileName(group.texts.at(-1))}`, content: withoutNul(group.texts).join("\n") });
  const approvals = (await workspace.list("approvals?limit=200")).approvals;
  const questions = (await workspace.list("questions?limit=200")).questions;
  const removes = approvals.find((approval) => approval.id === removal.result?.approval_id);
  assert.equal(approvals.length, GROUPS.length + (removes ? 1 : 0));
  return { workspace, base, chats, names, approvals, questions, removes };
}

/** Runs in the page: reads all of a screen, scrolling through it, and finds what is wrong with it. */
async function readScreen(patience) {
  const frame = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  const wrong = new Set();
  const pieces = [];
  const checked = new WeakSet();
  const read = new WeakSet();
  const scrollers = () => [...document.querySelectorAll("#content, .split-list, .split-detail, .dialog-scroll, .side-list")];
  const allowed = new Set("A ARTICLE BUTTON CAPTION CODE DD DIALOG DIV DL DT EM FIELDSET FORM H1 H2 H3 HEADER INPUT KBD LABEL LEGEND LI MAIN MARK NAV OL OPTION P PATH PRE Q RECT S SECTION SELECT SMALL SPAN STRONG SUMMARY DETAILS SVG TABLE TBODY TD TEXTAREA TH THEAD TIME TR UL".split(" "));
  // Line breaks and tabs are all right in a text.
  const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;
  /** What is the innermost of the elements that reach farthest to the right. */
  const widest = (box) => {
    const right = (element) => element.getBoundingClientRect().right;
    const found = [...box.querySelectorAll("*")].filter((element) => !element.closest(".diff, .text-view, pre, .ellipsis")).sort((a, b) => right(a) - right(b)).at(-1);
    return `${found?.tagName} ${found?.className} ${found?.textContent.slice(0, 60)}`;
  };
  const look = () => {
    const wide = document.documentElement.scrollWidth - innerWidth;
    if (wide > 0) wrong.add(`the page is ${wide} px wider than the screen`);
    for (const box of scrollers()) if (box.scrollWidth > box.clientWidth + 1) wrong.add(`.${box.className || box.id} is ${box.scrollWidth - box.clientWidth} px too wide: ${widest(box)}`);
    for (const row of document.querySelectorAll(".virtual > div")) {
      const child = row.firstElementChild;
      if (child && child.getBoundingClientRect().height > row.getBoundingClientRect().height + 1) wrong.add(`a row is too high: ${child.className} ${child.textContent.slice(0, 60)}`);
    }
    const frameBox = document.querySelector(innerWidth < 900 ? ".bottom-bar" : ".sidebar").getBoundingClientRect();
    if (innerWidth < 900 ? Math.abs(frameBox.bottom - innerHeight) > 1 || frameBox.width !== innerWidth : frameBox.width !== 248 || frameBox.height !== innerHeight) wrong.add("the frame of the page is broken");
    const decide = document.querySelector(".decide")?.getBoundingClientRect();
    if (decide && (decide.right > innerWidth + 1 || decide.height > innerHeight / 2)) wrong.add("the buttons of the decision are pushed away");
    for (const element of document.querySelectorAll("#page *")) {
      if (checked.has(element)) continue;
      checked.add(element);
      if (!allowed.has(element.tagName.toUpperCase())) wrong.add(`an element <${element.tagName}>`);
      for (const { name, value } of element.attributes) {
        if (name.startsWith("on")) wrong.add(`an attribute ${name}`);
        if (name === "href" && !/^(#|\/api\/v1\/workspaces\/[0-9a-f-]+\/(files\/[0-9a-f-]+\/content$|steps\/[0-9a-f-]+\/content\?path=[^&=?#]*$))/.test(value)) wrong.add(`a link to ${value}`);
        if (name === "src" || name === "srcdoc" || name === "action" || name === "formaction") wrong.add(`an attribute ${name}`);
        if (name !== "href" && name !== "value" && hidden.test(value)) wrong.add(`hidden characters in ${name}`);
      }
    }
    // All of the screen at first, then the rows that were scrolled to.
    const fresh = pieces.length === 0 ? [document.getElementById("page")] : [...document.querySelectorAll(".virtual > div")].filter((row) => !read.has(row));
    for (const part of fresh) {
      if (hidden.test(part.textContent)) wrong.add(`hidden characters in a text: ${JSON.stringify(hidden.exec(part.textContent))}`);
      pieces.push(part.textContent);
    }
    for (const row of document.querySelectorAll(".virtual > div")) read.add(row);
  };
  await frame();
  look();
  // What is not in the page before it is scrolled to is in lists that draw only what is on the screen.
  for (const box of scrollers().filter((one) => one.querySelector(".virtual"))) {
    for (let top = 0; top < box.scrollHeight - box.clientHeight; ) {
      top += Math.max(200, box.clientHeight * 0.9);
      box.scrollTop = top;
      await frame();
      // Older entries of a list are read when its end is reached.
      for (const end = performance.now() + patience; performance.now() < end && /Reading older steps/.test(box.textContent); ) await new Promise((resolve) => setTimeout(resolve, 20));
      look();
    }
    box.scrollTop = 0;
  }
  if (self.hacked !== undefined || {}.polluted !== undefined || Object.keys(Object.prototype).length > 0) wrong.add("something ran");
  if (!/^(\(\d+\) )?Toolyard$/.test(document.title)) wrong.add(`the title is ${document.title}`);
  return { wrong: [...wrong], text: pieces.join("\n") };
}

const squeezed = (text) => text.replace(/\s+/g, "");

/** Opens the page, with whatever must not happen noted. */
async function open(look, address) {
  const page = await openPage(server, look, address, { ignore: /status of 40\d/ });
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol !== "data:" && url.origin !== server.url) page.wrong.push(`a request to ${url.href}`);
  });
  page.on("popup", (popup) => page.wrong.push(`a window with ${popup.url()}`));
  page.on("download", (download) => page.wrong.push(`a download of ${download.url()}`));
  /** Reads the screen that is shown, until each of these texts is on it. */
  page.reads = async (where, texts = []) => {
    const end = Date.now() + PATIENCE;
    for (;;) {
      const { wrong, text } = await page.evaluate(readScreen, PATIENCE);
      assert.deepEqual(wrong, [], `at ${where}, ${look.width} px`);
      assert.deepEqual(page.wrong, [], `at ${where}, ${look.width} px`);
      assert.equal(new URL(page.url()).origin, server.url);
      const shown = squeezed(text);
      const missing = texts.map((one) => squeezed(one).slice(0, 120)).filter((one) => !shown.includes(one));
      if (missing.length === 0) return;
      assert.ok(Date.now() < end, `${missing.length} texts are not readable at ${where}, ${look.width} px: ${missing.slice(0, 5).join(" | ")}`);
    }
  };
  page.shows = async (to) => {
    await page.evaluate(async (hash) => {
      const before = location.href;
      const changed = new Promise((resolve) => addEventListener("hashchange", resolve, { once: true }));
      location.hash = hash;
      if (location.href !== before) await changed;
      // The screen is drawn, and begins to read what it shows.
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }, to);
    await page.waitForFunction(() => !document.querySelector(".loading"));
  };
  return page;
}

/** The lines of texts as the page shows them. */
const linesOf = (texts) => texts.flatMap((text) => visible(text).split("\n"));

for (const look of LOOKS) {
  const name = `${look.width} px, ${look.theme}`;

  test(`in lists, files, diffs, rules and keys (${name})`, async () => {
    const { workspace, names, removes, approvals } = place;
    const page = await open(look, "#/inbox");
    const at = (...parts) => `#/w/${workspace.id}/${parts.map(encodeURIComponent).join("/")}`;
    const shownNames = names.map((one) => visibleLine(one).slice(0, 60));
    await page.shows(at("timeline"));
    await page.reads("the timeline", shownNames.map((one) => one.slice(0, 30)));
    if (look === PHONE) {
      const first = (await workspace.list("steps?limit=1000")).steps.at(-1).id;
      await page.shows(at("timeline", first, "back-to"));
      await page.getByRole("dialog").getByRole("checkbox").first().waitFor();
      await page.reads("the preview of going back", shownNames.slice(1));
    }
    await page.shows(at("chats"));
    await page.reads("the chats");
    await page.shows(at("files"));
    await page.getByRole("button", { name: "h", exact: true }).click();
    await page.waitForFunction(() => document.querySelectorAll(".tree a").length > 5);
    await page.reads("the tree", shownNames);
    await page.shows(at("files", "all.txt"));
    await page.getByRole("region", { name: "Text of the file" }).waitFor();
    await page.reads("a file", linesOf(TEXTS));
    await page.getByRole("button", { name: "History" }).click();
    await page.getByRole("region", { name: "What this version changed" }).waitFor();
    await page.reads("the history of a file");
    await page.shows(at("settings"));
    await page.getByText("Policy", { exact: true }).waitFor();
    await page.locator("td").first().waitFor();
    await page.reads("the settings", [...PAYLOADS.map((text) => visibleLine(text.slice(0, 500))), ...PAYLOADS.map((text) => visibleLine(lineOf(text)))]);
    // The screen of a phone is where a layout breaks first; on a wide one two requests are enough.
    for (const approval of look === WIDE ? approvals.slice(0, 2) : approvals) {
      await page.shows(`#/inbox/${workspace.id}/approval/${approval.id}`);
      await page.locator(".decide").waitFor();
      const texts = approval === removes ? [...shownNames, ...linesOf(TEXTS)] : linesOf([approval.args?.content ?? ""]);
      await page.reads(`the request ${approval.args?.path ?? "to remove all"}`, texts);
    }
    await page.leave();
  });

  test(`in chats and questions (${name})`, async () => {
    const { workspace, chats, questions } = place;
    const page = await open(look, "#/inbox");
    for (const [i, chat] of chats.entries()) {
      if (look === WIDE && i > 1) continue;
      await page.shows(`#/w/${workspace.id}/chats/${chat}`);
      await page.locator(".turn").first().waitFor();
      // All calls of one chat are opened: their arguments, answers and diffs.
      if (i === (look === WIDE ? 0 : 4)) await page.evaluate(() => document.querySelectorAll(".call-head").forEach((head) => head.click()));
      await page.waitForFunction(() => !document.querySelector(".loading"));
      await page.reads(`chat ${i}`, linesOf(PAYLOADS.slice(i * IN_A_CHAT, (i + 1) * IN_A_CHAT)));
    }
    for (const question of look === WIDE ? questions.slice(0, 4) : questions) {
      await page.shows(`#/inbox/${workspace.id}/question/${question.id}`);
      await page.getByRole("button", { name: "Send the answer" }).waitFor();
      await page.reads(`question ${question.id}`, linesOf(question.questions.map((item) => item.question)));
    }
    await page.shows("#/inbox");
    await page.reads("the inbox", questions.map((question) => visible(question.questions[0].question).slice(0, 30)));
    await page.leave();
  });
}

test("in files at an earlier time, where lines come from, comparisons and filters", async () => {
  const { workspace, names } = place;
  const page = await open(PHONE, "#/inbox");
  const shownNames = names.map((one) => visibleLine(one).slice(0, 60));
  const steps = (await workspace.list("steps?limit=1000")).steps;
  await page.shows(`#/w/${workspace.id}/files?at=${steps[0].id}`);
  await page.getByRole("button", { name: "h", exact: true }).click();
  await page.waitForFunction(() => document.querySelectorAll(".tree a").length > 5);
  await page.reads("the tree at an earlier time", shownNames);
  await page.shows(`#/w/${workspace.id}/files/all.txt?at=${steps[0].id}`);
  await page.getByRole("region", { name: "Text of the file at this moment" }).waitFor();
  await page.reads("a file at an earlier time");
  await page.shows(`#/w/${workspace.id}/files/all.txt`);
  await page.getByRole("button", { name: "Who wrote it" }).click();
  await page.getByRole("region", { name: "Text of the file, and where each line comes from" }).waitFor();
  await page.reads("where the lines come from");
  await page.shows(`#/w/${workspace.id}/timeline/compare/${steps.at(-1).id}/${steps[0].id}`);
  await page.getByRole("region", { name: "What is different" }).waitFor();
  await page.reads("a comparison", shownNames.slice(1));
  for (const text of PAYLOADS.filter((_, i) => i % 10 === 0)) {
    await page.shows(`#/w/${workspace.id}/timeline?path=${encodeURIComponent(lineOf(text).toWellFormed())}&actor=${encodeURIComponent(text.slice(0, 100).toWellFormed())}`);
    await page.reads("a filter");
  }
  await page.leave();
});

test("in names of workspaces and people, and in what the server says", async () => {
  const page = await open(PHONE, "#/settings");
  const [{ workspace }, words] = [place, { name: "" }];
  // What no server would take is refused before it gets to a page: here the answers have it all the same.
  await page.route(/\/api\/v1\/workspaces\?/, async (route) => {
    const answer = await (await route.fetch()).json();
    const [own] = answer.workspaces.filter((one) => one.id === workspace.id);
    await route.fulfill({ json: { ...answer, workspaces: [own, ...PAYLOADS.map((name, i) => ({ ...own, id: `00000000-0000-7000-8000-${String(i).padStart(12, "0")}`, name, role: i % 2 ? "member" : "<b>owner</b>" }))] } });
  });
  await page.route(/\/members\?/, async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({ json: { ...answer, members: PAYLOADS.map((name, i) => ({ ...answer.members[0], user_id: `00000000-0000-7000-8000-${String(i).padStart(12, "0")}`, full_name: name, email: `${name}@evil.invalid` })) } });
  });
  await page.route(/\/keys\?/, (route) => route.fulfill({ json: { keys: [], next: null } }));
  await page.reload();
  await page.getByRole("heading", { name: "You", exact: true }).waitFor();
  await page.shows("#/workspaces");
  await page.getByText("constructor", { exact: true }).first().waitFor();
  await page.reads("the workspaces", PAYLOADS.map(visibleLine));
  await page.shows(`#/w/${workspace.id}/settings`);
  await page.getByText("__proto__@evil.invalid").first().waitFor();
  await page.reads("the people", PAYLOADS.map(visibleLine));
  // Errors, with the texts in them, as a message at the edge and on a whole screen.
  await page.route(/\/messages$/, (route) => route.fulfill({ status: 400, json: { success: false, error: words.name, code: words.name, fields: { [words.name]: words.name } } }));
  await page.route(/\/terminals$/, (route) => route.fulfill({ status: 400, json: { success: false, error: words.name } }));
  await page.shows(`#/w/${workspace.id}/chats/${workspace.chat}`);
  for (let i = 0; i < GROUPS.length; i += 6) {
    const texts = GROUPS.slice(i, i + 6).flatMap((group) => group.texts);
    words.name = texts.join("\n");
    await page.getByLabel("A message to the chat").fill("x");
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator(".toast").first().waitFor();
    await page.reads("a message at the edge", linesOf(texts));
    await page.getByRole("button", { name: "Dismiss" }).click();
    await page.locator(".toast").waitFor({ state: "detached" });
  }
  words.name = PAYLOADS.join("\n");
  await page.shows(`#/w/${workspace.id}/terminals`);
  await page.getByText("That did not work").waitFor();
  await page.reads("a problem", linesOf(PAYLOADS));
  await page.leave();
});

test("in addresses", async () => {
  const workspace = await server.api.workspace("Addresses");
  const page = await open(WIDE, "#/settings");
  const formsOf = (payload) => [
    `#${payload}`, `#/${payload}`, `#/w/${payload}/timeline`, `#/w/${workspace.id}/${payload}`, `#/w/${workspace.id}/timeline/${payload}`, `#/w/${workspace.id}/files/${payload}`,
    `#/inbox/${payload}/approval/${payload}`, `#/w/${workspace.id}/timeline/${encodeURIComponent(payload.slice(0, 300).toWellFormed())}/undo`,
  ];
  const addresses = PAYLOADS.map((payload, i) => formsOf(payload)[i % 8]);
  for (let i = 0; i < addresses.length; i += 40) {
    await page.evaluate(async (hashes) => {
      for (const hash of hashes) {
        location.hash = hash;
        await new Promise((resolve) => setTimeout(resolve, 4));
      }
    }, addresses.slice(i, i + 40));
    await page.reads(`the address ${JSON.stringify(addresses.at(i + 39) ?? addresses.at(-1)).slice(0, 60)}`);
  }
  // A code in the address is tried once, and gone from it.
  await page.goto(`/#code=${encodeURIComponent(PAYLOADS[0])}&to=${encodeURIComponent("//evil.invalid/")}`);
  await page.reload();
  await until("the page has loaded", () => page.evaluate(() => document.querySelector("#page").textContent.length > 20));
  assert.ok(!page.url().includes("code="), page.url());
  assert.equal(new URL(page.url()).origin, server.url);
  assert.deepEqual(page.wrong, []);
  await page.leave();
});

test("on the screens of terminals", async (context) => {
  const workspace = await server.api.workspace("Terminals", { preset: "open", rules: [] });
  const batches = Array.from({ length: Math.ceil(TEXTS.length / 20) }, (_, i) => TEXTS.slice(i * 20, (i + 1) * 20).map((text) => text.slice(0, 400)).join("\r\n"));
  for (const [i, batch] of batches.entries()) await workspace.person("write", { path: `/screens/${i}`, content: `${batch}\r\n` });
  const command = "while read n; do printf '\\033c'; cat screens/$n; printf '\\nend-%s\\n' $n; done";
  const opened = await workspace.agent("exec_command", { session_id: "<b>hostile</b>", cmd: command, workdir: null }, "codex");
  if (!opened.success) return context.skip("no box on this machine");
  const [terminal] = (await workspace.list("terminals")).terminals;
  const page = await open(PHONE, `#/w/${workspace.id}/terminals/${terminal.id}`);
  for (const i of batches.keys()) {
    await page.getByLabel("Type into the terminal").fill(String(i));
    await page.keyboard.press("Enter");
    await until(`batch ${i} is on the screen`, () => page.evaluate((end) => document.querySelector(".screen")?.textContent.includes(end), `end-${i}`));
    await page.reads(`batch ${i} of the terminal`);
  }
  await page.leave();
});

test("an answer of another form than expected breaks its own screen at most", async () => {
  const { workspace, approvals } = place;
  const page = await openPage(server, WIDE, "#/settings", { ignore: /TypeError|status of 40\d/ });
  const forms = [5, [], "text", { approval: 1 }, { effect: { paths: 5 }, args: [], state_hash: "x", status: {}, diff: {} }, { args: { command: [{ toString: 1 }] }, diff: 7, reason: { toString: null }, asked_by: {}, status: "pending", state_hash: "x" }];
  let form;
  await page.route(/\/approvals\/[^/?]+$/, (route) => route.fulfill({ json: form }));
  for (form of forms) {
    await page.evaluate(() => (location.hash = "#/settings"));
    await page.getByRole("heading", { name: "You", exact: true }).waitFor();
    await page.evaluate((hash) => (location.hash = hash), `#/inbox/${workspace.id}/approval/${approvals[0].id}`);
    await page.locator(".problem, .request").first().waitFor();
  }
  await page.evaluate(() => (location.hash = "#/workspaces"));
  await page.getByRole("heading", { name: "Workspaces" }).waitFor();
  await page.leave();
});
