// The timeline: lines added and removed, filters in the address, where a step went back to, and two steps compared.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { closeBrowser, LOOKS, openPage, startServer, until, WIDE } from "../harness.mjs";

let server;
before(async () => (server = await startServer()));
after(async () => {
  await closeBrowser();
  await server.close();
});

/** A workspace with steps of an agent and of a person, in two folders. */
async function worked(name) {
  const workspace = await server.api.workspace(name, { preset: "open", rules: [] });
  // A step that makes a folder is named after it.
  for (const folder of ["src", "docs"]) await workspace.person("write", { path: `/${folder}/first.txt`, content: "first\n" });
  await workspace.agent("write", { path: "/src/greet.py", content: 'print("Hello")\nprint("again")\n' });
  await workspace.person("write", { path: "/docs/read.md", content: "# Read me\n" });
  await workspace.agent("edit", { path: "/src/greet.py", old_string: "Hello", new_string: "Good morning" });
  await workspace.agent("write", { path: "/docs/new.md", content: "New\n" });
  return { workspace, steps: (await workspace.list("steps")).steps };
}

for (const look of LOOKS) {
  const name = `${look.width} px, ${look.theme}`;
  test(`the list says how many lines changed, and is filtered as the address says (${name})`, async () => {
    const { workspace } = await worked(`Filter ${name}`);
    const page = await openPage(server, look, `#/w/${workspace.id}/timeline`);
    const list = page.getByRole("list", { name: "Steps" });
    await list.getByText("/src/greet.py").first().waitFor();
    await list.locator(".counts", { hasText: "+2" }).waitFor();
    await list.locator(".counts", { hasText: "−1" }).waitFor();
    await page.keyboard.press("f");
    await page.getByRole("form", { name: "Filters" }).waitFor();
    await page.axe("timeline-filters");
    await page.getByLabel("Path", { exact: true }).fill("/src");
    await page.keyboard.press("Enter");
    await until("only that folder is shown", async () => (await list.getByText("/docs").count()) === 0 && (await list.getByText("/src/greet.py").count()) === 2);
    await page.getByRole("combobox", { name: "What" }).selectOption("edit");
    await until("only the edit is shown", async () => (await list.locator(".step-row").count()) === 1);
    await page.axe("timeline-filtered");
    assert.match(page.url(), /\?path=%2Fsrc&verb=edit$/);
    // The address is all that another person needs.
    const other = await openPage(server, look, page.url().replace(/^.*#/, "#"));
    await other.getByRole("list", { name: "Steps" }).getByText("/src/greet.py").first().waitFor();
    assert.equal(await other.locator(".step-row").count(), 1);
    await other.keyboard.press("j");
    await other.getByRole("region", { name: "What the step changed" }).waitFor();
    assert.match(other.url(), /\?path=%2Fsrc&verb=edit$/);
    await other.check();
    await other.leave();
    await page.getByRole("button", { name: "Remove the filter: /src" }).click();
    await page.getByRole("combobox", { name: "What" }).selectOption("");
    await page.getByRole("combobox", { name: "By" }).selectOption({ label: "You" });
    await until("only the person's steps are shown", async () => (await list.locator(".step-row").count()) === 3 && (await list.getByText("/docs/read.md").count()) === 1);
    await page.check();
    await page.leave();
  });

  test(`two steps are compared (${name})`, async () => {
    const { workspace, steps } = await worked(`Compare ${name}`);
    const oldest = steps.at(-1);
    const page = await openPage(server, look, `#/w/${workspace.id}/timeline/${oldest.id}`);
    await page.getByRole("region", { name: "What the step changed" }).waitFor();
    await page.keyboard.press("m");
    const shown = page.getByRole("region", { name: "What is different" });
    if (page.isPhone) await page.getByRole("list", { name: "Steps" }).getByText("/src/greet.py").first().click();
    else await shown.getByText("/docs/new.md").first().waitFor();
    await shown.getByText("Good morning").first().waitFor();
    await page.axe("compare");
    if (!page.isPhone) await page.getByRole("list", { name: "Steps" }).getByText("/src/greet.py").first().click();
    await until("the step is the second one", async () => (await shown.getByText("/docs/new.md").count()) === 0);
    await page.getByRole("button", { name: "Swap" }).click();
    await shown.locator(".diff-row.remove", { hasText: "Good morning" }).waitFor();
    await page.goto(`/#/w/${workspace.id}/timeline/compare/${oldest.id}/${oldest.id}`);
    await page.getByText("Nothing is different").waitFor();
    await page.check();
    await page.leave();
  });
}

test("a step that went back says where to", async () => {
  const { workspace, steps } = await worked("Back");
  const oldest = steps.at(-1);
  const { step_id } = await server.api.call("POST", `/workspaces/${workspace.id}/steps/${oldest.id}/back-to`, {});
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/timeline/${step_id}`);
  await page.getByRole("link", { name: "went back to this step" }).click();
  await until("the older step is shown", () => page.url().endsWith(oldest.id));
  await page.check();
  await page.leave();
});

test("a comparison that fails says so, and tries again", async () => {
  const { workspace, steps } = await worked("Fails");
  const page = await openPage(server, WIDE, "#/inbox", { ignore: /compare/ });
  let isDown = true;
  await page.route("**/compare?*", (route) => (isDown ? route.fulfill({ status: 503, body: "" }) : route.continue()));
  await page.goto(`/#/w/${workspace.id}/timeline/compare/${steps.at(-1).id}`);
  await page.getByText("The server cannot be reached").waitFor();
  await page.shot("compare-offline");
  isDown = false;
  await page.getByRole("region", { name: "What is different" }).waitFor();
  await page.check();
  await page.leave();
});

test("steps are filtered by chat", async () => {
  const { workspace } = await worked("By chat");
  const chat = (await server.api.call("POST", `/workspaces/${workspace.id}/chats`, { title: "Another run" })).chat.id;
  await server.api.call("POST", `/workspaces/${workspace.id}/tools`, { tool: "write", args: { path: "/docs/other.md", content: "Other\n" }, toolset: "workspace", chat_id: chat });
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/timeline`);
  const list = page.getByRole("list", { name: "Steps" });
  await list.getByText("/docs/other.md").waitFor();
  await page.keyboard.press("f");
  await page.getByRole("combobox", { name: "Chat" }).selectOption({ label: "Another run" });
  await until("only the step of that chat is shown", async () => (await list.locator(".step-row").count()) === 1);
  await list.getByText("/docs/other.md").waitFor();
  await page.getByRole("group", { name: "The list is filtered" }).getByText("in Another run").waitFor();
  assert.match(page.url(), new RegExp(`chat=${chat}`));
  await page.getByRole("combobox", { name: "Chat" }).selectOption({ label: "A test run" });
  await until("the other chat's steps are shown", async () => (await list.getByText("/docs/other.md").count()) === 0 && (await list.locator(".step-row").count()) === 3);
  await page.check();
  await page.leave();
});

test("a path that is filtered by no more is not applied again by its field", async () => {
  const { workspace } = await worked("Field");
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/timeline`);
  await page.getByRole("list", { name: "Steps" }).getByText("/src/greet.py").first().waitFor();
  await page.keyboard.press("f");
  const field = page.getByLabel("Path", { exact: true });
  await field.fill("/docs");
  await field.press("Enter");
  await page.getByRole("button", { name: "Remove the filter: /docs" }).click();
  await until("the field is empty", async () => (await field.inputValue()) === "");
  await field.focus();
  await page.keyboard.press("Tab");
  assert.ok(!page.url().includes("path="), page.url());
  await page.check();
  await page.leave();
});

test("what another program changed is shown as such", async () => {
  const { workspace } = await worked("Outside");
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/timeline`);
  const list = page.getByRole("list", { name: "Steps" });
  await list.getByText("/src/greet.py").first().waitFor();
  writeFileSync(join(server.files(workspace.id), "docs", "read.md"), "# Written by an editor\n");
  // It is recorded as soon as somebody changes the file.
  assert.ok((await workspace.agent("edit", { path: "/docs/read.md", old_string: "an editor", new_string: "an agent" })).success);
  await page.getByRole("button", { name: "Outside" }).click();
  await list.getByText("/docs/read.md").waitFor();
  await list.getByText("/docs/read.md").click();
  await page.getByText("An editor or another program changed this.").waitFor();
  await page.getByRole("region", { name: "What the step changed" }).getByText("# Written by an editor").waitFor();
  await page.locator(".split-detail .actor", { hasText: "Somebody outside" }).waitFor();
  await page.axe("external");
  await page.check();
  await page.leave();
});
