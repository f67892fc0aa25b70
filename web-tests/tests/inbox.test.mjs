// The inbox: requests with their diffs, decisions, questions, what was decided elsewhere, and what changed meanwhile.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { closeBrowser, LOOKS, openPage, startServer, until, WIDE } from "../harness.mjs";

let server;
before(async () => (server = await startServer()));
after(async () => {
  await closeBrowser();
  await server.close();
});

const POLICY = { preset: "guarded", rules: [{ effect: "change", path: "config/**", then: "ask", why: "People look at configuration first." }] };

/** A workspace in which a person's files exist that an agent has to ask about. */
async function asking(name) {
  const workspace = await server.api.workspace(name);
  await workspace.person("write", { path: "/config/site.toml", content: 'title = "Site"\nport = 8080\n' });
  await server.api.call("PUT", `/workspaces/${workspace.id}/policy`, POLICY);
  return workspace;
}

const edit = (workspace, from = "8080", to = "9090") => workspace.agent("edit", { path: "/config/site.toml", old_string: `port = ${from}`, new_string: `port = ${to}` });
const approvals = async (workspace) => (await workspace.list("approvals")).approvals;

/** Waits until the request was on the screen long enough for its key. */
const mayPressY = (page) => page.locator("button[aria-keyshortcuts=y]").waitFor();

for (const look of LOOKS) {
  const name = `${look.width} px, ${look.theme}`;

  test(`a request is shown with its diff and approved by keyboard (${name})`, async () => {
    const workspace = await asking(`Approve ${name}`);
    await edit(workspace);
    const [request] = await approvals(workspace);
    const page = await openPage(server, look, `#/inbox/${workspace.id}/approval/${request.id}`);
    await page.getByText("port = 9090").first().waitFor();
    await page.getByText("People look at configuration first.").waitFor();
    await until("the title says how many wait", async () => /^\(\d+\) Toolyard$/.test(await page.title()));
    assert.match(await page.getAttribute("#icon", "href"), /^data:image\/svg/);
    await page.axe("approval");
    await mayPressY(page);
    await page.keyboard.press("y");
    await page.getByText("Approved and done.").first().waitFor();
    assert.equal((await approvals(workspace))[0].status, "executed");
    await page.check();
    await page.leave();
  });

  test(`a request is denied with a word (${name})`, async () => {
    const workspace = await asking(`Deny ${name}`);
    await edit(workspace);
    const [request] = await approvals(workspace);
    const page = await openPage(server, look, `#/inbox/${workspace.id}/approval/${request.id}`);
    await page.getByText("port = 9090").first().waitFor();
    await page.keyboard.press("n");
    await page.keyboard.type("Ask Grace first.");
    await page.axe("deny");
    await page.keyboard.press("Enter");
    await until("it is denied", async () => (await approvals(workspace))[0].status === "denied");
    assert.equal((await approvals(workspace))[0].decision_reason, "Ask Grace first.");
    await page.check();
    await page.leave();
  });

  test(`a question is a form, and its answer reaches the agent (${name})`, async () => {
    const workspace = await server.api.workspace(`Question ${name}`);
    await workspace.agent("ask_user", { questions: [{ name: "language", question: "Which language?", schema: { type: "string", enum: ["English", "French"] } }, { name: "tone", question: "How formal?", schema: { type: "string" } }] });
    const [question] = (await workspace.list("questions")).questions;
    const page = await openPage(server, look, `#/inbox/${workspace.id}/question/${question.id}`);
    await page.getByText("French").click();
    await page.getByLabel("How formal?").fill("A little");
    await page.axe("question");
    await page.getByRole("button", { name: "Send the answer" }).click();
    await until("it is answered", async () => (await workspace.list("questions")).questions[0].status === "answered");
    assert.deepEqual((await workspace.list("questions")).questions[0].answers, { language: "French", tone: "A little" });
    await page.check();
    await page.leave();
  });
}

test("a card appears by itself, and goes on to the next one", async () => {
  const workspace = await asking("Live");
  const page = await openPage(server, WIDE, `#/inbox`);
  await page.getByRole("heading", { name: "Inbox", exact: true }).waitFor();
  await edit(workspace);
  await page.locator('a', { hasText: 'site.toml' }).first().waitFor();
  await page.check();
  await page.leave();
});

test("of two tabs one decides, and the other says so", async () => {
  const workspace = await asking("Two tabs");
  await edit(workspace);
  const [request] = await approvals(workspace);
  const address = `#/inbox/${workspace.id}/approval/${request.id}`;
  const [first, second] = [await openPage(server, WIDE, address, { ignore: /409/ }), await openPage(server, WIDE, address, { ignore: /409/ })];
  await first.getByText("port = 9090").first().waitFor();
  await second.getByText("port = 9090").first().waitFor();
  await second.getByRole("button", { name: /^Deny/ }).click();
  await second.getByLabel("A word to the agent").fill("No.");
  await mayPressY(first);
  await Promise.all([first.keyboard.press("y"), second.keyboard.press("Enter")]);
  const status = await until("one of them decided", async () => ({ executed: "Approved and done", denied: "Denied" })[(await approvals(workspace))[0].status]);
  // Who lost is shown what happened, and by whom.
  const loser = status === "Denied" ? first : second;
  await loser.getByText("Decided by").waitFor();
  await loser.getByText(status).first().waitFor();
  await first.check();
  await second.check();
  await first.leave();
  await second.leave();
});

test("a request that cannot be done any more, because its file changed meanwhile, says so and does nothing", async () => {
  const workspace = await asking("Stale");
  await edit(workspace);
  const [request] = await approvals(workspace);
  const page = await openPage(server, WIDE, `#/inbox/${workspace.id}/approval/${request.id}`, { ignore: /40[49]/ });
  await page.getByText("port = 9090").first().waitFor();
  await server.api.call("PUT", `/workspaces/${workspace.id}/policy`, { preset: "open", rules: [] });
  await workspace.person("edit", { path: "/config/site.toml", old_string: "port = 8080", new_string: "port = 8081" });
  await page.getByRole("button", { name: "Approve once" }).click();
  await page.getByText("Approved, but it could not be done: the agent was told why.").first().waitFor();
  const now = await workspace.person("read", { path: "/config/site.toml" });
  assert.match(JSON.stringify(now), /8081/);
  await page.check();
  await page.leave();
});

test("a viewer sees a request and can decide nothing", async () => {
  const workspace = await asking("Viewer");
  await edit(workspace);
  await server.api.call("POST", "/auth/register", { email: "grace@example.com", password: "another long password", full_name: "Grace Hopper" });
  await server.api.call("POST", `/workspaces/${workspace.id}/members`, { email: "grace@example.com", role: "viewer" });
  const [request] = await approvals(workspace);
  const page = await openPage(server, WIDE, `#/inbox/${workspace.id}/approval/${request.id}`, { email: "grace@example.com", password: "another long password" });
  await page.getByText("its members decide").waitFor();
  assert.equal(await page.getByRole("button", { name: /Approve|Deny/ }).count(), 0);
  await page.keyboard.press("y");
  assert.equal((await approvals(workspace))[0].status, "pending");
  await page.goto(`/#/w/${workspace.id}/timeline`);
  await page.getByText("You can look, not change").waitFor();
  await page.check();
  await page.leave();
});

test("a question is answered by keyboard alone", async () => {
  const workspace = await server.api.workspace("Keyboard");
  await workspace.agent("ask_user", { questions: [{ name: "language", question: "Which language?", schema: { type: "string", enum: ["English", "French"] } }] });
  const page = await openPage(server, WIDE, "#/inbox");
  const detail = page.locator(".split-detail");
  await until("the question is shown", async () => {
    if (await detail.getByText("Which language?").count()) return true;
    await page.keyboard.press("j");
    return false;
  });
  await page.keyboard.press("Enter");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await until("it is answered", async () => (await workspace.list("questions")).questions[0].answers?.language === "French");
  await page.check();
  await page.leave();
});

test("a key that is held down approves one request and no other", async () => {
  const workspace = await asking("Held key");
  for (const to of ["9090", "7070"]) await edit(workspace, "8080", to);
  const requests = await approvals(workspace);
  assert.equal(requests.length, 2);
  const page = await openPage(server, WIDE, `#/inbox/${workspace.id}/approval/${requests.at(-1).id}`);
  await mayPressY(page);
  // Until another request is shown, and long enough for its own key.
  const isNext = async () => !page.url().includes(requests.at(-1).id) && (await page.locator("button[aria-keyshortcuts=y]").count()) > 0;
  await until("another request could be approved", async () => {
    await page.keyboard.down("y");
    return isNext();
  });
  for (let i = 0; i < 10; i++) await page.keyboard.down("y");
  assert.ok(await isNext());
  await page.keyboard.up("y");
  const statuses = (await approvals(workspace)).map((one) => one.status).sort();
  assert.deepEqual(statuses, ["executed", "pending"]);
  await page.check();
  await page.leave();
});
