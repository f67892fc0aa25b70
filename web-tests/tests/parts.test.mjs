// A part of a request is approved, and the rest refused; several requests are decided together; some are put off.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { closeBrowser, LOOKS, openPage, startServer, until, WIDE } from "../harness.mjs";

let server;
before(async () => (server = await startServer()));
after(async () => {
  await closeBrowser();
  await server.close();
});

const LINES = Array.from({ length: 40 }, (_, i) => `line ${i + 1}`);
const PATCH = `*** Begin Patch
*** Update File: config/long.txt
@@
-line 2
+line two
@@
-line 20
+line twenty
@@
-line 38
+line thirty-eight
*** Update File: config/site.toml
@@
-port = 8080
+port = 9090
*** Add File: config/new.toml
+fresh = true
*** End Patch
`;

/** A request that changes three files, one of them in three places. */
async function asking(name) {
  const workspace = await server.api.workspace(name, { preset: "open", rules: [] });
  await workspace.person("write", { path: "/config/long.txt", content: LINES.join("\n") + "\n" });
  await workspace.person("write", { path: "/config/site.toml", content: "port = 8080\n" });
  await server.api.call("PUT", `/workspaces/${workspace.id}/policy`, { rules: [{ effect: "change", path: "config/**", then: "ask", why: "People look at configuration first." }] });
  await workspace.agent("apply_patch_json", { patch: PATCH }, "codex");
  const [request] = (await workspace.list("approvals")).approvals;
  return { workspace, request, address: `#/inbox/${workspace.id}/approval/${request.id}` };
}

/** Opens the policy again, so that the test itself can read. */
const text = async (workspace, path) => {
  await server.api.call("PUT", `/workspaces/${workspace.id}/policy`, { rules: [] });
  return JSON.stringify(await workspace.person("read", { path }));
};
const one = (workspace, id) => server.api.call("GET", `/workspaces/${workspace.id}/approvals/${id}`);

for (const look of LOOKS) {
  const name = `${look.width} px, ${look.theme}`;
  test(`one of three files is left out, with a word (${name})`, async () => {
    const { workspace, request, address } = await asking(`Files ${name}`);
    const page = await openPage(server, look, address);
    await page.getByText("port = 9090").first().waitFor();
    await page.axe("parts");
    await page.getByRole("checkbox", { name: "/config/site.toml", exact: true }).click();
    const approve = page.getByRole("button", { name: /^Approve 2 of 3 files/ });
    await approve.waitFor();
    assert.equal(await page.getByRole("button", { name: "For this chat" }).count(), 0);
    await page.getByLabel("A word to the agent about the rest").fill("The port stays.");
    await page.axe("parts-left-out");
    await approve.click();
    await page.getByText("The agent is told that the rest is refused.").waitFor();
    assert.match(await text(workspace, "/config/long.txt"), /line two.*line twenty/);
    assert.match(await text(workspace, "/config/site.toml"), /8080/);
    assert.match(await text(workspace, "/config/new.toml"), /fresh/);
    const after_ = await one(workspace, request.id);
    assert.deepEqual(after_.refused, [{ path: "/config/site.toml", hunks: null }]);
    assert.equal(after_.decision_reason, "The port stays.");
    await page.goto(`/${address}`);
    await page.getByText("A part was refused").waitFor();
    await page.axe("parts-outcome");
    await page.check();
    await page.leave();
  });
}

test("one of five changes is left out by keyboard alone", async () => {
  const { workspace, request, address } = await asking("Keyboard");
  const page = await openPage(server, WIDE, address);
  await page.getByText("line twenty").first().waitFor();
  // Into the diff, to the second change of the file, and off with it.
  await page.keyboard.press("d");
  for (let i = 0; i < 2; i++) await page.keyboard.press("]");
  await page.keyboard.press("x");
  await page.getByRole("button", { name: /^Approve 4 of 5 changes/ }).waitFor();
  await page.keyboard.press("[");
  await page.keyboard.press("[");
  await page.axe("parts-changes");
  await page.locator("button[aria-keyshortcuts=y]").waitFor();
  await page.keyboard.press("y");
  await page.getByText("The agent is told that the rest is refused.").waitFor();
  const now = await text(workspace, "/config/long.txt");
  assert.match(now, /line two/);
  assert.match(now, /line 20/);
  assert.match(now, /line thirty-eight/);
  assert.match(await text(workspace, "/config/site.toml"), /9090/);
  assert.deepEqual((await one(workspace, request.id)).refused, [{ path: "/config/long.txt", hunks: [1] }]);
  await page.check();
  await page.leave();
});

test("with nothing ticked nothing can be approved, and a box is ticked with a click on it", async () => {
  const { address } = await asking("Nothing");
  const page = await openPage(server, WIDE, address);
  for (const path of ["/config/site.toml", "/config/new.toml", "/config/long.txt"]) await page.getByRole("checkbox", { name: path, exact: true }).click();
  assert.ok(await page.getByRole("button", { name: /^Approve 0 of 3 files/ }).isDisabled());
  await page.getByRole("checkbox", { name: "Change 2 of /config/long.txt" }).click();
  await page.getByRole("button", { name: /^Approve 1 of 5 changes/ }).waitFor();
  await page.check();
  await page.leave();
});

test("what is at risk comes first: removed, moved, changed, new", async () => {
  const workspace = await server.api.workspace("Risk", { preset: "open", rules: [] });
  for (const name of ["a-changed", "b-moved", "c-removed"]) await workspace.person("write", { path: `/config/${name}.txt`, content: `${name}\n`.repeat(3) });
  await server.api.call("PUT", `/workspaces/${workspace.id}/policy`, { rules: [{ effect: "change", path: "config/**", then: "ask" }] });
  const patch = "*** Begin Patch\n*** Add File: config/0-new.txt\n+new\n*** Update File: config/a-changed.txt\n@@\n-a-changed\n+another\n a-changed\n a-changed\n*** Update File: config/b-moved.txt\n*** Move to: config/b-there.txt\n@@\n-b-moved\n+moved\n b-moved\n b-moved\n*** Delete File: config/c-removed.txt\n*** End Patch\n";
  await workspace.agent("apply_patch_json", { patch }, "codex");
  const [request] = (await workspace.list("approvals")).approvals;
  const page = await openPage(server, WIDE, `#/inbox/${workspace.id}/approval/${request.id}`);
  await page.getByRole("region", { name: "What would change" }).waitFor();
  const shown = await page.locator(".diff-file").evaluateAll((files) => files.map((file) => /removed|moved|modified|created/.exec(file.className)[0]));
  // A file that is moved and changed is both.
  assert.deepEqual(shown, ["removed", "moved", "modified", "modified", "created"]);
  await page.check();
  await page.leave();
});

/** Requests for as many files, each by itself. */
async function many(name, paths) {
  const workspace = await server.api.workspace(name, { preset: "open", rules: [] });
  await workspace.person("write", { path: "/config/first.txt", content: "So that the folder is there.\n" });
  await server.api.call("PUT", `/workspaces/${workspace.id}/policy`, { rules: [{ effect: "change", path: "config/**", then: "ask" }] });
  for (const path of paths) await workspace.agent("write", { path: `/config/${path}`, content: `${path}\n` });
  return workspace;
}
const statuses = async (workspace) => (await workspace.list("approvals")).approvals.map((one) => one.status).sort();

for (const look of LOOKS) {
  const name = `${look.width} px, ${look.theme}`;
  test(`several requests are selected, looked at, and approved together (${name})`, async () => {
    const workspace = await many(`Several ${name}`, ["a.txt", "b.txt", "c.txt"]);
    const page = await openPage(server, look, "#/inbox");
    const list = page.getByRole("list", { name: "What waits for you" });
    await list.getByText("/config/c.txt").last().waitFor();
    await page.getByRole("button", { name: "Select several requests" }).click();
    await page.getByRole("checkbox", { name: /^Select: .*a\.txt/ }).last().click();
    await page.getByRole("checkbox", { name: /^Select: .*c\.txt/ }).last().click();
    await page.getByText("2 selected").waitFor();
    await page.axe("several");
    await page.keyboard.press("Shift+Y");
    const dialog = page.getByRole("dialog", { name: "Approve 2 requests?" });
    await dialog.getByRole("region", { name: /What would change/ }).first().waitFor();
    await page.axe("several-dialog");
    await until("the button has the focus", () => page.evaluate(() => /Approve 2/.test(document.activeElement.textContent)));
    await page.keyboard.press("Enter");
    await page.getByText("Approved: 2 requests.").waitFor();
    assert.deepEqual(await statuses(workspace), ["executed", "executed", "pending"]);
    await page.check();
    await page.leave();
  });

  test(`a request is put off, listed as later, and brought back (${name})`, async () => {
    const workspace = await many(`Later ${name}`, ["later.txt"]);
    const [request] = (await workspace.list("approvals")).approvals;
    const page = await openPage(server, look, `#/inbox/${workspace.id}/approval/${request.id}`);
    await page.getByRole("region", { name: "What would change" }).waitFor();
    await page.keyboard.press("l");
    await page.getByRole("menu").waitFor();
    await page.axe("later-menu");
    await page.getByRole("menuitem", { name: /tomorrow/i }).click();
    await page.getByText("It comes back").waitFor();
    await page.waitForURL((url) => !url.hash.includes(request.id));
    assert.deepEqual(await statuses(workspace), ["pending"]);
    await page.goto("/#/inbox/later");
    await page.getByRole("list", { name: "What you put off" }).getByText("/config/later.txt").first().waitFor();
    await page.axe("later");
    await page.goto(`/#/inbox/later/${workspace.id}/approval/${request.id}`);
    await page.getByRole("region", { name: "What would change" }).waitFor();
    await page.keyboard.press("l");
    await page.getByRole("menuitem", { name: "Back into the inbox" }).click();
    await page.getByText("It is in the inbox again.").waitFor();
    await page.goto("/#/inbox");
    await page.getByRole("list", { name: "What waits for you" }).getByText("/config/later.txt").first().waitFor();
    await page.check();
    await page.leave();
  });
}
