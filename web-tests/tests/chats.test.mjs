// A chat as a conversation: messages, calls with what they changed, requests and questions inline, and plan mode.
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
  test(`a run is shown as a conversation (${name})`, async () => {
    const workspace = await server.api.workspace(`Chat ${name}`);
    const base = `/workspaces/${workspace.id}/chats/${workspace.chat}`;
    await server.api.call("POST", `${base}/messages`, { role: "user", content: "Please greet people by name." });
    await workspace.agent("write", { path: "/greet.py", content: 'print("Hello, Ada")\n' });
    await workspace.agent("ask_user", { questions: [{ name: "language", question: "Which language?", schema: { type: "string", enum: ["English", "French"] } }] });
    const page = await openPage(server, look, `#/w/${workspace.id}/chats/${workspace.chat}`);
    await page.getByText("Please greet people by name.").waitFor();
    await page.getByText("Asks, and waits for an answer").waitFor();
    await page.axe("chat");
    await page.getByRole("button", { name: /^write/ }).click();
    await page.getByRole("region", { name: "What the call changed" }).getByText("Hello, Ada").waitFor();
    await page.axe("chat-call");
    await page.getByRole("button", { name: "Plan", exact: true }).click();
    await page.getByText("Plan mode: only plan files change").waitFor();
    assert.equal((await server.api.call("GET", base)).chat.mode, "plan");
    await page.getByRole("button", { name: "Build", exact: true }).click();
    await until("build mode is open", async () => (await server.api.call("GET", base)).chat.mode === "build");
    await page.getByLabel("A message to the chat").fill("And in French, too.");
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator(".bubble", { hasText: "And in French, too." }).waitFor();
    await page.check();
    await page.leave();
  });
}

test("a plan is shown with the question that accepts it", async () => {
  const workspace = await server.api.workspace("Plan");
  await server.api.call("PATCH", `/workspaces/${workspace.id}/chats/${workspace.chat}`, { mode: "plan" });
  await workspace.agent("plan_write", { title: "New theme", content: "1. Add variables\n2. Use them\n" });
  await workspace.agent("ask_user", { questions: [{ name: "plan", question: "Shall I?", schema: { type: "string", enum: ["Accept", "Reject"] } }] });
  const [question] = (await workspace.list("questions")).questions;
  const page = await openPage(server, WIDE, `#/inbox/${workspace.id}/question/${question.id}`);
  await page.getByText("Add variables").waitFor();
  await page.axe("plan");
  await page.getByText("Accept", { exact: true }).click();
  await page.getByRole("button", { name: "Send the answer" }).click();
  await until("it is accepted", async () => (await workspace.list("questions")).questions[0].answers?.plan === "Accept");
  await page.check();
  await page.leave();
});
