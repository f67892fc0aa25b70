// `toolyard ui`: one person on one machine, without an account. What another process asks is decided on the page.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { closeBrowser, WIDE } from "../harness.mjs";
import { startLocal } from "../local.mjs";

let local;
before(async () => (local = await startLocal()));
after(async () => {
  await closeBrowser();
  await local.close();
});

test("the code opens the page, and a card of another process is decided there", async () => {
  await local.toolyard("call", "write", '{"path": "/notes.md", "content": "# Notes\\n"}');
  const page = await local.open(WIDE);
  await page.getByText("Nothing waits for you").waitFor();
  assert.ok(!page.url().includes("code"));
  await page.getByText("Live", { exact: true }).waitFor();
  await local.toolyard("policy", "preset", "strict");
  const asked = local.toolyard("call", "--wait", "write", '{"path": "/asked.md", "content": "x\\n"}');
  const since = Date.now();
  await page.getByText("/asked.md").first().waitFor();
  console.log(`# the card of another process was there after ${Date.now() - since} ms, its start included`);
  await page.getByRole("button", { name: "Approve once" }).waitFor();
  await page.axe("local-inbox");
  await page.locator("button[aria-keyshortcuts=y]").waitFor();
  await page.keyboard.press("y");
  await page.getByText("Approved and done.").first().waitFor();
  assert.match(await asked, /"success":true/);
  await page.goto("/#/workspaces");
  await page.locator(".card-link").click();
  await page.getByText("/asked.md").first().waitFor();
  await page.keyboard.press("5");
  await page.getByText("Connect an agent").waitFor();
  await page.axe("local-settings");
  await page.check();
  await page.leave();
});
