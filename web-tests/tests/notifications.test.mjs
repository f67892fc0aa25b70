// Notifications of the browser: while the tab is in the background, if the person wants them, and without a name of a file.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { closeBrowser, openPage, startServer, until, WIDE } from "../harness.mjs";

let server;
before(async () => (server = await startServer()));
after(async () => {
  await closeBrowser();
  await server.close();
});

/** Runs in the page: notifications that are only noted, and a tab that says that it is in the background. */
function stub() {
  window.notes = [];
  window.isInBackground = false;
  window.answer = "granted";
  window.Notification = class {
    static permission = localStorage.getItem("allowed") ?? "default";
    static async requestPermission() {
      if (window.answer === "granted") localStorage.setItem("allowed", "granted");
      return (this.permission = window.answer);
    }
    constructor(title, options) {
      window.notes.push({ title, ...options });
      window.lastNote = this;
    }
    close() {}
  };
  Object.defineProperty(document, "visibilityState", { get: () => (window.isInBackground ? "hidden" : "visible") });
}

test("what waits is told while the tab is in the background, by the workspace's name alone", async () => {
  const workspace = await server.api.workspace("Website", { preset: "strict", rules: [] });
  const page = await openPage(server, WIDE, "#/settings");
  await page.addInitScript(stub);
  await page.reload();
  const wanted = page.getByRole("switch", { name: "Notifications" });
  const notes = () => page.evaluate(() => window.notes);
  const waits = (number) => until(`${number} wait`, async () => (await page.title()) === `(${number}) Toolyard`);
  // Not before the person wants them.
  await page.evaluate(() => (window.isInBackground = true));
  await workspace.agent("write", { path: "/secret-name-1.txt", content: "x" });
  await waits(1);
  assert.deepEqual(await notes(), []);
  await wanted.click();
  await until("they are wanted", async () => (await wanted.getAttribute("aria-checked")) === "true");
  // Not while the tab is looked at.
  await page.evaluate(() => (window.isInBackground = false));
  await workspace.agent("write", { path: "/secret-name-2.txt", content: "x" });
  await waits(2);
  assert.deepEqual(await notes(), []);
  await page.evaluate(() => (window.isInBackground = true));
  await workspace.agent("write", { path: "/secret-name-3.txt", content: "x" });
  await waits(3);
  await until("there is a notification", async () => (await notes()).length === 1);
  assert.deepEqual(await notes(), [{ title: "Website", body: "An agent waits for your approval", tag: "toolyard-inbox" }]);
  await page.evaluate(() => window.lastNote.onclick());
  await page.getByRole("list", { name: "What waits for you" }).waitFor();
  assert.match(page.url(), /#\/inbox/);
  await page.check();
  await page.leave();
});

test("a browser that refuses notifications has none wanted", async () => {
  const page = await openPage(server, WIDE, "#/settings");
  await page.addInitScript(stub);
  await page.reload();
  await page.evaluate(() => (window.answer = "denied"));
  const wanted = page.getByRole("switch", { name: "Notifications" });
  await wanted.click();
  await page.getByText("Your browser refuses them for this page").waitFor();
  assert.equal(await wanted.getAttribute("aria-checked"), "false");
  assert.ok(await wanted.isDisabled());
  await page.axe("notifications-refused");
  await page.check();
  await page.leave();
});
