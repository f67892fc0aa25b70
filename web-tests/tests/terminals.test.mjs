// Terminals: a screen is watched, typed into and ended; what its program prints stays text.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { closeBrowser, LOOKS, openPage, startServer, until, WIDE } from "../harness.mjs";

let server;
before(async () => (server = await startServer()));
after(async () => {
  await closeBrowser();
  await server.close();
});

for (const look of LOOKS) {
  const name = `${look.width} px, ${look.theme}`;
  test(`a terminal is watched, typed into and ended (${name})`, async (context) => {
    const workspace = await server.api.workspace(`Terminal ${name}`, { preset: "open", rules: [] });
    const opened = await workspace.agent("exec_command", { session_id: "ask", cmd: 'printf "<img src=x onerror=alert(1)>\\n"; read -p "Name? " x; echo "Hello $x"; sleep 600', workdir: null }, "codex");
    if (!opened.success) return context.skip("no box on this machine");
    const [terminal] = (await workspace.list("terminals")).terminals;
    const page = await openPage(server, look, `#/w/${workspace.id}/terminals/${terminal.id}`);
    const screen = page.getByRole("region", { name: "Screen" });
    await screen.getByText("Name?").waitFor();
    await screen.getByText("<img src=x onerror=alert(1)>").waitFor();
    await page.axe("terminal");
    // The screen takes the keyboard, until Escape is pressed twice.
    await page.keyboard.press("Enter");
    await page.getByText("Every key goes to the program.").waitFor();
    await page.keyboard.type("Grave");
    await page.keyboard.press("Backspace");
    await page.keyboard.press("Backspace");
    await page.keyboard.type("ce");
    await page.axe("terminal-typing");
    await page.keyboard.press("Enter");
    await screen.getByText("Hello Grace").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await until("the keyboard is the page's again", () => page.evaluate(() => document.activeElement.tagName !== "TEXTAREA"));
    await page.getByRole("button", { name: /^Size/ }).click();
    await page.getByRole("menuitem", { name: "120 × 40" }).click();
    await page.getByText("The terminal has 120 columns and 40 rows.").waitFor();
    await page.getByRole("button", { name: "End it" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "End it" }).click();
    await until("it has ended", async () => (await workspace.list("terminals")).terminals[0].state !== "running");
    await page.locator(".split-detail").getByText(/^(ended|interrupted)/).first().waitFor();
    await page.check();
    await page.leave();
  });
}

test("what is pasted and special keys arrive as a program expects them", async (context) => {
  const workspace = await server.api.workspace("Keys", { preset: "open", rules: [] });
  const opened = await workspace.agent("exec_command", { session_id: "keys", cmd: "stty raw -echo; echo Ready; while c=$(dd bs=1 count=1 2>/dev/null | od -An -tx1); do printf '%s' \"$c\"; done", workdir: null }, "codex");
  if (!opened.success) return context.skip("no box on this machine");
  const [terminal] = (await workspace.list("terminals")).terminals;
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/terminals/${terminal.id}`);
  const screen = page.getByRole("region", { name: "Screen" });
  await screen.getByText("Ready").waitFor();
  await screen.click();
  await page.getByText("Every key goes to the program.").waitFor();
  for (const [key, bytes] of [["ArrowUp", "1b 5b 41"], ["Control+ArrowRight", "1b 5b 31 3b 35 43"], ["Tab", "09"], ["Delete", "1b 5b 33 7e"], ["Control+A", "01"], ["ü", "c3 bc"]]) {
    if (key.length === 1) await page.keyboard.insertText(key);
    else await page.keyboard.press(key);
    await until(`${key} arrives`, async () => (await screen.innerText()).replace(/\s+/g, " ").includes(bytes));
  }
  await page.evaluate(() => navigator.clipboard.writeText("one\ntwo"));
  await page.keyboard.press("Control+V");
  await until("the paste arrives", async () => (await screen.innerText()).replace(/\s+/g, " ").includes("6f 6e 65 0d 74 77 6f"));
  await page.check();
  await page.leave();
});

test("a long paste is sent in pieces that cut no character in half", async (context) => {
  const workspace = await server.api.workspace("Paste", { preset: "open", rules: [] });
  const opened = await workspace.agent("exec_command", { session_id: "paste", cmd: "stty raw -echo; echo Ready; exec cat >/dev/null", workdir: null }, "codex");
  if (!opened.success) return context.skip("no box on this machine");
  const [terminal] = (await workspace.list("terminals")).terminals;
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/terminals/${terminal.id}`);
  const sent = [];
  page.on("response", async (response) => /\/input$/.test(response.url()) && sent.push({ text: response.request().postDataJSON().text, isTaken: response.ok() }));
  await page.getByRole("region", { name: "Screen" }).getByText("Ready").waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("Every key goes to the program.").waitFor();
  // The border of the first piece is in the middle of an emoji, which has two UTF-16 units.
  const long = `${"a".repeat(7_999)}\u{1f600}${"b".repeat(8_050)}`;
  await page.evaluate((text) => navigator.clipboard.writeText(text), long);
  await page.keyboard.press("Control+V");
  await until("all of it is sent", () => sent.map(({ text }) => text).join("").length === long.length);
  assert.ok(sent.every(({ text, isTaken }) => isTaken && text.isWellFormed()));
  assert.equal(sent.map(({ text }) => text).join(""), long);
  await page.check();
  await page.leave();
});
