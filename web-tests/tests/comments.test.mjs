// Comments on lines of diffs, gathered and sent to a chat; marks of viewed files, which fall off when the content changes.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { closeBrowser, LOOKS, openPage, startServer, until, WIDE } from "../harness.mjs";

let server;
before(async () => (server = await startServer()));
after(async () => {
  await closeBrowser();
  await server.close();
});

/** A step that changes a file with ten lines, and a request to change it again. */
async function worked(name) {
  const workspace = await server.api.workspace(name, { preset: "open", rules: [] });
  const lines = Array.from({ length: 10 }, (_, i) => `value_${i + 1} = ${i + 1}`);
  await workspace.person("write", { path: "/config/site.toml", content: lines.join("\n") + "\n" });
  await workspace.agent("edit", { path: "/config/site.toml", old_string: "value_3 = 3", new_string: "value_3 = 33" });
  await workspace.agent("edit", { path: "/config/site.toml", old_string: "value_8 = 8", new_string: "value_8 = 88" });
  return { workspace, steps: (await workspace.list("steps")).steps };
}
const drafts = async (workspace) => (await workspace.list("comments")).comments;
const messages = async (workspace) => JSON.stringify(await server.api.call("GET", `/workspaces/${workspace.id}/chats/${workspace.chat}`));

for (const look of LOOKS) {
  const name = `${look.width} px, ${look.theme}`;
  test(`a line is commented by keyboard, the comment is edited, and sent with another one (${name})`, async () => {
    const { workspace, steps } = await worked(`Comments ${name}`);
    const page = await openPage(server, look, `#/w/${workspace.id}/timeline/${steps[1].id}`);
    const diff = page.getByRole("region", { name: "What the step changed" });
    await diff.getByText("value_3 = 33").waitFor();
    // Into the diff, and down to the line that was added.
    await page.keyboard.press("d");
    for (let i = 0; i < 20 && !(await diff.locator(".diff-row.current.add").count()); i++) await page.keyboard.press("ArrowDown");
    await page.axe("comment-line");
    await page.keyboard.press("c");
    await page.getByLabel("What should be different").fill("Thirty is enough.");
    await page.axe("comment");
    await page.keyboard.press("Control+Enter");
    await diff.locator(".diff-comment", { hasText: "Thirty is enough." }).waitFor();
    await page.getByRole("region", { name: "Your comments" }).getByText("1 comment").waitFor();
    assert.deepEqual((await drafts(workspace)).map(({ path, side, line, text }) => ({ path, side, line, text })), [{ path: "/config/site.toml", side: "new", line: 3, text: "Thirty is enough." }]);
    // Another one with the pointer, on a line that was removed.
    await diff.locator(".diff-row.remove").hover();
    await diff.locator(".diff-row.remove").getByRole("button", { name: "Comment on line 3", exact: true }).click();
    await page.getByLabel("What should be different").fill("Why not three?");
    await page.getByRole("button", { name: "Keep it" }).click();
    await diff.locator(".diff-comment", { hasText: "Why not three?" }).waitFor();
    await page.axe("comments");
    await diff.getByRole("button", { name: "Edit the comment on line 3" }).first().click();
    await page.getByRole("dialog", { name: "Your comment" }).getByRole("button", { name: "Remove" }).click();
    await page.getByRole("region", { name: "Your comments" }).getByText("1 comment").waitFor();
    // The comments are there on every screen of the workspace.
    await page.goto(`/#/w/${workspace.id}/files`);
    await page.getByRole("button", { name: /Send to chat/ }).click();
    const dialog = page.getByRole("dialog", { name: "Send your comments" });
    await dialog.getByText("/config/site.toml:3").waitFor();
    await page.axe("comments-send");
    await dialog.getByLabel("Chat").selectOption({ label: "A test run" });
    await dialog.getByRole("button", { name: "Send 1 comment" }).click();
    await page.getByText("Sent: 1 comment, as one message.").waitFor();
    assert.equal((await drafts(workspace)).length, 0);
    assert.match(await messages(workspace), /Thirty is enough|Why not three/);
    await page.check();
    await page.leave();
  });
}

test("a file is marked as viewed, and the mark is for its content", async () => {
  const { workspace, steps } = await worked("Viewed");
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/timeline/${steps[0].id}`);
  const diff = page.getByRole("region", { name: "What the step changed" });
  await diff.getByText("value_8 = 88").waitFor();
  await page.keyboard.press("d");
  await page.keyboard.press("v");
  await until("the file is closed", async () => (await diff.getByText("value_8 = 88").count()) === 0);
  assert.ok(await diff.getByRole("checkbox", { name: "Viewed: /config/site.toml" }).isChecked());
  await page.axe("viewed");
  // Another content of the same file was not viewed; the same one is viewed after a reload, too.
  await page.goto(`/#/w/${workspace.id}/timeline/${steps[1].id}`);
  await diff.getByText("value_3 = 33").waitFor();
  assert.ok(!(await diff.getByRole("checkbox", { name: "Viewed: /config/site.toml" }).isChecked()));
  await page.goto(`/#/w/${workspace.id}/timeline/${steps[0].id}`);
  await page.reload();
  await until("the mark is still there", () => diff.getByRole("checkbox", { name: "Viewed: /config/site.toml" }).isChecked().catch(() => false));
  await diff.getByRole("button", { name: "Show the changes of /config/site.toml" }).click();
  await diff.getByText("value_8 = 88").waitFor();
  await page.check();
  await page.leave();
});

test("in a request lines are commented and files marked, until what it asks for changes", async () => {
  const { workspace } = await worked("Request");
  await server.api.call("PUT", `/workspaces/${workspace.id}/policy`, { rules: [{ effect: "change", path: "config/**", then: "ask" }] });
  await workspace.agent("edit", { path: "/config/site.toml", old_string: "value_5 = 5", new_string: "value_5 = 55" });
  const [request] = (await workspace.list("approvals")).approvals;
  const page = await openPage(server, WIDE, `#/inbox/${workspace.id}/approval/${request.id}`);
  const diff = page.getByRole("region", { name: "What would change" });
  await diff.getByText("value_5 = 55").waitFor();
  await page.keyboard.press("d");
  await page.keyboard.press("v");
  await until("the file is closed", async () => (await diff.getByText("value_5 = 55").count()) === 0);
  await page.keyboard.press("v");
  await diff.getByText("value_5 = 55").waitFor();
  for (let i = 0; i < 20 && !(await diff.locator(".diff-row.current.add").count()); i++) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("c");
  await page.getByLabel("What should be different").fill("Five, please.");
  await page.keyboard.press("Control+Enter");
  await diff.locator(".diff-comment", { hasText: "Five, please." }).waitFor();
  assert.equal((await drafts(workspace))[0].approval_id, request.id);
  await page.check();
  await page.leave();
});

test("a comment that is longer than the server takes is refused with its length, and can be shortened", async () => {
  const { workspace, steps } = await worked("Long comment");
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/timeline/${steps[1].id}`);
  const diff = page.getByRole("region", { name: "What the step changed" });
  await diff.getByText("value_3 = 33").waitFor();
  await page.keyboard.press("d");
  for (let i = 0; i < 20 && !(await diff.locator(".diff-row.current.add").count()); i++) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("c");
  const field = page.getByLabel("What should be different");
  // 8,192 characters of a Latin text are the most, and as many of another alphabet are twice as many bytes.
  assert.equal(await field.getAttribute("maxlength"), "8192");
  await field.fill("ж".repeat(5_000));
  await page.keyboard.press("Control+Enter");
  await page.getByRole("alert").getByText("This is too long: it has 9.8 KiB, and a comment has 8.0 KiB at most.").waitFor();
  await page.axe("comment-too-long");
  await field.fill("ж".repeat(4_096));
  await page.keyboard.press("Control+Enter");
  await until("it is kept", async () => (await drafts(workspace))[0]?.text.length === 4_096);
  await page.check();
  await page.leave();
});
