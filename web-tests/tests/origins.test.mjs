// What pages of other origins get of the page and of the API, in a browser that has a login: nothing. All of it is asked of
// `toolyard serve` and of `toolyard ui` with the files that are built into the program, as people run them.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { BUILT_IN, closeBrowser, EMAIL, newContext, PASSWORD, REBOUND, startServer, until } from "../harness.mjs";
import { startLocal } from "../local.mjs";

let server, local, uiCookies, other;
before(async () => {
  server = await startServer(BUILT_IN);
  local = await startLocal(BUILT_IN);
  // The code is good once, and for a minute.
  const context = await newContext();
  assert.ok((await context.request.post(`${local.url}/api/v1/auth/code`, { data: { code: local.code } })).ok());
  uiCookies = await context.cookies();
  await context.close();
  // A page of somebody else. On the same address with another port it is another origin of the same site, to which a browser
  // sends even cookies that are strict.
  other = createServer((_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<title>Theirs</title><p>Theirs</p>"));
  await new Promise((resolve) => other.listen(0, "127.0.0.1", resolve));
});
after(async () => {
  await closeBrowser();
  other.close();
  await local.close();
  await server.close();
});

/** A browser that is logged in at the program. */
async function loggedIn(kind) {
  const url = kind === "ui" ? local.url : server.url;
  const context = await newContext();
  if (kind === "ui") await context.addCookies(uiCookies);
  else assert.ok((await context.request.post(`${url}/api/v1/auth/login`, { data: { email: EMAIL, password: PASSWORD } })).ok());
  const me = await context.request.get(`${url}/api/v1/auth/me`);
  assert.equal(me.status(), 200, "the browser is logged in");
  return { url, context };
}

for (const kind of ["serve", "ui"]) {
  for (const host of ["127.0.0.1", REBOUND]) {
    const name = `${kind}, ${host === REBOUND ? "another site" : "another port"}`;

    test(`a page of another origin reads and changes nothing (${name})`, async () => {
      const { url, context } = await loggedIn(kind);
      const page = await context.newPage();
      const sent = [];
      page.on("request", (request) => request.url().startsWith(url) && sent.push(request.url()));
      await page.goto(`http://${host}:${other.address().port}/`);
      const got = await page.evaluate(async (target) => {
        const tries = {
          read: () => fetch(`${target}/api/v1/auth/me`, { credentials: "include" }),
          page: () => fetch(`${target}/`, { credentials: "include" }),
          json: () => fetch(`${target}/api/v1/workspaces`, { method: "POST", credentials: "include", headers: { "content-type": "application/json" }, body: '{"name":"Theirs"}' }),
          simple: () => fetch(`${target}/api/v1/workspaces`, { method: "POST", credentials: "include", mode: "no-cors", headers: { "content-type": "text/plain" }, body: '{"name":"Theirs"}' }),
          stream: () => fetch(`${target}/api/v1/events`, { credentials: "include" }),
        };
        const found = {};
        for (const [what, run] of Object.entries(tries)) {
          found[what] = await run().then(async (answer) => `${answer.type} ${answer.status} ${await answer.text()}`, () => "refused");
        }
        found.events = await new Promise((resolve) => {
          const source = new EventSource(`${target}/api/v1/events`, { withCredentials: true });
          source.onmessage = source.onopen = () => resolve("open");
          source.onerror = () => (source.close(), resolve("refused"));
        });
        return found;
      }, url);
      assert.deepEqual(got, { read: "refused", page: "refused", json: "refused", simple: "opaque 0 ", stream: "refused", events: "refused" });
      assert.ok(sent.length > 0, "the browser did ask");
      // A form is sent like a link that is followed, with whatever cookies there are.
      await page.evaluate((target) => {
        const form = Object.assign(document.createElement("form"), { method: "post", enctype: "text/plain", action: `${target}/api/v1/workspaces` });
        form.append(Object.assign(document.createElement("input"), { name: '{"name":"Theirs","x":"', value: '"}' }));
        document.body.append(form);
        form.submit();
      }, url);
      await page.waitForURL(`${url}/**`);
      const { workspaces } = await (await context.request.get(`${url}/api/v1/workspaces`)).json();
      assert.ok(workspaces.every((workspace) => workspace.name !== "Theirs"), JSON.stringify(workspaces));
      await context.close();
    });

    test(`a frame around the page shows nothing of it (${name})`, async () => {
      const { url, context } = await loggedIn(kind);
      const page = await context.newPage();
      await page.goto(`http://${host}:${other.address().port}/`);
      for (const path of ["/", "/#/settings"]) {
        await page.evaluate((address) => {
          document.querySelectorAll("iframe").forEach((old) => old.remove());
          return new Promise((resolve) => {
            const frame = Object.assign(document.createElement("iframe"), { src: address, onload: resolve });
            document.body.append(frame);
          });
        }, url + path);
        const frame = await (await page.locator("iframe").elementHandle()).contentFrame();
        // The frame of another site is in another process, which says where it is after the frame has loaded.
        await until("the frame is somewhere", () => !["", "about:blank"].includes(frame.url()));
        assert.match(frame.url(), /^chrome-error:/, `${path} is in a frame`);
        assert.equal(await frame.locator("#page").count(), 0);
      }
      await context.close();
    });
  }

  test(`under another name the program answers nothing (${kind})`, async () => {
    const { url, context } = await loggedIn(kind);
    const { port } = new URL(url);
    const page = await context.newPage();
    // The name belongs to somebody else, and leads to this machine by now.
    const answer = await page.goto(`http://${REBOUND}:${port}/`);
    assert.ok(answer.status() >= 400, `${answer.status()}`);
    assert.equal(await page.locator("#page").count(), 0);
    const statuses = await page.evaluate(() => Promise.all(["/api/v1/auth/me", "/api/v1/workspaces", "/web/main.js", "/openapi.json"].map((path) => fetch(path, { credentials: "include" }).then((one) => one.status, () => 0))));
    assert.ok(statuses.every((status) => status === 0 || status >= 400), `${statuses}`);
    const made = await page.evaluate((code) => fetch("/api/v1/auth/code", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ code }) }).then((one) => one.status, () => 0), local.code);
    assert.ok(made === 0 || made >= 400, `${made}`);
    await context.close();
  });
}
