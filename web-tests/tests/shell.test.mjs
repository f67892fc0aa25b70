// Around the screens: the login keeps the address, a login that ended is renewed, a server that went away comes back, the
// themes, and how much the page loads.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { closeBrowser, LOOKS, openPage, PHONE, startServer, until, WIDE } from "../harness.mjs";

const web = join(import.meta.dirname, "..", "..", "web");
let server;
before(async () => (server = await startServer()));
after(async () => {
  await closeBrowser();
  await server.close();
});

for (const look of LOOKS) {
  test(`a login leads to where the address says (${look.width} px, ${look.theme})`, async () => {
    const workspace = await server.api.workspace("Linked");
    await workspace.agent("write", { path: "/linked.txt", content: "x\n" });
    const step = (await workspace.list("steps")).steps[0].id;
    const page = await openPage(server, look, `#/w/${workspace.id}/timeline/${step}`, { isLoggedIn: false, ignore: /\/auth\/me .*401/ });
    await page.getByLabel("Email").fill("ada@example.com");
    await page.getByLabel("Password").fill("not the password");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("alert").waitFor();
    await page.axe("login");
    await page.getByLabel("Password").fill("a long enough password");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "What the step changed" }).getByText("/linked.txt").waitFor();
    await page.check();
    await page.leave();
  });
}

test("an access token that ended is renewed without a word", async () => {
  const workspace = await server.api.workspace("Renewed");
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/timeline`, { ignore: /401/ });
  await page.getByText("Nothing has happened yet").waitFor();
  const kept = (await page.context().cookies()).filter((cookie) => cookie.name !== "access_token");
  await page.context().clearCookies();
  await page.context().addCookies(kept);
  await page.goto(`/#/w/${workspace.id}/settings`);
  await page.getByRole("heading", { name: "Keys for agents" }).waitFor();
  await page.getByRole("button", { name: /^Guarded/ }).waitFor();
  await page.check();
  await page.leave();
});

test("a server that goes away and comes back is live again, and nothing is lost", async () => {
  const workspace = await server.api.workspace("Restart");
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/timeline`, { ignore: /ERR_|Failed to load/ });
  await page.getByText("Nothing has happened yet").waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  await server.kill();
  await page.getByText(/Connecting|Offline/).first().waitFor();
  await server.startAgain();
  await workspace.agent("write", { path: "/after-the-restart.txt", content: "x\n" });
  await page.getByText("/after-the-restart.txt").first().waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  await page.check();
  await page.leave();
});

test("the theme is switched, and kept", async () => {
  const page = await openPage(server, WIDE, "#/settings");
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.getByRole("main").getByRole("button", { name: "Dark" }).click();
  assert.notEqual(await background(), light);
  await page.reload();
  await page.getByRole("heading", { name: "You", exact: true }).waitFor();
  assert.notEqual(await background(), light);
  await page.check();
  await page.leave();
});

test("all that the page loads is below 200 kB with gzip", () => {
  const files = readdirSync(web, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile() && !entry.name.endsWith(".d.ts"));
  const bytes = files.reduce((sum, entry) => sum + gzipSync(readFileSync(join(entry.parentPath, entry.name)), { level: 9 }).length, 0);
  console.log(`# the page: ${files.length} files, ${bytes} bytes with gzip`);
  assert.ok(bytes < 200_000);
});

test("every state of a cold and an empty page is designed", async () => {
  const page = await openPage(server, WIDE, "#/w/00000000-0000-0000-0000-000000000000/timeline");
  await page.getByText("This workspace is not among yours").waitFor();
  await page.axe("not-found");
  await page.goto("/#/nowhere");
  await page.getByRole("heading", { name: "Inbox", exact: true }).waitFor();
  await page.check();
  await page.leave();
});

test("the page names all of its modules, so that they are loaded at once", () => {
  const modules = readdirSync(web, { recursive: true }).filter((name) => name.endsWith(".js") && name !== "theme.js" && name !== "main.js").map((name) => `/web/${name}`).sort();
  const named = [...readFileSync(join(web, "index.html"), "utf8").matchAll(/rel="modulepreload" href="([^"]+)"/g)].map((match) => match[1]).sort();
  assert.deepEqual(named, modules);
});

test("a one-time code is taken out of the address and exchanged; a used one says what to do", async () => {
  const page = await openPage(server, WIDE, "#/settings");
  await page.getByRole("heading", { name: "You", exact: true }).waitFor();
  const sent = [];
  await page.route("**/api/v1/auth/code", (route) => (sent.push(route.request().postDataJSON()), route.fulfill({ json: { user: {} } })));
  await page.goto("about:blank");
  await page.goto("/#code=tyc_secret");
  await page.getByRole("heading", { name: "Inbox", exact: true }).waitFor();
  assert.deepEqual(sent, [{ code: "tyc_secret" }]);
  assert.equal(new URL(page.url()).hash, "#/inbox");
  await page.check();
  await page.leave();

  const other = await openPage(server, PHONE, "#code=used", { isLoggedIn: false, ignore: /401|404/ });
  await other.getByText("The code in this address is not good any more").waitFor();
  await other.axe("code-refused");
  assert.ok(!other.url().includes("used"));
  await other.getByRole("button", { name: "I have an account" }).click();
  await other.getByLabel("Password").waitFor();
  await other.check();
  await other.leave();
});

test("of several tabs one has the stream, all are live, and another takes over", async () => {
  const workspace = await server.api.workspace("Tabs");
  const first = await openPage(server, WIDE, `#/w/${workspace.id}/timeline`);
  await first.getByText("Nothing has happened yet").waitFor();
  const streams = [];
  const tabs = [];
  for (let i = 0; i < 8; i++) {
    const tab = await first.context().newPage();
    tab.on("request", (request) => /\/events$/.test(request.url()) && streams.push(request.url()));
    await tab.goto(`${server.url}/#/w/${workspace.id}/timeline`);
    await tab.getByText("Nothing has happened yet").waitFor();
    tabs.push(tab);
  }
  await workspace.agent("write", { path: "/seen-by-all.txt", content: "x\n" });
  for (const tab of [first, ...tabs]) await tab.getByText("/seen-by-all.txt").first().waitFor();
  assert.deepEqual(streams, [], "only the first tab has a stream");
  await first.check();
  await first.close();
  await until("another tab has the stream", async () => streams.length > 0);
  await workspace.agent("write", { path: "/after-the-first.txt", content: "x\n" });
  for (const tab of tabs) await tab.getByText("/after-the-first.txt").first().waitFor();
  assert.deepEqual(first.wrong, [], "in none of the tabs");
  await tabs[0].context().close();
});

test("who is in more workspaces than are followed is told so, in every tab", async () => {
  const page = await openPage(server, PHONE, "#/settings");
  await page.getByRole("heading", { name: "You", exact: true }).waitFor();
  const stream = 'retry: 100\n\nevent: partial\ndata: {"followed":1000}\n\n';
  await page.context().route("**/api/v1/events", (route) => route.fulfill({ headers: { "content-type": "text/event-stream" }, body: stream }));
  await page.goto("/#/workspaces");
  await page.reload();
  await page.getByText("only the newest 1,000 show at once what happens in them").waitFor();
  await page.axe("workspaces-partial");
  const other = await page.context().newPage();
  await other.goto(`${server.url}/#/workspaces`);
  await other.getByText("only the newest 1,000").waitFor();
  await page.check();
  await page.leave();
});
