// The stories of people on a server: agents are real clients of MCP over HTTP, each with a key, and people decide, answer,
// accept, take back and connect in the browser. What the agent gets is looked at in the answer to its own call.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { closeBrowser, openPage, PHONE, startServer, until, WIDE } from "../harness.mjs";
import { connectHttp } from "../mcp-client.mjs";

const GRACE = { email: "grace@example.com", password: "another long password" };
const LINES = Array.from({ length: 40 }, (_, i) => `line ${i + 1}`);
const LONG = LINES.join("\n") + "\n";
const OPEN = { preset: "open", rules: [] };
const ASK = { preset: "open", rules: [{ effect: "change", path: "config/**", then: "ask", why: "People look at configuration first." }] };

let server;
before(async () => {
  server = await startServer();
  await server.api.call("POST", "/auth/register", { ...GRACE, full_name: "Grace Hopper" });
});
after(async () => {
  await closeBrowser();
  await server.close();
});

/** A workspace with files of a person, and an agent that is connected to it. */
async function connected(name, toolset, policy = ASK, files = {}) {
  const workspace = await server.api.workspace(name, OPEN);
  for (const [path, content] of Object.entries(files)) await workspace.person("write", { path, content });
  await server.api.call("PUT", `/workspaces/${workspace.id}/policy`, policy);
  const agent = await connectHttp(`${server.api.url}/mcp/${workspace.id}?toolset=${toolset}`, { authorization: `Bearer ${workspace.key}` });
  return { workspace, agent };
}

const text = async (workspace, path) => (await workspace.person("read", { path })).result?.content ?? "";
/** The request or the question that waits, once it does. */
const waiting = (workspace, kind) => until("something waits", async () => (await workspace.list(`${kind}s`))[`${kind}s`].find((one) => one.status === "pending"));
const addressOf = (workspace, kind, id) => `#/inbox/${workspace.id}/${kind}/${id}`;

test("a person approves a part of what an agent over HTTP asks, and the agent gets the word with its own answer", async () => {
  const { workspace, agent } = await connected("Part", "codex", ASK, { "/config/long.txt": LONG, "/config/site.toml": "port = 8080\n" });
  const page = await openPage(server, WIDE, "#/inbox");
  const patch = "*** Begin Patch\n*** Update File: config/long.txt\n@@\n-line 2\n+line two\n@@\n-line 38\n+line thirty-eight\n*** Update File: config/site.toml\n@@\n-port = 8080\n+port = 9090\n*** End Patch\n";
  const asked = agent.call("apply_patch_json", { patch });
  await page.getByRole("list", { name: "What waits for you" }).locator("a", { hasText: "in Part" }).first().click();
  await page.getByRole("checkbox", { name: "Change 2 of /config/long.txt" }).click();
  await page.getByRole("checkbox", { name: "/config/site.toml", exact: true }).click();
  await page.getByLabel("A word to the agent about the rest").fill("The port stays.");
  await page.getByRole("button", { name: /^Approve 1 of 3 changes/ }).click();
  const answer = await asked;
  assert.ok(!answer.isError, answer.text);
  assert.match(answer.text, /approved a part of this call.*config\/long\.txt \(change 2 of its diff\)/);
  assert.match(answer.text, /config\/site\.toml/);
  assert.match(answer.text, /They said: The port stays\./);
  assert.equal(await text(workspace, "/config/long.txt"), LINES.with(1, "line two").join("\n") + "\n");
  assert.equal(await text(workspace, "/config/site.toml"), "port = 8080\n");
  await page.check();
  await page.leave();
  await agent.close();
});

/** Sends the decisions of two tabs at once: none is sent to the server before both were made. */
async function atOnce(...contexts) {
  let made = 0;
  for (const context of contexts) {
    await context.route("**/decision", async (route) => {
      made += 1;
      await until("the other tab decides, too", () => made === 2);
      await route.continue();
    });
  }
}

test("of two tabs of one browser one decides, the other says so, and the agent gets the one decision", async () => {
  const { workspace, agent } = await connected("Tabs", "workspace", ASK);
  const first = await openPage(server, WIDE, "#/inbox", { ignore: /409/ });
  const asked = agent.call("write", { path: "/config/tabs.txt", content: "x\n" });
  const request = await waiting(workspace, "approval");
  const address = `/${addressOf(workspace, "approval", request.id)}`;
  const second = await first.context().newPage();
  await first.goto(address);
  await second.goto(`${server.url}${address}`);
  for (const tab of [first, second]) await tab.locator(".request-title", { hasText: "/config/tabs.txt" }).waitFor();
  await atOnce(first.context());
  await second.getByRole("button", { name: /^Deny/ }).click();
  await second.getByLabel("A word to the agent").fill("No.");
  await second.keyboard.press("Enter");
  // The first tab is behind the second one, where a pointer does not get to it.
  await first.getByRole("button", { name: /^Approve once/ }).evaluate((button) => button.click());
  const answer = await asked;
  const [loser, words] = answer.isError ? [first, "Denied."] : [second, "Approved and done."];
  await loser.bringToFront();
  await loser.locator(".banner", { hasText: words }).getByText("Decided by").waitFor();
  assert.equal(await loser.getByRole("button", { name: /^(Approve|Deny)/ }).count(), 0);
  if (answer.isError) assert.match(answer.text, /No\./);
  assert.equal(await text(workspace, "/config/tabs.txt"), answer.isError ? "" : "x\n");
  await first.check();
  await first.leave();
  await agent.close();
});

test("of two people one decides, and the other is told by whom", async () => {
  const { workspace, agent } = await connected("People", "workspace", ASK);
  await server.api.call("POST", `/workspaces/${workspace.id}/members`, { email: GRACE.email, role: "member" });
  const asked = agent.call("write", { path: "/config/people.txt", content: "x\n" });
  const request = await waiting(workspace, "approval");
  const address = addressOf(workspace, "approval", request.id);
  const [ada, grace] = [await openPage(server, WIDE, address, { ignore: /409/ }), await openPage(server, PHONE, address, { ...GRACE, ignore: /409/ })];
  for (const page of [ada, grace]) await page.locator(".request-title", { hasText: "/config/people.txt" }).waitFor();
  await atOnce(ada.context(), grace.context());
  await grace.getByRole("button", { name: /^Deny/ }).click();
  await grace.getByLabel("A word to the agent").fill("Not today.");
  await grace.keyboard.press("Enter");
  await ada.getByRole("button", { name: /^Approve once/ }).click();
  const answer = await asked;
  const [loser, winner] = answer.isError ? [ada, "Grace Hopper"] : [grace, "Ada Lovelace"];
  await loser.locator(".banner", { hasText: "Decided by" }).getByText(winner).waitFor();
  await ada.check();
  await grace.check();
  await ada.leave();
  await grace.leave();
  await agent.close();
});

test("a question is answered on the page, and the waiting agent has the answer", async () => {
  const { workspace, agent } = await connected("Question", "workspace", OPEN);
  const page = await openPage(server, PHONE, "#/inbox");
  const asked = agent.call("ask_user", { questions: [{ name: "language", question: "Which language?", schema: { type: "string", enum: ["English", "French"] } }] });
  const question = await waiting(workspace, "question");
  await page.goto(`/${addressOf(workspace, "question", question.id)}`);
  await page.getByText("French", { exact: true }).click();
  await page.getByRole("button", { name: "Send the answer" }).click();
  const answer = await asked;
  assert.ok(!answer.isError, answer.text);
  assert.match(answer.text, /French/);
  await page.check();
  await page.leave();
  await agent.close();
});

test("from plan mode on the page to Accept, after which the agent may write", async () => {
  const workspace = await server.api.workspace("Plan", OPEN);
  const { chat } = workspace;
  const { key } = await server.api.call("POST", `/workspaces/${workspace.id}/keys`, { name: "In one chat", role: "member", toolsets: ["workspace"], chat_id: chat });
  const agent = await connectHttp(`${server.api.url}/mcp/${workspace.id}?toolset=workspace`, { authorization: `Bearer ${key}` });
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/chats/${chat}`);
  await page.getByRole("button", { name: "Plan", exact: true }).click();
  await page.getByText("Plan mode: only plan files change").waitFor();
  const early = await agent.call("write", { path: "/early.txt", content: "x\n" });
  assert.ok(early.isError);
  assert.match(early.text, /plan mode/i);
  const written = await agent.call("plan_write", { title: "New theme", content: "1. Add variables\n2. Use them\n" });
  assert.ok(!written.isError, written.text);
  const asked = agent.call("ask_user", { questions: [{ name: "plan", question: "Shall I?", schema: { type: "string", enum: ["Accept", "Reject"] } }] });
  const question = await waiting(workspace, "question");
  await page.goto(`/${addressOf(workspace, "question", question.id)}`);
  await page.getByRole("region", { name: "The plan" }).getByText("Add variables").waitFor();
  await page.getByText("Accept", { exact: true }).click();
  await page.getByRole("button", { name: "Send the answer" }).click();
  assert.match((await asked).text, /Accept/);
  const left = await agent.call("exit_plan_mode", { plan_file_path: /\/.*\.plan/.exec(written.text)[0] });
  assert.ok(!left.isError, left.text);
  const allowed = await agent.call("write", { path: "/theme.css", content: "a {}\n" });
  assert.ok(!allowed.isError, allowed.text);
  await page.goto(`/#/w/${workspace.id}/chats/${chat}`);
  await page.getByRole("button", { name: "Build", exact: true, pressed: true }).waitFor();
  assert.equal(await page.getByText("Plan mode: only plan files change").count(), 0);
  assert.equal(await text(workspace, "/early.txt"), "");
  assert.equal(await text(workspace, "/theme.css"), "a {}\n");
  await page.check();
  await page.leave();
  await agent.close();
});

test("an old step is undone with its preview, unrelated later steps stay, and it is redone", async () => {
  const { workspace, agent } = await connected("Old step", "workspace", OPEN);
  await agent.call("write", { path: "/long.txt", content: LONG });
  await agent.call("edit", { path: "/long.txt", old_string: "line 2\n", new_string: "line two\n" });
  const old = (await workspace.list("steps")).steps[0].id;
  await agent.call("edit", { path: "/long.txt", old_string: "line 38\n", new_string: "line thirty-eight\n" });
  await agent.call("write", { path: "/other.txt", content: "other\n" });
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/timeline/${old}`);
  await page.getByRole("region", { name: "What the step changed" }).getByText("line two").waitFor();
  await page.keyboard.press("u");
  const preview = page.getByRole("dialog").getByRole("region", { name: "What would change" });
  await preview.locator(".diff-row.remove", { hasText: "line two" }).waitFor();
  assert.equal(await preview.getByText("thirty-eight").count(), 0, "the later step is not touched");
  await until("it can be undone", () => page.getByRole("dialog").getByRole("button", { name: "Undo it" }).isEnabled());
  await page.keyboard.press("Enter");
  await page.getByText("undone by a later step").waitFor();
  assert.equal(await text(workspace, "/long.txt"), LINES.with(37, "line thirty-eight").join("\n") + "\n");
  assert.match((await agent.call("read", { path: "/long.txt" })).text, /line 2\n[^]*line thirty-eight/, "the agent reads what is there now");
  assert.equal(await text(workspace, "/other.txt"), "other\n");
  await page.keyboard.press("u");
  await preview.locator(".diff-row.add", { hasText: "line two" }).waitFor();
  await until("it can be redone", () => page.getByRole("dialog").getByRole("button", { name: "Redo it" }).isEnabled());
  await page.keyboard.press("Enter");
  await until("it is redone", async () => (await text(workspace, "/long.txt")) === LINES.with(1, "line two").with(37, "line thirty-eight").join("\n") + "\n");
  await until("it is not shown as undone", async () => (await page.getByText("undone by a later step").count()) === 0);
  await page.check();
  await page.leave();
  await agent.close();
});

test("a key is made on the page, its configuration copied, and a client connects with what was copied", async () => {
  const { workspace, agent: other } = await connected("Key", "workspace", OPEN, { "/readme.md": "# Read me\n" });
  await other.close();
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/settings`);
  await page.getByRole("button", { name: "New key" }).click();
  await page.getByLabel("Name").first().fill("My client");
  await page.getByText("Coding, with a shell").click();
  await page.getByRole("button", { name: "Make the key" }).click();
  await page.getByRole("button", { name: "Cursor" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Copy" }).nth(1).click();
  const { url, headers } = JSON.parse(await page.evaluate(() => navigator.clipboard.readText())).mcpServers.toolyard;
  await page.getByRole("button", { name: "Done", exact: true }).click();
  const agent = await connectHttp(url, headers);
  assert.ok((await agent.tools()).includes("apply_patch_json"));
  const answer = await agent.call("apply_patch_json", { patch: "*** Begin Patch\n*** Update File: readme.md\n@@\n-# Read me\n+# Read this\n*** End Patch\n" });
  assert.ok(!answer.isError, answer.text);
  await page.goto(`/#/w/${workspace.id}/timeline`);
  await page.getByRole("list", { name: "Steps" }).locator("a", { hasText: "My client" }).first().waitFor();
  // A key that was revoked connects nobody.
  await page.goto(`/#/w/${workspace.id}/settings`);
  await page.locator(".setting", { hasText: "My client" }).getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke it" }).click();
  await page.locator(".setting", { hasText: "My client" }).waitFor({ state: "detached" });
  await assert.rejects(connectHttp(url, headers), /answered 401/);
  await page.check();
  await page.leave();
  await agent.close();
});

test("the server is killed and started again: the request, the draft comment and the missed step are there, and a decision counts", async () => {
  const { workspace, agent } = await connected("Killed", "workspace", ASK, { "/notes.txt": "one\ntwo\n" });
  const step = (await workspace.list("steps")).steps[0].id;
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/timeline/${step}`, { ignore: /50[23]|ERR_|Failed to load/ });
  const diff = page.getByRole("region", { name: "What the step changed" });
  await diff.locator(".diff-row.add", { hasText: "two" }).hover();
  await diff.getByRole("button", { name: "Comment on line 2", exact: true }).click();
  await page.getByLabel("What should be different").fill("Three would be better.");
  await page.getByRole("button", { name: "Keep it" }).click();
  await diff.locator(".diff-comment", { hasText: "Three would be better." }).waitFor();
  const asked = agent.call("write", { path: "/config/killed.txt", content: "x\n" });
  const request = await waiting(workspace, "approval");
  const broken = assert.rejects(asked);
  await until("the title says that something waits", async () => /^\(\d+\)/.test(await page.title()));

  await server.kill();
  await broken;
  await page.getByText(/Connecting|Offline/).first().waitFor();
  // The page has no stream yet when the step happens.
  await page.route("**/api/v1/events", (route) => route.abort());
  await server.startAgain();
  const again = await connectHttp(`${server.api.url}/mcp/${workspace.id}?toolset=workspace`, { authorization: `Bearer ${workspace.key}` });
  assert.ok(!(await again.call("write", { path: "/missed.txt", content: "missed\n" })).isError);
  await page.unroute("**/api/v1/events");
  await page.getByText("Live", { exact: true }).waitFor();
  await page.getByRole("list", { name: "Steps" }).getByText("/missed.txt").first().waitFor();
  await diff.locator(".diff-comment", { hasText: "Three would be better." }).waitFor();
  // The agent asks the same again, and is the same request.
  const askedAgain = again.call("write", { path: "/config/killed.txt", content: "x\n" });
  await page.goto(`/${addressOf(workspace, "approval", request.id)}`);
  await page.getByRole("button", { name: /^Approve once/ }).click();
  const answer = await askedAgain;
  assert.ok(!answer.isError, answer.text);
  assert.equal(await text(workspace, "/config/killed.txt"), "x\n");
  assert.deepEqual((await workspace.list("approvals")).approvals.map((one) => one.status), ["executed"]);
  await page.check();
  await page.leave();
  await again.close();
});
