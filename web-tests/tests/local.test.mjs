// `toolyard ui`: one person on one machine, without an account. What another process asks is decided on the page.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startDevServer } from "../dev-server.mjs";
import { closeBrowser, LOOKS, openPage, until } from "../harness.mjs";

const binary = process.env.TOOLYARD;
let folder, ui, address, dev;

/** Runs `toolyard` in the project, and returns what it prints. */
const toolyard = (...args) => new Promise((resolve) => execFile(binary, ["--data-dir", join(folder, "data"), ...args], { cwd: join(folder, "project") }, (_, out, errors) => resolve(out + errors)));

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "toolyard-local-"));
  mkdirSync(join(folder, "project"));
  await toolyard("call", "write", '{"path": "/notes.md", "content": "# Notes\\n"}');
  ui = spawn(binary, ["ui", "--no-open", "--data-dir", join(folder, "data"), "--port", String(20_000 + (process.pid % 10_000))], { cwd: join(folder, "project") });
  let said = "";
  ui.stdout.on("data", (piece) => (said += piece));
  ui.stderr.on("data", (piece) => (said += piece));
  address = await until("toolyard ui prints an address", () => /(http:\/\/[\d.]+:\d+)\/#code=(\S+)/.exec(said), 15_000).catch(() => null);
  if (address) dev = await startDevServer(address[1]);
});
after(async () => {
  await closeBrowser();
  await dev?.close();
  ui.kill("SIGTERM");
  rmSync(folder, { recursive: true, force: true });
});

test("the code opens the page, and a card of another process is decided there", async (context) => {
  if (!address) return context.skip("this binary has no `toolyard ui`");
  const page = await openPage({ url: process.env.TOOLYARD_PAGE ? address[1] : dev.url }, LOOKS[0], `#code=${address[2]}`, { isLoggedIn: false });
  await page.getByText("Nothing waits for you").waitFor();
  assert.ok(!page.url().includes("code"));
  await page.getByText("Live", { exact: true }).waitFor();
  await toolyard("policy", "preset", "strict");
  const asked = toolyard("call", "--wait", "write", '{"path": "/asked.md", "content": "x\\n"}');
  const since = Date.now();
  await page.getByText("/asked.md").first().waitFor();
  console.log(`# the card of another process was there after ${Date.now() - since} ms, its start included`);
  await page.getByRole("button", { name: "Approve once" }).waitFor();
  await page.axeInBoth("local-inbox");
  await page.keyboard.press("y");
  await page.getByText("Approved and done.").first().waitFor();
  assert.match(await asked, /"success":true/);
  await page.goto("/#/workspaces");
  await page.locator(".card-link").click();
  await page.getByText("/asked.md").first().waitFor();
  await page.keyboard.press("5");
  await page.getByText("Connect an agent").waitFor();
  await page.axeInBoth("local-settings");
  await page.check();
  await page.leave();
});
