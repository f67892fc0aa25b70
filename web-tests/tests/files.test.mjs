// Files: the tree, a text, its versions, going back to one, rename, remove, trash and restore.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { closeBrowser, LOOKS, openPage, startServer, until, WIDE } from "../harness.mjs";

const OPEN = { preset: "open", rules: [] };
let server;
before(async () => (server = await startServer()));
after(async () => {
  await closeBrowser();
  await server.close();
});

for (const look of LOOKS) {
  const name = `${look.width} px, ${look.theme}`;
  test(`a file is found, read, taken back, removed and restored (${name})`, async () => {
    const workspace = await server.api.workspace(`Files ${name}`);
    await workspace.agent("write", { path: "/src/deep/greet.py", content: 'def greet():  # a comment\n    return "Hello"\n' });
    await workspace.agent("edit", { path: "/src/deep/greet.py", old_string: "Hello", new_string: "Good morning" });
    // A file that is removed while it is shown is asked for once more.
    const page = await openPage(server, look, `#/w/${workspace.id}/files`, { ignore: /\/tools .*404/ });
    await page.getByRole("button", { name: "src" }).click();
    await page.getByRole("button", { name: "deep" }).click();
    await page.axe("files");
    await page.getByRole("link", { name: "greet.py" }).click();
    await page.getByRole("region", { name: "Text of the file" }).getByText("Good morning").waitFor();
    await page.axe("file");
    await page.getByRole("button", { name: "History" }).click();
    await page.getByRole("region", { name: "What this version changed" }).getByText("Good morning").waitFor();
    await page.axe("file-history");
    await page.getByRole("button", { name: "Make it the newest" }).click();
    await until("the old version is back", async () => /Hello/.test(JSON.stringify(await workspace.person("read", { path: "/src/deep/greet.py" }))));
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByRole("button", { name: "Remove it" }).click();
    await page.getByText("It is in the trash").waitFor();
    await page.goto(`/#/w/${workspace.id}/trash`);
    await page.getByText("/src/deep/greet.py").waitFor();
    await page.axe("trash");
    await page.getByRole("button", { name: "Restore" }).first().click();
    await until("it is restored", async () => /Hello/.test(JSON.stringify(await workspace.person("read", { path: "/src/deep/greet.py" }))));
    await page.check();
    await page.leave();
  });
}

test("a name is searched, and a file is uploaded and renamed", async () => {
  const workspace = await server.api.workspace("Search");
  await workspace.agent("write", { path: "/a/b/needle.txt", content: Array.from({ length: 1_000 }, (_, i) => `line ${i + 1}`).join("\n") });
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/files`, { ignore: /\/tools .*404/ });
  await page.getByLabel("Find a file by its name or its text").fill("needle");
  await page.getByRole("link", { name: "/a/b/needle.txt" }).waitFor();
  await page.getByRole("button", { name: "Texts" }).click();
  await page.getByText("No text has this").waitFor();
  await page.getByLabel("Find a file by its name or its text").fill("line 777");
  await page.getByRole("link", { name: /needle.txt:777/ }).click();
  await page.locator(".text-row.wanted", { hasText: "line 777" }).waitFor();
  await page.axe("files-texts");
  await page.getByLabel("Find a file by its name or its text").fill("");
  await page.locator("input[type=file]").setInputFiles({ name: "up.txt", mimeType: "text/plain", buffer: Buffer.from("uploaded\n") });
  await page.getByRole("link", { name: "up.txt" }).click();
  await page.getByRole("region", { name: "Text of the file" }).getByText("uploaded").waitFor();
  await page.getByRole("button", { name: "Rename" }).click();
  await page.getByLabel("New path").fill("/renamed.txt");
  await page.getByRole("button", { name: "Move it" }).click();
  await page.getByRole("link", { name: "renamed.txt" }).waitFor();
  await page.check();
  await page.leave();
});

test("what is done with a file stays on one line at every width", async () => {
  const workspace = await server.api.workspace("Widths");
  await workspace.agent("write", { path: "/src/a-file-with-a-name.py", content: "x = 1\n".repeat(9_000) });
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/files/src/a-file-with-a-name.py`);
  await page.getByRole("region", { name: "Text of the file" }).waitFor();
  for (const width of [1700, 1600, 1440, 1366, 1300, 1200, 1100, 1000, 920, 768, 360]) {
    await page.setViewportSize({ width, height: 800 });
    const tops = await page.evaluate(() => [...document.querySelectorAll(".file-actions > *")].map((button) => button.getBoundingClientRect().top));
    assert.equal(tops.length, 3);
    assert.equal(new Set(tops).size, 1, `at ${width} px the buttons are at ${tops}`);
    await page.check();
  }
  await page.leave();
});

test("what no step removed is in the trash without a link to one", async () => {
  const workspace = await server.api.workspace("Outside");
  await workspace.agent("write", { path: "/gone.txt", content: "x\n" });
  await workspace.agent("rm", { path: "/gone.txt" });
  const page = await openPage(server, WIDE, "#/settings");
  await page.route("**/files/trash?*", async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({ json: { ...answer, files: answer.files.map((file) => ({ ...file, step_id: null, removed_at: null })) } });
  });
  await page.goto(`/#/w/${workspace.id}/trash`);
  await page.getByText("/gone.txt").waitFor();
  await page.getByText("removed outside").waitFor();
  assert.equal(await page.getByRole("link", { name: /The step that removed/ }).count(), 0);
  await page.axe("trash-outside");
  await page.check();
  await page.leave();
});

test("a file is downloaded as it is now, under its name", async () => {
  const workspace = await server.api.workspace("Bytes");
  const bytes = Buffer.from([0, 1, 2, 255, 254, 10]);
  await workspace.agent("write", { path: "/a/first.txt", content: "first\n" });
  await workspace.agent("edit", { path: "/a/first.txt", old_string: "first", new_string: "second" });
  const headers = { authorization: `Bearer ${server.api.token}`, "content-type": "application/octet-stream" };
  const uploaded = await fetch(`${server.url}/api/v1/workspaces/${workspace.id}/files?path=${encodeURIComponent("/a/picture ü.bin")}`, { method: "POST", headers, body: bytes });
  assert.ok(uploaded.ok, await uploaded.text());
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/files/a/first.txt`);
  const download = async () => {
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download" }).click()]);
    return { name: file.suggestedFilename(), content: readFileSync(await file.path()) };
  };
  await page.getByRole("region", { name: "Text of the file" }).getByText("second").waitFor();
  assert.deepEqual(await download(), { name: "first.txt", content: Buffer.from("second\n") });
  await page.goto(`/#/w/${workspace.id}/files/a/${encodeURIComponent("picture ü.bin")}`);
  await page.getByRole("heading", { name: "Not a text" }).waitFor();
  assert.deepEqual(await download(), { name: "picture ü.bin", content: bytes });
  await page.check();
  await page.leave();
});

test("a file that another program made is read before any step knows it", async () => {
  const workspace = await server.api.workspace("Made outside");
  await workspace.agent("write", { path: "/a.txt", content: "a\n" });
  writeFileSync(join(server.files(workspace.id), "outside.txt"), Array.from({ length: 3_000 }, (_, i) => `line ${i + 1}`).join("\n"));
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/files/outside.txt`);
  const text = page.getByRole("region", { name: "Text of the file" });
  await text.getByText("line 1", { exact: true }).waitFor();
  await page.evaluate(() => (document.querySelector(".split-detail").scrollTop = 1e9));
  await text.getByText("line 3000").waitFor();
  assert.equal(await page.getByRole("button", { name: /History|Who wrote it/ }).count(), 0);
  await page.axe("file-outside");
  await page.check();
  await page.leave();
});

test("what the policy asks about waits in the inbox, and the page says so", async () => {
  const workspace = await server.api.workspace("Asks", OPEN);
  await workspace.agent("write", { path: "/docs/read.md", content: "# Read me\n" });
  await server.api.call("PUT", `/workspaces/${workspace.id}/policy`, { rules: [{ effect: "move", path: "docs/**", then: "ask" }] });
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/files/docs/read.md`);
  await page.getByRole("region", { name: "Text of the file" }).waitFor();
  await page.getByRole("button", { name: "Rename" }).click();
  await page.getByLabel("New path").fill("/docs/moved.md");
  await page.getByRole("button", { name: "Move it" }).click();
  await page.getByRole("alert").getByText("The policy asks before this is done: it waits in the inbox.").waitFor();
  assert.equal((await workspace.list("approvals")).approvals[0].status, "pending");
  await page.check();
  await page.leave();
});

test("a folder is found in the tree, takes an upload, and is renamed", async () => {
  const workspace = await server.api.workspace("Folder", OPEN);
  await workspace.agent("write", { path: "/docs/read.md", content: "# Read me\n" });
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/files`, { ignore: /\/tools .*404/ });
  await page.getByRole("link", { name: "The folder /docs" }).click();
  await page.getByRole("link", { name: "What changed in it" }).waitFor();
  await page.axe("folder");
  await page.getByLabel("Files to upload into this folder").setInputFiles({ name: "up.txt", mimeType: "text/plain", buffer: Buffer.from("uploaded\n") });
  await until("it is in the folder", async () => /uploaded/.test(JSON.stringify(await workspace.person("read", { path: "/docs/up.txt" }))));
  await page.getByRole("button", { name: "Rename" }).click();
  await page.getByLabel("New path").fill("/texts");
  await page.getByRole("button", { name: "Move it" }).click();
  await until("it is moved", async () => /uploaded/.test(JSON.stringify(await workspace.person("read", { path: "/texts/up.txt" }))));
  await page.getByRole("heading", { name: "/texts" }).waitFor();
  // It is removed with what is in it, and comes back with it.
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByRole("dialog", { name: "Remove this folder?" }).getByRole("button", { name: "Remove it" }).click();
  await page.getByText("It is in the trash").waitFor();
  await page.goto(`/#/w/${workspace.id}/trash`);
  await page.getByText("/texts", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Restore" }).first().click();
  await until("it is back", async () => /uploaded/.test(JSON.stringify(await workspace.person("read", { path: "/texts/up.txt" }))));
  await page.check();
  await page.leave();
});

test("a folder of 50,000 files has few nodes, and scrolls smoothly", async () => {
  const workspace = await server.api.workspace("Many", OPEN);
  await workspace.agent("write", { path: "/first.txt", content: "x\n" });
  const folder = join(server.files(workspace.id), "many");
  mkdirSync(folder);
  for (let i = 1; i <= 50_000; i++) writeFileSync(join(folder, `${String(i).padStart(5, "0")}.txt`), "");
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/files`);
  await page.getByRole("button", { name: "many" }).click();
  await page.getByRole("link", { name: "00001.txt" }).waitFor();
  const seen = await page.scrolls(".split-list", 4_000, "50000.txt");
  assert.ok(seen.isAtEnd, "the last file is reached");
  assert.ok(seen.most <= 2_000, `${seen.most} nodes`);
  await page.check();
  await page.leave();
});
