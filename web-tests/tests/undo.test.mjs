// Taking back: the preview of an undo, undo and redo, some of the files, conflicts, back to a step, and a file that
// changes between the preview and the click.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { closeBrowser, LOOKS, openPage, PHONE, startServer, until, WIDE } from "../harness.mjs";

let server;
before(async () => (server = await startServer()));
after(async () => {
  await closeBrowser();
  await server.close();
});

const OPEN = { preset: "open", rules: [] };

/** The text of a file, or "" if there is none. */
const text = async (workspace, path) => (await workspace.person("read", { path })).result?.content ?? "";
const steps = async (workspace) => (await workspace.list("steps")).steps;

/** A workspace with one step that changed /a.txt and /b.txt, and the step's id. */
async function twoFiles(name) {
  const workspace = await server.api.workspace(name, OPEN);
  await workspace.agent("write", { path: "/a.txt", content: "a one\n" });
  await workspace.agent("write", { path: "/b.txt", content: "b one\n" });
  const patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-a one\n+a two\n*** Update File: b.txt\n@@\n-b one\n+b two\n*** End Patch\n";
  const answer = await workspace.agent("apply_patch_json", { patch }, "codex");
  assert.ok(answer.success, JSON.stringify(answer));
  return { workspace, step: (await steps(workspace))[0].id };
}

for (const look of LOOKS) {
  const name = `${look.width} px, ${look.theme}`;

  test(`a step is previewed, undone and redone by keyboard (${name})`, async () => {
    const workspace = await server.api.workspace(`Undo ${name}`, OPEN);
    await workspace.agent("write", { path: "/src/greet.py", content: 'print("Hello")\n' });
    await workspace.agent("edit", { path: "/src/greet.py", old_string: "Hello", new_string: "Good morning" });
    const page = await openPage(server, look, `#/w/${workspace.id}/timeline`);
    await page.getByText("Today").first().waitFor();
    await page.keyboard.press("j");
    await page.getByRole("region", { name: "What the step changed" }).getByText("Good morning").waitFor();
    await page.keyboard.press("u");
    const preview = page.getByRole("dialog").getByRole("region", { name: "What would change" });
    await preview.locator(".diff-row.add", { hasText: "Hello" }).waitFor();
    assert.match(await text(workspace, "/src/greet.py"), /Good morning/);
    await page.axe("undo");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.match(await text(workspace, "/src/greet.py"), /Good morning/);
    await page.keyboard.press("u");
    await preview.locator(".diff-row.add", { hasText: "Hello" }).waitFor();
    await page.keyboard.press("Enter");
    await until("it is undone", async () => /Hello/.test(await text(workspace, "/src/greet.py")));
    await page.getByText("undone by a later step").waitFor();
    await page.axe("undone");
    await page.keyboard.press("u");
    await preview.locator(".diff-row.add", { hasText: "Good morning" }).waitFor();
    await page.keyboard.press("Enter");
    await until("it is redone", async () => /Good morning/.test(await text(workspace, "/src/greet.py")));
    await until("it is not shown as undone", async () => (await page.getByText("undone by a later step").count()) === 0);
    if (!page.isPhone) await page.getByRole("list", { name: "Steps" }).getByText("Redid").waitFor();
    await page.check();
    await page.leave();
  });

  test(`a conflict is named and changes nothing, and the rest is undone without it (${name})`, async () => {
    const { workspace, step } = await twoFiles(`Conflict ${name}`);
    await workspace.agent("edit", { path: "/b.txt", old_string: "b two", new_string: "b three" });
    const page = await openPage(server, look, `#/w/${workspace.id}/timeline/${step}/undo`);
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("alert").getByText("1 conflict").waitFor();
    await dialog.getByText(/The same lines were changed since/).waitFor();
    assert.ok(await dialog.getByRole("button", { name: "Undo it" }).isDisabled());
    await page.axe("undo-conflict");
    assert.match((await text(workspace, "/a.txt")) + (await text(workspace, "/b.txt")), /a two[^]*b three/);
    await dialog.getByRole("button", { name: "Leave it out" }).click();
    await until("the rest can be undone", () => dialog.getByRole("button", { name: "Undo it" }).isEnabled());
    await page.axe("undo-left-out");
    await page.keyboard.press("Enter");
    await until("the rest is undone", async () => /a one/.test(await text(workspace, "/a.txt")));
    assert.match(await text(workspace, "/b.txt"), /b three/);
    await page.check();
    await page.leave();
  });
}

test("one of two files is undone, then the rest, and what was undone last is redone", async () => {
  const { workspace, step } = await twoFiles("Some files");
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/timeline/${step}`);
  await page.getByRole("region", { name: "What the step changed" }).getByText("b two").waitFor();
  await page.keyboard.press("u");
  const dialog = page.getByRole("dialog");
  await dialog.getByText("b one").waitFor();
  await dialog.getByRole("checkbox", { name: "/b.txt" }).click();
  await dialog.getByText("1 of 2 files").waitFor();
  await until("a part can be undone", () => dialog.getByRole("button", { name: "Undo it" }).isEnabled());
  await dialog.getByRole("button", { name: "Undo it" }).click();
  await until("one file is undone", async () => /a one/.test(await text(workspace, "/a.txt")));
  assert.match(await text(workspace, "/b.txt"), /b two/);
  await page.getByText("partly undone by a later step").waitFor();
  await page.axe("undo-partly");
  await page.getByRole("button", { name: "Undo the rest" }).click();
  await dialog.getByText("b one").waitFor();
  assert.equal(await dialog.getByText("a one").count(), 0);
  await page.keyboard.press("Enter");
  await until("the rest is undone", async () => /b one/.test(await text(workspace, "/b.txt")));
  await page.getByText("undone by a later step", { exact: true }).waitFor();
  await page.getByRole("button", { name: /^Redo/ }).click();
  await dialog.getByText("b two").waitFor();
  await until("the newest undo can be taken back", () => dialog.getByRole("button", { name: "Redo it" }).isEnabled());
  await page.keyboard.press("Enter");
  await until("what was undone last is redone", async () => /b two/.test(await text(workspace, "/b.txt")));
  assert.match(await text(workspace, "/a.txt"), /a one/);
  await page.getByText("partly undone by a later step").waitFor();
  await page.check();
  await page.leave();
});

test("back to a step takes back all that came after it, and is undone itself", async () => {
  const workspace = await server.api.workspace("Back", OPEN);
  await workspace.agent("write", { path: "/one.txt", content: "one\n" });
  const step = (await steps(workspace))[0].id;
  await workspace.agent("edit", { path: "/one.txt", old_string: "one", new_string: "changed" });
  await workspace.agent("write", { path: "/two.txt", content: "two\n" });
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/timeline/${step}`);
  await page.getByRole("region", { name: "What the step changed" }).getByText("one", { exact: true }).waitFor();
  await page.keyboard.press("b");
  const dialog = page.getByRole("dialog", { name: "Go back to here?" });
  await dialog.getByText("the 2 later steps are taken back").waitFor();
  await dialog.getByText("/two.txt").first().waitFor();
  await page.axe("back-to");
  await page.keyboard.press("Enter");
  await until("the files are as they were", async () => /^\D*one/.test(await text(workspace, "/one.txt")) && (await text(workspace, "/two.txt")) === "");
  await page.getByRole("list", { name: "Steps" }).getByText("Went back").waitFor();
  // The newest step has nothing after it.
  await page.getByRole("button", { name: "Undo this" }).click();
  await page.getByRole("dialog", { name: "Undo this step?" }).getByText("/two.txt").first().waitFor();
  await until("it can be undone", () => page.getByRole("button", { name: "Undo it" }).isEnabled());
  await page.keyboard.press("Enter");
  await until("everything is there again", async () => /changed/.test(await text(workspace, "/one.txt")) && /two/.test(await text(workspace, "/two.txt")));
  const newest = (await steps(workspace))[0].id;
  await page.goto(`/#/w/${workspace.id}/timeline/${newest}`);
  await page.getByRole("button", { name: /^Undo/ }).first().waitFor();
  await until("the list knows that it is the newest one", async () => (await page.getByRole("button", { name: "Back to here" }).count()) === 0);
  await page.check();
  await page.leave();
});

test("a file that changes between the preview and the click is shown again, and nothing is done", async () => {
  const { workspace, step } = await twoFiles("Meanwhile");
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/timeline/${step}/undo`, { ignore: /409/ });
  const dialog = page.getByRole("dialog");
  await until("the preview is shown", () => dialog.getByRole("button", { name: "Undo it" }).isEnabled());
  await workspace.person("edit", { path: "/a.txt", old_string: "a two", new_string: "a two\nand more" });
  const before = (await steps(workspace)).length;
  await dialog.getByRole("button", { name: "Undo it" }).click();
  await dialog.getByText("Something changed meanwhile, so nothing was done.").waitFor();
  assert.equal((await steps(workspace)).length, before);
  assert.match((await text(workspace, "/a.txt")) + (await text(workspace, "/b.txt")), /a two[^]*b two/);
  await page.axe("undo-stale");
  await page.check();
  await page.leave();
});

test("the way back of the browser closes a preview, and nothing is done", async () => {
  const { workspace, step } = await twoFiles("Way back");
  const page = await openPage(server, PHONE, `#/w/${workspace.id}/timeline/${step}`);
  await page.getByRole("button", { name: /^Undo/ }).click();
  await page.getByRole("dialog").getByText("a one").waitFor();
  await page.goBack();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("region", { name: "What the step changed" }).getByText("a two").waitFor();
  assert.match(await text(workspace, "/a.txt"), /a two/);
  await page.check();
  await page.leave();
});

test("a key that is held down undoes nothing", async () => {
  const { workspace, step } = await twoFiles("Held");
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/timeline/${step}`);
  await page.getByRole("region", { name: "What the step changed" }).getByText("a two").waitFor();
  // The preview takes a while, so that the key is held before there is anything to do.
  await page.route("**/steps/*/undo", async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 500));
    await route.continue();
  });
  await page.keyboard.press("u");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.down("Enter");
  const button = page.getByRole("dialog").getByRole("button", { name: "Undo it" });
  await until("it can be undone", async () => {
    await page.keyboard.down("Enter");
    return button.isEnabled();
  });
  for (let i = 0; i < 5; i++) await page.keyboard.down("Enter");
  assert.ok(await button.isEnabled());
  assert.match(await text(workspace, "/a.txt"), /a two/);
  await page.keyboard.up("Enter");
  await page.keyboard.press("Enter");
  await until("it is undone", async () => /a one/.test(await text(workspace, "/a.txt")));
  await page.check();
  await page.leave();
});

test("a viewer has no way to take anything back", async () => {
  const { workspace, step } = await twoFiles("Viewer");
  await server.api.call("POST", "/auth/register", { email: "grace@example.com", password: "another long password", full_name: "Grace Hopper" });
  await server.api.call("POST", `/workspaces/${workspace.id}/members`, { email: "grace@example.com", role: "viewer" });
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/timeline/${step}/undo`, { email: "grace@example.com", password: "another long password" });
  await page.getByRole("region", { name: "What the step changed" }).getByText("a two").waitFor();
  await page.keyboard.press("u");
  assert.equal(await page.getByRole("dialog").count(), 0);
  assert.equal(await page.getByRole("button", { name: /^(Undo|Back to here)/ }).count(), 0);
  await page.check();
  await page.leave();
});
