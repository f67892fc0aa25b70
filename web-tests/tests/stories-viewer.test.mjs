// A viewer sees everything of a workspace and changes nothing: on every screen there is no way to decide, answer, take back,
// write, type, manage, and no key, drop or address that leads to one sends anything.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { closeBrowser, LOOKS, openPage, startServer } from "../harness.mjs";

const GRACE = { email: "grace@example.com", password: "another long password" };
let server, workspace, request, question, steps, terminal;

before(async () => {
  server = await startServer();
  workspace = await server.api.workspace("Looked at", { preset: "open", rules: [] });
  await workspace.agent("write", { path: "/config/site.toml", content: "port = 8080\n" });
  await workspace.agent("edit", { path: "/config/site.toml", old_string: "8080", new_string: "8081" });
  await workspace.agent("write", { path: "/gone.txt", content: "gone\n" });
  await workspace.agent("rm", { path: "/gone.txt" });
  const opened = await workspace.agent("exec_command", { session_id: "cat", cmd: "echo Ready; cat", workdir: null }, "codex");
  if (opened.success) [terminal] = (await workspace.list("terminals")).terminals;
  await server.api.call("PUT", `/workspaces/${workspace.id}/policy`, { preset: "open", rules: [{ effect: "change", path: "config/**", then: "ask" }] });
  await workspace.agent("edit", { path: "/config/site.toml", old_string: "8081", new_string: "9090" });
  await workspace.agent("ask_user", { questions: [{ name: "language", question: "Which language?", schema: { type: "string", enum: ["English", "French"] } }] });
  [request] = (await workspace.list("approvals")).approvals;
  [question] = (await workspace.list("questions")).questions;
  steps = (await workspace.list("steps")).steps;
  await server.api.call("POST", "/auth/register", { ...GRACE, full_name: "Grace Hopper" });
  await server.api.call("POST", `/workspaces/${workspace.id}/members`, { email: GRACE.email, role: "viewer" });
});
after(async () => {
  await closeBrowser();
  await server.close();
});

/** Buttons that change something: none of them is there, or it is disabled. */
const CHANGES = /^(Approve|Deny|For this chat|Always|Edit|Later|More$|Undo|Redo|Back to here|Leave it out|Upload|Rename|Remove|Restore|Make it the newest|New|Make|Add|Revoke|Delete|Size|End it|Send|Plan|Build|Ctrl|Open|Guarded|Strict|Comment on)/;
/** Keys that decide, answer, take back, comment, rename, remove, select or send. */
const KEYS = ["y", "Y", "n", "e", "l", "u", "b", "r", "x", "c", "s", "S", "Delete"];
/** Tools that only look. */
const LOOKS_ONLY = new Set(["ls", "read", "file_info", "glob", "grep", "find", "plan_read"]);

/** What all of the workspace is by now, as its owner sees it. */
async function state() {
  const lists = await Promise.all(["approvals", "questions", "steps", "policy", "members", "keys", "chats", "terminals", "comments"].map((what) => workspace.list(what)));
  return JSON.parse(JSON.stringify(lists, (name, value) => (name === "screen" ? undefined : value)));
}

for (const look of LOOKS) {
  test(`a viewer can change nothing on any screen (${look.width} px, ${look.theme})`, async (context) => {
    const before_ = await state();
    const page = await openPage(server, look, "#/inbox", GRACE);
    const sent = [];
    page.on("request", (one) => {
      const path = new URL(one.url()).pathname;
      const isLook = one.method() === "GET" || path.endsWith("/auth/refresh") || (path.endsWith("/tools") && LOOKS_ONLY.has(one.postDataJSON()?.tool));
      if (!isLook) sent.push(`${one.method()} ${path} ${one.postData()}`);
    });
    const base = `#/w/${workspace.id}`;
    const [newest, , edited] = steps;
    const screens = [
      ["#/inbox", page.getByText("Nothing waits for you")],
      [`#/inbox/${workspace.id}/approval/${request.id}`, page.getByText("its members decide")],
      [`#/inbox/${workspace.id}/approval/${request.id}/edit`, page.getByText("its members decide")],
      [`#/inbox/${workspace.id}/question/${question.id}`, page.getByText("its members answer")],
      [`${base}/timeline`, page.getByText("You can look, not change")],
      ...["", "/undo", "/redo", "/back-to"].map((way) => [`${base}/timeline/${edited.id}${way}`, page.getByRole("region", { name: "What the step changed" })]),
      [`${base}/timeline/compare/${steps.at(-1).id}/${newest.id}`, page.locator(".diff-row.add", { hasText: "8081" })],
      [`${base}/files`, page.getByRole("button", { name: "config" }).first()],
      [`${base}/files/config/site.toml`, page.getByRole("region", { name: "Text of the file" })],
      [`${base}/trash`, page.getByText("/gone.txt").first()],
      [`${base}/chats`, page.getByText("A test run").first()],
      [`${base}/chats/${workspace.chat}`, page.getByRole("article", { name: "Chat" })],
      [`${base}/settings`, page.getByRole("heading", { name: "Policy" })],
    ];
    if (terminal) screens.push([`${base}/terminals/${terminal.id}`, page.getByRole("region", { name: "Screen" }).getByText("Ready")]);
    else context.diagnostic("no box on this machine: no terminal was looked at");
    for (const [address, shown] of screens) {
      await page.goto(`/${address}`);
      await shown.waitFor();
      for (const key of KEYS) await page.keyboard.press(key);
      assert.equal(await page.locator("dialog[open]").count(), 0, `a dialog at ${address}`);
      const ways = await page.getByRole("main").locator("button:enabled, select:enabled, textarea:enabled, input[type=file]").evaluateAll((all) => all.filter((one) => one.checkVisibility() || one.type === "file").map((one) => `${one.ariaLabel ?? one.innerText}`.trim() || one.tagName));
      assert.deepEqual(ways.filter((name) => CHANGES.test(name) || /^(SELECT|TEXTAREA|INPUT)$/.test(name)), [], `at ${address} there are: ${ways.join(", ")}`);
      assert.deepEqual(sent, [], `sent at ${address}`);
      await page.check();
    }
    // What else there is for a step is to look at it.
    await page.goto(`/${base}/timeline/${edited.id}`);
    await page.getByRole("button", { name: "More for this step" }).click();
    await page.getByRole("menuitem").first().waitFor();
    assert.deepEqual((await page.getByRole("menuitem").allInnerTexts()).filter((name) => /undo|redo|back to/i.test(name)), []);
    // An old version of a file is looked at and not made the newest; a file that is dropped stays where it was.
    await page.goto(`/${base}/files/config/site.toml`);
    await page.getByRole("button", { name: "History" }).click();
    await page.getByRole("region", { name: "What this version changed" }).first().waitFor();
    assert.equal(await page.getByRole("button", { name: "Make it the newest" }).count(), 0);
    await page.goto(`/${base}/files`);
    await page.getByRole("button", { name: "config" }).first().waitFor();
    await page.evaluate(() => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(["dropped"], "dropped.txt"));
      for (const name of ["dragover", "drop"]) document.querySelector(".drop").dispatchEvent(new DragEvent(name, { dataTransfer, bubbles: true, cancelable: true }));
    });
    if (terminal) {
      await page.goto(`/${base}/terminals/${terminal.id}`);
      const screen = page.getByRole("region", { name: "Screen" });
      await screen.getByText("Ready").waitFor();
      await screen.click();
      await page.keyboard.type("typed by a viewer");
      await page.keyboard.press("Enter");
      assert.equal(await page.getByText("Every key goes to the program.").count(), 0);
    }
    assert.deepEqual(sent, []);
    assert.deepEqual(await state(), before_);
    await page.check();
    await page.leave();
  });
}
