// Files: the tree, a text, its versions, going back to one, rename, remove, trash and restore.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { closeBrowser, LOOKS, openPage, startServer, until } from "../harness.mjs";

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
  const page = await openPage(server, LOOKS[0], `#/w/${workspace.id}/files`, { ignore: /\/tools .*404/ });
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
  const page = await openPage(server, LOOKS[0], `#/w/${workspace.id}/files/src/a-file-with-a-name.py`);
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
  const page = await openPage(server, LOOKS[0], "#/settings");
  await page.route("**/files/trash?*", async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({ json: { ...answer, files: answer.files.map((file) => ({ ...file, step_id: null, removed_at: null })) } });
  });
  await page.goto(`/#/w/${workspace.id}/trash`);
  await page.getByText("/gone.txt").waitFor();
  await page.getByText("removed outside").waitFor();
  assert.equal(await page.getByRole("link", { name: /The step that removed/ }).count(), 0);
  await page.axeInBoth("trash-outside");
  await page.check();
  await page.leave();
});

test("a folder is found in the tree, takes an upload, and is renamed", async () => {
  const workspace = await server.api.workspace("Folder");
  await workspace.agent("write", { path: "/docs/read.md", content: "# Read me\n" });
  const page = await openPage(server, LOOKS[0], `#/w/${workspace.id}/files`, { ignore: /\/tools .*404/ });
  await page.getByRole("link", { name: "The folder /docs" }).click();
  await page.getByRole("heading", { name: "A folder" }).waitFor();
  await page.axeInBoth("folder");
  await page.getByLabel("Files to upload into this folder").setInputFiles({ name: "up.txt", mimeType: "text/plain", buffer: Buffer.from("uploaded\n") });
  await until("it is in the folder", async () => /uploaded/.test(JSON.stringify(await workspace.person("read", { path: "/docs/up.txt" }))));
  await page.getByRole("button", { name: "Rename" }).click();
  await page.getByLabel("New path").fill("/texts");
  await page.getByRole("button", { name: "Move it" }).click();
  await until("it is moved", async () => /uploaded/.test(JSON.stringify(await workspace.person("read", { path: "/texts/up.txt" }))));
  await page.check();
  await page.leave();
});

test("a folder of 50,000 files has few nodes", async () => {
  const workspace = await server.api.workspace("Many", { preset: "open", rules: [] });
  const made = await workspace.agent("shell", { command: "mkdir many; cd many; seq -f %05g.txt 1 50000 | xargs touch", workdir: null, timeout_ms: 60_000 }, "codex");
  if (!made.success) return; // No box on this machine: there is no quick way to make so many files.
  const page = await openPage(server, LOOKS[0], `#/w/${workspace.id}/files`);
  await page.getByRole("button", { name: "many" }).click();
  await page.getByRole("link", { name: "00001.txt" }).waitFor({ timeout: 60_000 });
  await page.evaluate(() => (document.querySelector(".split-list").scrollTop = 400_000));
  await until("other files are shown", async () => page.evaluate(() => document.querySelectorAll(".tree-row").length > 10 && !document.body.innerText.includes("00001.txt")));
  assert.ok((await page.evaluate(() => document.querySelectorAll("*").length)) < 1_000);
  await page.check();
  await page.leave();
});
