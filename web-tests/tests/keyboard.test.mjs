// Every story with the keyboard alone. Whatever would use the pointer, or would put a value or the focus into the page from
// outside, throws here; so does an event of a pointer in the page itself.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { closeBrowser, openPage, startServer, until, WIDE } from "../harness.mjs";

let server;
before(async () => (server = await startServer()));
after(async () => {
  await closeBrowser();
  await server.close();
});

const OPEN = { preset: "open", rules: [] };
const FORBIDDEN = [
  "check", "clear", "click", "dblclick", "dispatchEvent", "dragTo", "dragAndDrop", "fill", "focus", "hover", "press", "pressSequentially",
  "selectOption", "selectText", "setChecked", "setInputFiles", "tap", "type", "uncheck",
];

/** Throws on whatever a person without a pointer cannot do. */
function forbidPointer(page) {
  const refuse = (object, names) => {
    for (const name of names) if (object[name]) object[name] = () => assert.fail(`${name}: this test has a keyboard only`);
  };
  refuse(Object.getPrototypeOf(page.locator("body")), FORBIDDEN);
  refuse(page, FORBIDDEN.filter((name) => name !== "check"));
  refuse(page.mouse, ["click", "dblclick", "down", "up", "move", "wheel"]);
  refuse(page.touchscreen, ["tap"]);
}

/** Opens the page for somebody who has a keyboard only. */
async function open(address, options) {
  const page = await openPage(server, WIDE, address, options);
  forbidPointer(page);
  await page.evaluate(() => addEventListener("pointerdown", () => window.reportViolation("a pointer was used"), { capture: true }));
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const has = (wanted) => wanted.and(page.locator(":focus")).count();
  return Object.assign(page, {
    keys: press,
    /** Presses Tab until something has the focus. */
    async tabTo(wanted, key = "Tab") {
      for (let i = 0; i < 150; i++) {
        if (await has(wanted)) return;
        await press(key);
      }
      const at = await page.evaluate(() => document.activeElement.outerHTML.slice(0, 200));
      assert.fail(`the keyboard does not get to ${wanted}; it is at ${at}`);
    },
    /** Presses Tab until a button, a link or a box has the focus, and uses it. */
    async use(role, name, key = "Enter") {
      await this.tabTo(page.getByRole(role, { name, exact: typeof name === "string" }));
      await press(key);
    },
    has,
  });
}

const approvals = async (workspace) => (await workspace.list("approvals?limit=50")).approvals;
const policy = (workspace, changed) => server.api.call("PUT", `/workspaces/${workspace.id}/policy`, changed);
/** The text of a file, or "" if there is none. */
const text = async (workspace, path) => (await workspace.person("read", { path })).result?.content ?? "";
const steps = async (workspace) => (await workspace.list("steps")).steps;

/** Requests to write as many files, with what was there before. */
async function asking(name, files) {
  const workspace = await server.api.workspace(name, OPEN);
  await workspace.person("write", { path: "/config/first.txt", content: "first\n" });
  await policy(workspace, { rules: [{ effect: "change", path: "config/**", then: "ask", why: "People look at configuration first." }] });
  for (const file of files) await workspace.agent("write", { path: `/config/${file}`, content: `${file}\n` });
  return workspace;
}

/** Goes through the inbox, down and then up, until a request is shown that is about something. */
async function find(page, target) {
  const title = page.locator(".split-detail :is(.request-title, .question-form)", { hasText: target });
  for (const key of [..."j".repeat(30), ..."k".repeat(30)]) {
    // What the address names is chosen in the list and shown beside it.
    await until("the chosen request is shown", () => page.evaluate(() => {
      const chosen = document.querySelector(".inbox-row[aria-current]");
      return chosen?.getAttribute("href") === location.hash && document.querySelector(".split-detail .request-title") !== null;
    }));
    if (await title.count()) return;
    await page.keys(key);
  }
  await title.waitFor();
}

test("requests are denied with a word, approved, put off, brought back, and decided together", async () => {
  const workspace = await asking("Inbox", ["deny.txt", "approve.txt", "later.txt", "one.txt", "two.txt", "three.txt"]);
  const status = async (path) => (await approvals(workspace)).find((one) => one.args.path === `/config/${path}`);
  const page = await open("#/inbox");
  await find(page, "deny.txt");
  await page.keys("n");
  await page.keyboard.type("Ask Grace first.");
  await page.keys("Enter");
  await until("it is denied", async () => (await status("deny.txt")).status === "denied");
  assert.equal((await status("deny.txt")).decision_reason, "Ask Grace first.");
  await find(page, "approve.txt");
  await page.locator("button[aria-keyshortcuts=y]").waitFor();
  await page.keys("y");
  await until("it is approved", async () => (await status("approve.txt")).status === "executed");
  await find(page, "later.txt");
  await page.keys("l");
  await page.getByRole("menu").waitFor();
  await page.keys("ArrowDown", "Enter");
  await page.getByText("It comes back").waitFor();
  await page.keys("L");
  await page.getByRole("list", { name: "What you put off" }).getByText("/config/later.txt").first().waitFor();
  await find(page, "later.txt");
  await page.keys("l");
  await page.getByRole("menuitem", { name: "Back into the inbox" }).waitFor();
  await page.keys("Enter");
  await page.getByText("It is in the inbox again.").waitFor();
  await page.keys("i");
  await find(page, "one.txt");
  // The one that is shown, and the next; then all but that next one.
  await page.keys("s");
  await page.getByText("1 selected").waitFor();
  await find(page, "two.txt");
  await page.keys("s");
  await page.getByText("2 selected").waitFor();
  await page.keys("Y");
  await page.getByRole("dialog", { name: "Approve 2 requests?" }).waitFor();
  await until("the button has the focus", () => page.has(page.getByRole("button", { name: "Approve 2" })));
  await page.keys("Enter");
  await page.getByText("Approved: 2 requests.").waitFor();
  // The rest is denied together, with a word.
  await page.use("button", "Select several requests");
  await page.use("button", "All");
  await page.use("button", "Deny");
  await page.getByRole("dialog", { name: "Deny 2 requests?" }).waitFor();
  await page.keyboard.type("Not today.");
  await page.keys("Enter");
  await page.getByText("Denied: 2 requests.").waitFor();
  assert.deepEqual((await approvals(workspace)).map((one) => one.status).sort(), ["denied", "denied", "denied", "executed", "executed", "executed"]);
  await page.check();
  await page.leave();
});

test("a rule is seen and allowed, from a request", async () => {
  const workspace = await asking("Always", ["always.txt", "chat.txt"]);
  const page = await open("#/inbox");
  await find(page, "always.txt");
  await page.use("button", "Always");
  await page.getByRole("dialog", { name: "Always allow this?" }).getByRole("region", { name: /The rule/ }).waitFor();
  await until("the button has the focus", () => page.has(page.getByRole("button", { name: "Allow it always" })));
  await page.keys("Enter");
  await until("the rule is saved", async () => (await workspace.list("policy")).saved.length === 1);
  await find(page, "chat.txt");
  await page.use("button", "For this chat");
  await until("the button has the focus", () => page.has(page.getByRole("button", { name: "Allow it in this chat" })));
  await page.keys("Enter");
  await until("both are done", async () => (await approvals(workspace)).every((one) => one.status === "executed"));
  await page.check();
  await page.leave();
});

test("a file and a change are left out of a request, with a word", async () => {
  const workspace = await server.api.workspace("Part", OPEN);
  await workspace.person("write", { path: "/config/long.txt", content: Array.from({ length: 40 }, (_, i) => `line ${i + 1}`).join("\n") + "\n" });
  await workspace.person("write", { path: "/config/site.toml", content: "port = 8080\n" });
  await policy(workspace, { rules: [{ effect: "change", path: "config/**", then: "ask" }] });
  const patch = "*** Begin Patch\n*** Update File: config/long.txt\n@@\n-line 2\n+line two\n@@\n-line 38\n+line thirty-eight\n*** Update File: config/site.toml\n@@\n-port = 8080\n+port = 9090\n*** End Patch\n";
  await workspace.agent("apply_patch_json", { patch }, "codex");
  const page = await open("#/inbox");
  await find(page, /long\.txt|site\.toml/);
  // Into the diff: from change to change, and off with the second one and with the second file.
  await page.keys("d", "]", "]", "x");
  await page.getByRole("button", { name: /^Approve 2 of 3 changes/ }).waitFor();
  await page.keys("]", "x");
  await page.getByRole("button", { name: /^Approve 1 of 3 changes/ }).waitFor();
  await page.tabTo(page.getByLabel("A word to the agent about the rest"));
  await page.keyboard.type("The port stays.");
  await page.keys("Enter");
  await page.getByText("The agent is told that the rest is refused.").waitFor();
  const [request] = await approvals(workspace);
  assert.deepEqual(request.refused, [{ path: "/config/long.txt", hunks: [1] }, { path: "/config/site.toml", hunks: null }]);
  assert.equal(request.decision_reason, "The port stays.");
  await page.check();
  await page.leave();
});

test("a question is answered, and a plan accepted", async () => {
  const workspace = await server.api.workspace("Questions");
  await workspace.agent("ask_user", { questions: [{ name: "language", question: "Which language?", schema: { type: "string", enum: ["English", "French"] } }, { name: "tone", question: "How formal?", schema: { type: "string" } }] });
  await server.api.call("PATCH", `/workspaces/${workspace.id}/chats/${workspace.chat}`, { mode: "plan" });
  await workspace.agent("plan_write", { title: "New theme", content: "1. Add variables\n2. Use them\n" });
  await workspace.agent("ask_user", { questions: [{ name: "plan", question: "Shall I?", schema: { type: "string", enum: ["Accept", "Reject"] } }] });
  const page = await open("#/inbox");
  const detail = page.locator(".split-detail");
  await find(page, "Which language?");
  await page.keys("Enter", "ArrowDown", "Tab");
  await page.keyboard.type("A little");
  await page.use("button", "Send the answer");
  const answers = async () => Object.assign({}, ...(await workspace.list("questions")).questions.map((one) => one.answers));
  await until("it is answered", async () => (await answers()).language === "French");
  assert.equal((await answers()).tone, "A little");
  await detail.getByText("Add variables").waitFor();
  await page.keys("Enter");
  await page.keys("Space");
  await page.use("button", "Send the answer");
  await until("the plan is accepted", async () => (await answers()).plan === "Accept");
  await page.check();
  await page.leave();
});

test("a step is undone and redone, a conflict is left out, and a way back is taken back itself", async () => {
  const workspace = await server.api.workspace("Undo", OPEN);
  await workspace.agent("write", { path: "/a.txt", content: "a one\n" });
  await workspace.agent("write", { path: "/b.txt", content: "b one\n" });
  const patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-a one\n+a two\n*** Update File: b.txt\n@@\n-b one\n+b two\n*** End Patch\n";
  await workspace.agent("apply_patch_json", { patch }, "codex");
  await workspace.agent("edit", { path: "/b.txt", old_string: "b two", new_string: "b three" });
  const page = await open(`#/w/${workspace.id}/timeline`);
  await page.getByText("Today").first().waitFor();
  const dialog = page.getByRole("dialog");
  /** Waits until a button can be used and has the focus. */
  const ready = (name) => until(`${name} can be done`, async () => {
    const button = dialog.getByRole("button", { name });
    return (await button.isEnabled().catch(() => false)) && (await page.has(button));
  });
  await page.keys("j");
  await page.getByRole("region", { name: "What the step changed" }).getByText("b three").waitFor();
  await page.keys("u");
  await ready("Undo it");
  await page.keys("Enter");
  await until("it is undone", async () => /b two/.test(await text(workspace, "/b.txt")));
  await page.getByText("undone by a later step").waitFor();
  await page.keys("u");
  await ready("Redo it");
  await page.keys("Enter");
  await until("it is redone", async () => /b three/.test(await text(workspace, "/b.txt")));
  await dialog.waitFor({ state: "detached" });
  // The step before it: one of its two files was changed since.
  await page.keys("j");
  await page.getByRole("region", { name: "What the step changed" }).getByText("a two").waitFor();
  await page.keys("u");
  await dialog.getByRole("alert").getByText("1 conflict").waitFor();
  await until("the way on has the focus", () => page.has(dialog.getByRole("button", { name: "Leave it out" })));
  await page.keys("Enter");
  await ready("Undo it");
  await page.keys("Enter");
  await until("the rest is undone", async () => /a one/.test(await text(workspace, "/a.txt")));
  assert.match(await text(workspace, "/b.txt"), /b three/);
  await dialog.waitFor({ state: "detached" });
  // Back to the first step, and that taken back from the message that says so.
  await page.keys("j", "j");
  await page.getByRole("region", { name: "What the step changed" }).getByText("a one").waitFor();
  await page.keys("b");
  await ready("Go back");
  await page.keys("Enter");
  await until("only the first file is there", async () => /a one/.test(await text(workspace, "/a.txt")) && (await text(workspace, "/b.txt")) === "");
  await page.use("button", "Undo this");
  await ready("Undo it");
  await page.keys("Enter");
  await until("both are there again", async () => /b three/.test(await text(workspace, "/b.txt")));
  await page.check();
  await page.leave();
});

test("steps are filtered and compared, and the files are seen at an earlier time", async () => {
  const workspace = await server.api.workspace("Timeline", OPEN);
  await workspace.person("write", { path: "/docs/read.md", content: "# Read me\n" });
  await workspace.agent("write", { path: "/src/greet.py", content: 'print("Hello")\n' });
  await workspace.agent("edit", { path: "/src/greet.py", old_string: "Hello", new_string: "Good morning" });
  const page = await open(`#/w/${workspace.id}/timeline`);
  const list = page.getByRole("list", { name: "Steps" });
  const rows = () => list.locator(".step-row").count();
  await list.getByText("/src/greet.py").first().waitFor();
  const all = await rows();
  await page.keys("f");
  await page.tabTo(page.getByLabel("Path", { exact: true }));
  await page.keyboard.type("/docs");
  await page.keys("Enter");
  await until("the list is filtered", async () => (await list.getByText("/src").count()) === 0);
  await page.use("button", "Remove the filter: /docs");
  await until("all are shown", async () => (await rows()) === all);
  await page.tabTo(page.getByRole("combobox", { name: "What" }), "Shift+Tab");
  await page.keyboard.type("Edit");
  await until("only the edit is shown", async () => (await rows()) === 1);
  await page.use("button", /^Remove the filter: edit/i);
  await until("all are shown again", async () => (await rows()) === all);
  await page.keys("Escape", "/");
  await page.keyboard.type("greet");
  await until("words are looked for", async () => (await list.getByText("/docs").count()) === 0);
  await page.keys("Escape");
  // Compared with the newest step, then with another one, the other way around.
  for (let i = 0; i < all; i++) await page.keys("j");
  await page.getByRole("region", { name: "What the step changed" }).waitFor();
  await page.keys("m");
  const different = page.getByRole("region", { name: "What is different" });
  await different.getByText("Good morning").first().waitFor();
  for (let i = 1; i < all; i++) await page.keys("k");
  await page.getByRole("button", { name: "Swap" }).waitFor();
  await page.use("button", /^Swap/);
  await different.locator(".diff-row.remove", { hasText: "Good morning" }).waitFor();
  await page.keys("k");
  await page.keys("3");
  await page.getByRole("button", { name: "The files at an earlier time" }).waitFor();
  await page.keys("t");
  const slider = page.getByRole("slider");
  await slider.waitFor();
  await page.getByRole("region", { name: "The moment at which the files are shown" }).getByRole("link").waitFor();
  await page.keys(",");
  await until("one step earlier is shown", async () => !(await page.getByRole("button", { name: "src", exact: true }).count()));
  await page.tabTo(slider);
  await page.keys("End");
  await until("it is now again", async () => !page.url().includes("at="));
  await page.check();
  await page.leave();
});

test("a file and a folder are found, uploaded into, renamed, removed and restored", async () => {
  const workspace = await server.api.workspace("Files", OPEN);
  await workspace.agent("write", { path: "/src/deep/greet.py", content: 'print("Hello")\n' });
  await workspace.agent("write", { path: "/src/other.py", content: "other = 1\n" });
  const page = await open(`#/w/${workspace.id}/files`, { ignore: /\/tools .*404/ });
  await page.getByRole("button", { name: "src", exact: true }).waitFor();
  // In the tree arrows go from row to row, and open and close folders.
  await page.tabTo(page.getByRole("button", { name: "src", exact: true }));
  await page.keys("ArrowRight");
  await page.getByRole("button", { name: "deep", exact: true }).waitFor();
  await page.keys("ArrowDown", "ArrowRight");
  await page.getByRole("link", { name: "greet.py" }).waitFor();
  await page.keys("ArrowDown", "ArrowDown", "ArrowUp", "Enter");
  await page.getByRole("region", { name: "Text of the file" }).getByText("Hello").waitFor();
  await page.keys("w");
  await page.getByRole("region", { name: "Text of the file, and where each line comes from" }).waitFor();
  await page.keys("h");
  await page.getByRole("region", { name: "What this version changed" }).waitFor();
  await page.keys("r");
  await page.getByRole("dialog", { name: "Rename or move" }).waitFor();
  await page.keys("Control+A");
  await page.keyboard.type("/src/deep/hello.py");
  await page.keys("Enter");
  await until("it is renamed", async () => /Hello/.test(await text(workspace, "/src/deep/hello.py")));
  await page.getByRole("heading", { name: "/src/deep/hello.py" }).waitFor();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.keys("Delete");
  await page.use("button", "Remove it");
  await until("it is removed", async () => (await text(workspace, "/src/deep/hello.py")) === "");
  await page.use("button", "Trash");
  await page.use("button", "Restore");
  await until("it is back", async () => /Hello/.test(await text(workspace, "/src/deep/hello.py")));
  // A file is uploaded at the top, and one into a folder.
  const upload = async (name, file) => {
    const chooser = page.waitForEvent("filechooser");
    await page.use("button", name);
    await (await chooser).setFiles({ name: file, mimeType: "text/plain", buffer: Buffer.from("uploaded\n") });
  };
  await page.keys("3");
  await upload("Upload files", "top.txt");
  await until("it is uploaded", async () => /uploaded/.test(await text(workspace, "/top.txt")));
  await page.use("link", "The folder /src");
  await page.getByRole("link", { name: "What changed in it" }).waitFor();
  await upload("Upload into it", "into.txt");
  await until("it is in the folder", async () => /uploaded/.test(await text(workspace, "/src/into.txt")));
  await page.keys("r");
  await page.getByRole("dialog", { name: "Rename or move" }).waitFor();
  await page.keys("Control+A");
  await page.keyboard.type("/source");
  await page.keys("Enter");
  await until("the folder is renamed", async () => /other/.test(await text(workspace, "/source/other.py")));
  await page.getByRole("heading", { name: "/source" }).waitFor();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.keys("Delete");
  await page.use("button", "Remove it");
  await until("the folder is removed", async () => (await text(workspace, "/source/other.py")) === "");
  await page.use("button", "Trash");
  await page.getByText("/source", { exact: true }).waitFor();
  await page.use("button", "Restore");
  await until("the folder is back", async () => /other/.test(await text(workspace, "/source/other.py")));
  // A text is found in all files.
  await page.keys("3");
  await page.getByLabel("Find a file by its name or its text").waitFor();
  await page.keys("/");
  await page.keyboard.type("other = 1");
  await page.use("button", "Texts");
  await page.use("link", /other.py:1/);
  await page.locator(".text-row.wanted", { hasText: "other = 1" }).waitFor();
  await page.check();
  await page.leave();
});

test("a terminal is typed into, resized and ended", async (context) => {
  const workspace = await server.api.workspace("Terminal", OPEN);
  const opened = await workspace.agent("exec_command", { session_id: "ask", cmd: 'read -p "Name? " x; echo "Hello $x"; sleep 600', workdir: null }, "codex");
  if (!opened.success) return context.skip("no box on this machine");
  const page = await open(`#/w/${workspace.id}/timeline`);
  await page.getByRole("heading", { name: "Terminal" }).waitFor();
  await page.keys("4");
  await page.getByRole("list", { name: "Terminals" }).waitFor();
  await page.keys("j");
  const screen = page.getByRole("region", { name: "Screen" });
  await screen.getByText("Name?").waitFor();
  await page.keys("Enter");
  await page.getByText("Every key goes to the program.").waitFor();
  await page.keyboard.type("Grace");
  await page.keys("Enter");
  await screen.getByText("Hello Grace").waitFor();
  await page.keys("Escape", "Escape");
  await until("the keyboard is the page's again", () => page.evaluate(() => document.activeElement.tagName !== "TEXTAREA"));
  await page.use("button", /^Size/);
  await page.getByRole("menuitem", { name: "120 × 40" }).waitFor();
  await page.keys("ArrowDown", "ArrowDown", "Enter");
  await page.getByText("The terminal has 120 columns and 40 rows.").waitFor();
  // The keys below the screen are behind what takes every key: the Tab key passes it by.
  await page.use("button", "Ctrl-D");
  await page.tabTo(page.getByRole("button", { name: "End it" }), "Shift+Tab");
  await page.keys("Enter");
  await page.getByRole("dialog", { name: "End this terminal?" }).waitFor();
  await page.use("button", "End it");
  await until("it has ended", async () => (await workspace.list("terminals")).terminals[0].state !== "running");
  await page.check();
  await page.leave();
});

test("a key is made and its configuration copied, a rule made and removed, a person added, given another role and removed", async () => {
  const workspace = await server.api.workspace("Settings");
  await server.api.call("POST", "/auth/register", { email: "grace@example.com", password: "another long password", full_name: "Grace Hopper" });
  const page = await open(`#/w/${workspace.id}/timeline`);
  await page.getByText("Nothing has happened yet").waitFor();
  await page.keys("5");
  await page.getByRole("button", { name: "New key" }).waitFor();
  await page.use("button", "New key");
  await page.keyboard.type("My client");
  await page.keys("Tab", "ArrowDown", "Enter");
  await page.getByText("the only time that the key is shown").waitFor();
  const key = await page.getByRole("group", { name: "The key" }).innerText();
  await page.use("button", "Cursor");
  await page.tabTo(page.getByRole("group", { name: "Configuration of Cursor" }));
  await page.use("button", "Copy");
  const config = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
  assert.equal(config.mcpServers.toolyard.headers.Authorization, `Bearer ${key}`);
  assert.match(config.mcpServers.toolyard.url, /toolset=codex$/);
  await page.use("button", "Done");
  await page.use("button", "Revoke");
  await page.use("button", "Revoke it");
  await page.getByText("is revoked.").waitFor();

  await page.use("button", "New rule");
  await page.tabTo(page.getByRole("radio", { name: "Ask", exact: false }).first());
  await page.tabTo(page.getByLabel("On which paths or hosts"));
  await page.keyboard.type("infra/**");
  await page.keys("Enter");
  await page.getByRole("cell", { name: "infra/**" }).waitFor();
  await page.use("button", "Remove rule 1 of Rules");
  await until("the rule is gone", async () => (await workspace.list("policy")).rules.length === 0);

  await page.use("button", "Add a person");
  await page.keyboard.type("grace@example.com");
  await page.keys("Enter");
  const role = page.getByRole("combobox", { name: "Role of grace@example.com" });
  await role.waitFor();
  const grace = async () => (await workspace.list("members")).members.find((one) => one.email === "grace@example.com");
  assert.equal((await grace()).role, "member");
  await page.tabTo(role);
  await page.keys("v");
  await until("she may look only", async () => (await grace()).role === "viewer");
  await page.use("button", "Remove grace@example.com");
  await until("she is gone", async () => !(await grace()));
  await page.check();
  await page.leave();
});

test("the theme is switched, and the keys are listed", async () => {
  const page = await open("#/settings");
  await page.getByRole("heading", { name: "You", exact: true }).waitFor();
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.use("button", "Dark");
  await until("it is dark", async () => (await background()) !== light);
  await page.keys("?");
  await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
  await page.keys("Escape");
  await page.getByRole("dialog", { name: "Keyboard" }).waitFor({ state: "detached" });
  await page.use("button", "Light");
  await until("it is light again", async () => (await background()) === light);
  await page.check();
  await page.leave();
});

test("a comment is written, read again and sent, and a message and a mode reach the chat", async () => {
  const workspace = await server.api.workspace("Chat", OPEN);
  await workspace.agent("write", { path: "/greet.py", content: 'print("Hello")\n' });
  const page = await open(`#/w/${workspace.id}/timeline`);
  await page.getByText("Today").first().waitFor();
  await page.keys("j");
  await page.getByRole("region", { name: "What the step changed" }).getByText("Hello").waitFor();
  await page.keys("d", "ArrowDown", "ArrowDown", "c");
  await page.getByRole("dialog", { name: "Comment on a line" }).waitFor();
  await page.keyboard.type("In French, please.");
  await page.keys("Control+Enter");
  await page.getByRole("region", { name: "Your comments" }).getByText("1 comment").waitFor();
  await page.keys("S");
  await page.use("button", "Send 1 comment");
  await page.getByText("Sent: 1 comment, as one message.").waitFor();
  await page.keys("2");
  await page.getByRole("list", { name: "Chats" }).waitFor();
  await page.keys("j");
  await page.getByText("In French, please.").waitFor();
  await page.use("button", "Plan");
  await page.getByText("Plan mode: only plan files change").waitFor();
  await page.tabTo(page.getByLabel("A message to the chat"));
  await page.keyboard.type("And with a name.");
  await page.keys("Control+Enter");
  await page.locator(".bubble", { hasText: "And with a name." }).waitFor();
  await page.check();
  await page.leave();
});
