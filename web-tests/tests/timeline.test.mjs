// The timeline: steps by day, the diff of a step, undo, an undo that conflicts, redo, filters, and an old list that is paged.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { closeBrowser, LOOKS, openPage, startServer, until } from "../harness.mjs";

let server;
before(async () => (server = await startServer()));
after(async () => {
  await closeBrowser();
  await server.close();
});

const content = async (workspace, path) => (await workspace.person("read", { path })).result?.content;

for (const look of LOOKS) {
  const name = `${look.width} px, ${look.theme}`;
  test(`a step is shown, undone by keyboard, and done again (${name})`, async () => {
    const workspace = await server.api.workspace(`Undo ${name}`);
    await workspace.agent("write", { path: "/src/greet.py", content: 'print("Hello")\n' });
    await workspace.agent("edit", { path: "/src/greet.py", old_string: "Hello", new_string: "Good morning" });
    const page = await openPage(server, look, `#/w/${workspace.id}/timeline`);
    await page.getByText("Today").first().waitFor();
    await page.axe("timeline");
    await page.keyboard.press("j");
    await page.getByRole("region", { name: "What the step changed" }).getByText("Good morning").waitFor();
    await page.axe("step");
    await page.getByRole("button", { name: /^Undo/ }).waitFor();
    await page.keyboard.press("u");
    await page.getByRole("dialog").getByText("Good morning").first().waitFor();
    await page.axe("undo");
    await page.getByRole("button", { name: "Undo it" }).click();
    await until("it is undone", async () => /Hello/.test(JSON.stringify(await content(workspace, "/src/greet.py"))));
    await page.getByText("undone by a later step").waitFor();
    await page.keyboard.press("u");
    await page.getByRole("button", { name: "Do it again" }).click();
    await until("it is done again", async () => /Good morning/.test(JSON.stringify(await content(workspace, "/src/greet.py"))));
    await page.check();
    await page.leave();
  });
}

test("an undo that conflicts says so, and changes nothing", async () => {
  const workspace = await server.api.workspace("Conflict");
  await workspace.agent("write", { path: "/a.txt", content: "one\n" });
  const first = (await workspace.list("steps")).steps[0].id;
  await workspace.agent("write", { path: "/a.txt", content: "two\n", overwrite: true });
  const page = await openPage(server, LOOKS[0], `#/w/${workspace.id}/timeline/${first}`, { ignore: /409/ });
  await page.getByRole("button", { name: /^Undo/ }).click();
  const dialog = page.getByRole("dialog");
  const button = dialog.getByRole("button", { name: "Undo it" });
  if (await button.isEnabled()) await button.click();
  await dialog.getByRole("alert").waitFor();
  assert.match(JSON.stringify(await content(workspace, "/a.txt")), /two/);
  await page.check();
  await page.leave();
});

test("with a server that previews: some files are chosen, a conflict is named before anything happens, and back to here", async () => {
  const workspace = await server.api.workspace("Preview");
  await workspace.agent("shell", { command: "echo one > a.txt; echo two > b.txt", workdir: null, timeout_ms: 10_000 }, "codex");
  await workspace.agent("write", { path: "/c.txt", content: "three\n" });
  const step = (await workspace.list("steps")).steps.at(-1).id;
  const page = await openPage(server, LOOKS[0], "#/settings", { ignore: /40[459]/ });
  /** What the page sends to the routes that are answered here, in place of the server. */
  const sent = [];
  await page.route("**/api/v1/inbox?*", (route) => route.fulfill({ json: { entries: [], next: null } }));
  await page.route("**/steps/*/back-to", (route) => (route.request().method() === "GET" ? route.fulfill({ status: 405, json: { success: false, error: "only POST", code: "METHOD_NOT_ALLOWED" } }) : answer(route)));
  await page.route("**/steps/*/undo", (route) => answer(route));
  const answer = (route) => {
    const body = route.request().postDataJSON();
    sent.push(body);
    if (!body.preview) return route.fulfill({ json: { step_id: step, paths: [] } });
    const isWhole = !body.paths;
    return route.fulfill({ json: { diff: "--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", conflicts: isWhole ? [{ path: "/b.txt", message: "it was changed since" }] : [], state_hash: "abc" } });
  };
  await page.reload();
  await page.getByRole("heading", { name: "You", exact: true }).waitFor();
  await page.goto(`/#/w/${workspace.id}/timeline/${step}`);
  await page.getByRole("button", { name: "Back to here" }).waitFor();
  await page.keyboard.press("u");
  const dialog = page.getByRole("dialog");
  await dialog.getByText("/b.txt: it was changed since").waitFor();
  assert.ok(await dialog.getByRole("button", { name: "Undo it" }).isDisabled());
  await page.axe("undo-conflict");
  await dialog.getByRole("checkbox", { name: "/b.txt" }).click();
  await until("a part can be undone", () => dialog.getByRole("button", { name: "Undo it" }).isEnabled());
  await page.axe("undo-preview");
  await page.keyboard.press("Enter");
  await until("it is sent", async () => sent.some((body) => !body.preview));
  assert.deepEqual(sent.at(-1), { state_hash: "abc", paths: ["/a.txt"] });
  await page.check();
  await page.leave();
});

test("steps are filtered by who and by words, and new ones appear by themselves", async () => {
  const workspace = await server.api.workspace("Filter");
  await workspace.agent("write", { path: "/by-agent.txt", content: "a\n" });
  await workspace.person("write", { path: "/by-person.txt", content: "b\n" });
  const page = await openPage(server, LOOKS[0], `#/w/${workspace.id}/timeline`);
  const list = page.getByRole("list", { name: "Steps" });
  await list.getByText("/by-agent.txt").waitFor();
  await page.getByRole("button", { name: "People" }).click();
  await until("the agent's step is hidden", async () => (await list.getByText("/by-agent.txt").count()) === 0);
  await page.getByRole("button", { name: "Everyone" }).click();
  await page.keyboard.press("/");
  await page.keyboard.type("by-agent");
  await until("the person's step is hidden", async () => (await list.getByText("/by-person.txt").count()) === 0);
  await page.keyboard.press("Escape");
  await workspace.agent("write", { path: "/later.txt", content: "c\n" });
  await list.getByText("/later.txt").waitFor();
  await page.check();
  await page.leave();
});

test("a long timeline has few nodes, and its older steps are read as they are reached", async () => {
  const workspace = await server.api.workspace("Long", { preset: "open", rules: [] });
  for (let i = 0; i < 450; i++) await workspace.agent("write", { path: `/n/${i}.txt`, content: `${i}\n` });
  const page = await openPage(server, LOOKS[0], `#/w/${workspace.id}/timeline`);
  await page.getByText("/n/449.txt").first().waitFor();
  await until("the oldest step is reached", async () => {
    await page.evaluate(() => document.querySelector(".split-list").scrollBy(0, 6_000));
    return (await page.getByText("/n/1.txt").count()) > 0;
  }, 15_000);
  await page.check();
  await page.leave();
});
