// The stories of one person on one machine: agents are real `toolyard mcp` processes on standard input and output, and the
// person decides, answers, watches and types in the browser, on the page of `toolyard ui`.
import assert from "node:assert/strict";
import { after, afterEach, beforeEach, test } from "node:test";
import { closeBrowser, median, PHONE, slowness, until, WIDE } from "../harness.mjs";
import { startLocal } from "../local.mjs";

/** How long a card may take from an agent's asking to the page on a quiet machine, in milliseconds. */
const IN_TIME = 1_500;

let local;
beforeEach(async () => (local = await startLocal()));
afterEach(async () => local.close());
after(closeBrowser);

const LINES = Array.from({ length: 40 }, (_, i) => `line ${i + 1}`);
const LONG = LINES.join("\n") + "\n";
const PATCH = "*** Begin Patch\n*** Update File: long.txt\n@@\n-line 2\n+line two\n@@\n-line 38\n+line thirty-eight\n*** Update File: site.toml\n@@\n-port = 8080\n+port = 9090\n*** End Patch\n";
const WHICH = { questions: [{ name: "language", question: "Which language?", schema: { type: "string", enum: ["English", "French"] } }], wait_ms: 600_000 };

/** The row of the inbox that has these words, clicked. */
const choose = (page, words) => page.getByRole("list", { name: "What waits for you" }).locator("a", { hasText: words }).first().click();

test("a person approves a part of what an agent on stdio asks, and the agent gets the word with its own answer", async () => {
  local.put("long.txt", LONG);
  local.put("site.toml", "port = 8080\n");
  const agent = await local.agent("--toolset", "codex", "--policy", "strict");
  const page = await local.open(WIDE);
  const asked = agent.call("apply_patch_json", { patch: PATCH });
  await choose(page, "long.txt");
  await page.getByRole("checkbox", { name: "Change 2 of /long.txt" }).click();
  await page.getByRole("checkbox", { name: "/site.toml", exact: true }).click();
  await page.getByLabel("A word to the agent about the rest").fill("The port stays.");
  await page.getByRole("button", { name: /^Approve 1 of 3 changes/ }).click();
  const answer = await asked;
  assert.ok(!answer.isError, answer.text);
  assert.match(answer.text, /approved a part of this call.*long\.txt \(change 2 of its diff\)/);
  assert.match(answer.text, /site\.toml/);
  assert.match(answer.text, /They said: The port stays\./);
  assert.equal(local.text("long.txt"), LINES.with(1, "line two").join("\n") + "\n");
  assert.equal(local.text("site.toml"), "port = 8080\n");
  await page.getByText("The agent is told that the rest is refused.").waitFor();
  await page.check();
  await page.leave();
});

test("a card is on an open page within a second and a half of the agent's asking", async () => {
  const agent = await local.agent("--toolset", "workspace", "--policy", "strict");
  const page = await local.open(WIDE);
  await page.getByText("Live", { exact: true }).waitFor();
  const took = [];
  const machine = slowness();
  for (let i = 0; i < 5; i++) {
    await machine.measure(page);
    const path = `/card-${i}.txt`;
    const seen = page.evaluate((path) => new Promise((resolve) => {
      const look = () => document.body.innerText.includes(path) && resolve(Date.now());
      new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
    }), path);
    const asked = agent.call("write", { path, content: "x\n" });
    const shown = await seen;
    const { entries } = await page.evaluate(() => fetch("/api/v1/inbox").then((answer) => answer.json()));
    const entry = entries.find((one) => JSON.stringify(one.approval.effect).includes(path));
    took.push(shown - Date.parse(entry.approval.asked_at));
    await choose(page, path);
    await page.locator(".request-title", { hasText: path }).waitFor();
    await page.locator("button[aria-keyshortcuts=y]").waitFor();
    await page.keyboard.press("y");
    assert.ok(!(await asked).isError);
  }
  const most = IN_TIME * machine.factor();
  console.log(`# from asking to the card, in milliseconds: ${took.join(", ")}; the machine takes ${machine.factor().toFixed(1)} times as long as a quiet one`);
  assert.ok(median(took) <= most, `the median of ${took.join(", ")} is above ${most} ms`);
  await page.check();
  await page.leave();
});

test("what an agent gave up waiting for is decided on the page, and done without another call", async () => {
  local.put("theirs.txt", "a person's\n");
  const agent = await local.agent("--toolset", "workspace", "--wait", "0");
  const gaveUp = await agent.call("rm", { path: "/theirs.txt" });
  assert.ok(gaveUp.isError);
  assert.match(gaveUp.text, /Not done yet.*it happens without another call/);
  const page = await local.open(PHONE);
  await choose(page, "/theirs.txt");
  await page.getByRole("button", { name: /^Approve once/ }).click();
  await page.getByText("Approved and done.").first().waitFor();
  assert.equal(local.text("theirs.txt"), null);
  assert.doesNotMatch((await agent.call("ls", { path: "/" })).text, /theirs/, "the agent sees that it is done");
  await page.check();
  await page.leave();
});

test("what was denied with a word reaches the agent on stdio, and nothing is done", async () => {
  const agent = await local.agent("--toolset", "workspace", "--policy", "strict");
  const page = await local.open(WIDE);
  const asked = agent.call("write", { path: "/no.txt", content: "x\n" });
  await choose(page, "/no.txt");
  await page.getByRole("button", { name: /^Deny/ }).click();
  await page.getByLabel("A word to the agent").fill("Ask me tomorrow.");
  await page.keyboard.press("Enter");
  const answer = await asked;
  assert.ok(answer.isError);
  assert.match(answer.text, /Ask me tomorrow\./);
  assert.equal(local.text("no.txt"), null);
  await page.check();
  await page.leave();
});

test("a question of an agent on stdio is answered on the page, and the waiting agent has the answer", async () => {
  const agent = await local.agent("--toolset", "workspace");
  const page = await local.open(WIDE);
  const asked = agent.call("ask_user", WHICH);
  await choose(page, "Which language?");
  await page.getByText("French", { exact: true }).click();
  await page.getByRole("button", { name: "Send the answer" }).click();
  const answer = await asked;
  assert.ok(!answer.isError, answer.text);
  assert.match(answer.text, /French/);
  await page.check();
  await page.leave();
});

test("a terminal of an agent on stdio is watched, typed into and ended from the page", async (context) => {
  const agent = await local.agent("--toolset", "codex", "--policy", "open");
  const opened = await agent.call("exec_command", { session_id: "ask", cmd: 'read -p "Name? " x; echo "Hello $x"; cat', workdir: null });
  if (opened.isError) return context.skip(`no box on this machine: ${opened.text}`);
  const page = await local.open(WIDE);
  await page.goto("/#/workspaces");
  await page.locator(".card-link").click();
  await page.getByRole("link", { name: /Terminals/ }).first().click();
  await page.getByRole("list", { name: "Terminals" }).locator("a").first().click();
  const screen = page.getByRole("region", { name: "Screen" });
  await screen.getByText("Name?").waitFor();
  await screen.click();
  await page.getByText("Every key goes to the program.").waitFor();
  await page.keyboard.type("Grace");
  await page.keyboard.press("Enter");
  await screen.getByText("Hello Grace").waitFor();
  assert.match((await agent.call("write_stdin", { session_id: "ask", chars: "" })).text, /Hello Grace/, "the agent sees what was typed");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "End it" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "End it" }).click();
  await page.locator(".split-detail").getByText(/^(ended|interrupted)/).first().waitFor();
  assert.match((await agent.call("write_stdin", { session_id: "ask", chars: "" })).text, /ended|over/);
  await page.check();
  await page.leave();
});

test("a terminal that an agent asks for is approved on the page, and opened by the agent's own process", async (context) => {
  const agent = await local.agent("--toolset", "codex", "--policy", "strict");
  const page = await local.open(WIDE);
  const asked = agent.call("exec_command", { session_id: "cat", cmd: "echo Ready; cat", workdir: null });
  const first = await Promise.race([asked, until("the title says that something waits", async () => /^\(1\)/.test(await page.title()))]);
  if (first.isError) return context.skip(`no box on this machine: ${first.text}`);
  await choose(page, "echo Ready");
  await page.getByRole("button", { name: /^Approve once/ }).click();
  // Only the process that asked can open it: the page does not say that it is done.
  await page.getByText("Approved, and not done yet: the agent's process does it").first().waitFor();
  assert.match((await asked).text, /Ready/);
  assert.equal(await page.getByText("Approved and done.").count(), 0);
  await page.check();
  await page.leave();
});

test("the page's process is killed and started again: the request, the draft comment and the missed step are there, and the waiting agent is answered", async () => {
  const agent = await local.agent("--toolset", "workspace");
  await agent.call("write", { path: "/before.txt", content: "one\ntwo\n" });
  local.put("theirs.txt", "a person's\n");
  const page = await local.open(WIDE, { ignore: /ERR_|Failed to load/ });
  await page.goto("/#/workspaces");
  await page.locator(".card-link").click();
  await page.getByRole("list", { name: "Steps" }).locator("a", { hasText: "/before.txt" }).click();
  const diff = page.getByRole("region", { name: "What the step changed" });
  await diff.getByText("two", { exact: true }).waitFor();
  await diff.locator(".diff-row.add", { hasText: "two" }).hover();
  await diff.getByRole("button", { name: "Comment on line 2", exact: true }).click();
  await page.getByLabel("What should be different").fill("Three would be better.");
  await page.getByRole("button", { name: "Keep it" }).click();
  await diff.locator(".diff-comment", { hasText: "Three would be better." }).waitFor();
  // What others made is removed only with a person's word.
  const asked = agent.call("rm", { path: "/theirs.txt" });
  await until("the title says that something waits", async () => /^\(1\)/.test(await page.title()));

  await local.kill();
  await page.getByText(/Connecting|Offline/).first().waitFor();
  assert.ok(!(await agent.call("write", { path: "/missed.txt", content: "missed\n" })).isError, "the agent works on while there is no page");
  await local.startAgain();
  await page.getByText("Live", { exact: true }).waitFor();
  await page.getByRole("list", { name: "Steps" }).getByText("/missed.txt").first().waitFor();
  await diff.locator(".diff-comment", { hasText: "Three would be better." }).waitFor();
  await page.goto("/#/inbox");
  await choose(page, "/theirs.txt");
  await page.getByRole("button", { name: /^Approve once/ }).click();
  await page.getByText("Approved and done.").first().waitFor();
  const answer = await asked;
  assert.ok(!answer.isError, answer.text);
  assert.equal(local.text("theirs.txt"), null);
  await page.check();
  await page.leave();
});
