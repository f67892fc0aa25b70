// The run of an agent with a key that names no chat, as people see it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Api, closeBrowser, LOOKS, openPage, startServer } from "../harness.mjs";

let server;
before(async () => (server = await startServer()));
after(async () => {
  await closeBrowser();
  await server.close();
});

for (const look of LOOKS) {
  test(`a run without a chat is a chat with the name of its key (${look.width}, ${look.theme})`, async () => {
    const workspace = await server.api.workspace(`Keys ${look.width}`);
    const base = `/workspaces/${workspace.id}`;
    const { key } = await server.api.call("POST", `${base}/keys`, { name: "Night shift", role: "member", toolsets: ["workspace"] });
    const agent = new Api(server.api.url, key);
    const call = (tool, args) => agent.call("POST", `${base}/tools`, { tool, args, wait_ms: 0 });
    await workspace.person("write", { path: "/mine.txt", content: "mine\n" });

    const page = await openPage(server, look, `#/w/${workspace.id}/chats`);
    const list = page.getByRole("list", { name: "Chats" });
    await list.getByText("A test run").waitFor();
    await call("write", { path: "/report.txt", content: "All is well.\n" });
    await call("edit", { path: "/report.txt", old_string: "nowhere", new_string: "here" });
    await call("rm", { path: "/mine.txt" });
    // It appears by itself, with its first call.
    await list.getByText("Chat of Night shift").click();
    await page.getByRole("heading", { name: "Chat of Night shift" }).waitFor();
    await page.getByRole("button", { name: /^write/ }).click();
    await page.getByRole("region", { name: "What the call changed" }).getByText("All is well.").waitFor();
    await page.locator(".call.failed", { hasText: "the text to be replaced was not found" }).waitFor();
    await page.axe("key-chat");

    // What it waits for says which chat it is from, and leads there.
    await page.getByText("Waiting for a person").click();
    const request = page.getByRole("article", { name: "Request" });
    await request.getByRole("link", { name: "Chat of Night shift" }).click();
    await page.getByLabel("A message to the chat").fill("Leave my file alone.");
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator(".bubble", { hasText: "Leave my file alone." }).waitFor();
    const steps = (await workspace.list("steps")).steps.filter((step) => step.chat_id && step.author === "agent");
    assert.equal(steps.length, 1);
    await page.check();
    await page.leave();
  });
}
