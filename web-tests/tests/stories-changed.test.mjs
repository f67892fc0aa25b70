// A file that changes between showing and clicking, where nobody planned the request again meanwhile: the server notices
// only while it does what was approved. The card is shown again with the new diff, and nothing is done. And what is
// approved and not done is not called done.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { closeBrowser, LOOKS, openPage, startServer, until, WIDE } from "../harness.mjs";

let server;
before(async () => (server = await startServer()));
after(async () => {
  await closeBrowser();
  await server.close();
});

const ASK = { preset: "open", rules: [{ effect: "change", path: "config/**", then: "ask", why: "People look at configuration first." }] };
const CHANGED = /has changed since it was shown to you/;
const LINES = Array.from({ length: 40 }, (_, i) => `line ${i + 1}`);
const AGENTS = LINES.with(1, "line two").with(37, "line thirty-eight").join("\n") + "\n";

/** A workspace whose agent asks to overwrite files of a person. */
async function asking(name, files = { "/config/long.txt": AGENTS }) {
  const workspace = await server.api.workspace(name, { preset: "open", rules: [] });
  for (const path of Object.keys(files)) await workspace.person("write", { path, content: LINES.join("\n") + "\n" });
  await server.api.call("PUT", `/workspaces/${workspace.id}/policy`, ASK);
  for (const [path, content] of Object.entries(files)) await workspace.agent("write", { path, content, overwrite: true });
  const [request] = await approvals(workspace);
  return { workspace, request, address: `#/inbox/${workspace.id}/approval/${request.id}` };
}

const approvals = async (workspace) => (await workspace.list("approvals")).approvals;
const one = (workspace, id) => server.api.call("GET", `/workspaces/${workspace.id}/approvals/${id}`);
const text = async (workspace, path) => (await workspace.person("read", { path })).result?.content ?? "";

/** A person changes a file behind the request, without anything that would plan it again. */
async function change(workspace, path = "/config/long.txt") {
  await server.api.call("PUT", `/workspaces/${workspace.id}/policy`, { preset: "open", rules: [] });
  const answer = await workspace.person("edit", { path, old_string: "line 20", new_string: "a person's line" });
  assert.ok(answer.success, JSON.stringify(answer));
  await server.api.call("PUT", `/workspaces/${workspace.id}/policy`, ASK);
}

/** The card is there again with what it asks for now, and nothing was done or claimed to be done. */
async function isShownAgain(page, workspace, request) {
  await page.getByText(CHANGED).waitFor();
  await page.locator(".diff-row.remove", { hasText: "a person's line" }).first().waitFor();
  assert.ok(page.url().endsWith(request.id), "the same request is shown");
  assert.equal(await page.getByText(/Approved and done|Approved \d of|The agent is told that the rest/).count(), 0);
  const now = await one(workspace, request.id);
  assert.equal(now.status, "pending");
  assert.notEqual(now.state_hash, request.state_hash);
  assert.match(await text(workspace, "/config/long.txt"), /a person's line/);
  assert.doesNotMatch(await text(workspace, "/config/long.txt"), /line two/);
}

for (const look of LOOKS) {
  const name = `${look.width} px, ${look.theme}`;
  test(`a file to be overwritten that changes between showing and clicking is shown again (${name})`, async () => {
    const { workspace, request, address } = await asking(`Main button ${name}`);
    const page = await openPage(server, look, address);
    await page.getByText("line thirty-eight").first().waitFor();
    await change(workspace);
    await page.getByRole("button", { name: /^Approve once/ }).click();
    await isShownAgain(page, workspace, request);
    await page.axe("shown-again");
    // What is on the screen now can be approved.
    await page.getByRole("button", { name: /^Approve once/ }).click();
    await page.getByText("Approved and done.").first().waitFor();
    assert.doesNotMatch(await text(workspace, "/config/long.txt"), /a person's line/);
    await page.check();
    await page.leave();
  });
}

test("a part of a file that changes between showing and clicking is shown again, and has to be chosen again", async () => {
  const { workspace, request, address } = await asking("Part");
  const page = await openPage(server, WIDE, address);
  await page.getByRole("checkbox", { name: "Change 2 of /config/long.txt" }).click();
  await page.getByLabel("A word to the agent about the rest").fill("Only the first.");
  await change(workspace);
  await page.getByRole("button", { name: /^Approve 1 of 2 changes/ }).click();
  await isShownAgain(page, workspace, request);
  await page.getByRole("button", { name: /^Approve once/ }).waitFor();
  await page.check();
  await page.leave();
});

test("the key that approved what was shown does not approve what is shown instead", async () => {
  const { workspace, request, address } = await asking("Key");
  const page = await openPage(server, WIDE, address);
  await page.getByText("line thirty-eight").first().waitFor();
  await page.locator("button[aria-keyshortcuts=y]").waitFor();
  await change(workspace);
  // The second press is there the moment that the new diff is.
  await page.evaluate((words) => {
    new MutationObserver((_, observer) => {
      if (!new RegExp(words).test(document.body.innerText)) return;
      observer.disconnect();
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "y", bubbles: true }));
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  }, CHANGED.source);
  await page.keyboard.press("y");
  await isShownAgain(page, workspace, request);
  await page.locator("button[aria-keyshortcuts=y]").waitFor();
  assert.equal((await one(workspace, request.id)).status, "pending");
  await page.check();
  await page.leave();
});

test("arguments that were edited for a file that changes before the click are planned again", async () => {
  const { workspace, request, address } = await asking("Arguments");
  const page = await openPage(server, WIDE, `${address}/edit`, { ignore: /409/ });
  const dialog = page.getByRole("dialog", { name: "Edit the arguments" });
  await dialog.getByLabel("content", { exact: true }).fill(AGENTS.replace("line two", "line 2"));
  await page.keyboard.press("Control+Enter");
  const planned = dialog.getByRole("region", { name: "What would change with these arguments" });
  await planned.getByText("line thirty-eight").waitFor();
  // The answer that the server gives where it notices the change only while it does what was approved.
  await page.route("**/decision", async (route) => {
    await change(workspace);
    await route.fulfill({ json: await one(workspace, request.id) });
  });
  await dialog.getByRole("button", { name: "Approve with these arguments" }).click();
  await dialog.getByText("Something changed meanwhile, so nothing was decided.").waitFor();
  await planned.locator(".diff-row.remove", { hasText: "a person's line" }).waitFor();
  assert.equal(await page.getByText("Approved with your arguments").count(), 0);
  assert.equal((await one(workspace, request.id)).status, "pending");
  await page.check();
  await page.leave();
});

test("of several requests the one whose file changed is named, waits on, and the others are done", async () => {
  const { workspace } = await asking("Several", { "/config/long.txt": AGENTS, "/config/other.txt": AGENTS });
  const page = await openPage(server, WIDE, "#/inbox");
  for (const name of ["long", "other"]) {
    if (name === "long") await page.getByRole("button", { name: "Select several requests" }).click();
    await page.getByRole("checkbox", { name: new RegExp(`^Select: .*/config/${name}\\.txt`) }).last().click();
  }
  await page.getByText("2 selected").waitFor();
  await page.keyboard.press("Shift+Y");
  const dialog = page.getByRole("dialog", { name: "Approve 2 requests?" });
  await dialog.getByRole("region", { name: /What would change/ }).first().waitFor();
  await change(workspace);
  await dialog.getByRole("button", { name: "Approve 2" }).click();
  await dialog.getByText("1 of 2 requests was not done.").waitFor();
  await dialog.getByRole("region", { name: /long\.txt/ }).first().getByText("It asks for something else by now: look at it again.").waitFor();
  await page.getByText("Approved: 1 request.").waitFor();
  await page.axe("several-not-done");
  assert.deepEqual((await approvals(workspace)).map((row) => [row.args.path, row.status]).sort(), [["/config/long.txt", "pending"], ["/config/other.txt", "executed"]]);
  assert.match(await text(workspace, "/config/long.txt"), /a person's line/);
  await dialog.getByRole("button", { name: "Close" }).last().click();
  await page.getByRole("list", { name: "What waits for you" }).getByText("/config/long.txt").last().waitFor();
  await page.check();
  await page.leave();
});

for (const [status, words] of [["approved", /not done yet: the agent's process does it/], ["unknown", /ended before it could say what came of it/], ["failed", /could not be done/], ["expired", /nobody came to do it in time/]]) {
  test(`an approval that comes back as ${status} is not called done`, async () => {
    const { request, workspace, address } = await asking(`Status ${status}`);
    const page = await openPage(server, WIDE, address);
    await page.getByText("line thirty-eight").first().waitFor();
    await page.route("**/decision", async (route) => route.fulfill({ json: { ...(await one(workspace, request.id)), status } }));
    await page.getByRole("button", { name: /^Approve once/ }).click();
    await page.getByRole("status").getByText(words).first().waitFor();
    assert.equal(await page.getByText("Approved and done.").count(), 0);
    await page.check();
    await page.leave();
  });
}
