// "For this chat" and "Always": the rule that such a yes saves is shown before it counts.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { closeBrowser, LOOKS, openPage, startServer, until, WIDE } from "../harness.mjs";

let server;
before(async () => (server = await startServer()));
after(async () => {
  await closeBrowser();
  await server.close();
});

async function asking(name) {
  const workspace = await server.api.workspace(name, { preset: "open", rules: [] });
  await workspace.person("write", { path: "/config/a.toml", content: "a = 1\n" });
  await server.api.call("PUT", `/workspaces/${workspace.id}/policy`, { rules: [{ effect: "change", path: "config/**", then: "ask" }] });
  await workspace.agent("edit", { path: "/config/a.toml", old_string: "a = 1", new_string: "a = 2" });
  const [request] = (await workspace.list("approvals")).approvals;
  return { workspace, address: `#/inbox/${workspace.id}/approval/${request.id}` };
}
const decided = async (workspace) => (await workspace.list("approvals")).approvals[0];

for (const look of LOOKS) {
  const name = `${look.width} px, ${look.theme}`;
  test(`what Always saves is shown before it counts (${name})`, async () => {
    const { workspace, address } = await asking(`Always ${name}`);
    const page = await openPage(server, look, address);
    const open = async () => {
      if (page.isPhone) await page.getByRole("button", { name: "More", exact: true }).click();
      await page.getByRole(page.isPhone ? "menuitem" : "button", { name: "Always", exact: true }).click();
    };
    await open();
    const dialog = page.getByRole("dialog", { name: "Always allow this?" });
    await dialog.getByRole("region", { name: "The rule" }).getByText("/config/a.toml").waitFor();
    await dialog.getByRole("cell", { name: "workspace.edit" }).waitFor();
    await page.axe("always");
    await page.keyboard.press("Escape");
    assert.equal((await decided(workspace)).status, "pending");
    await open();
    const allow = dialog.getByRole("button", { name: "Allow it always" });
    await until("the button has the focus", () => allow.evaluate((button) => button === document.activeElement));
    await page.keyboard.press("Enter");
    await until("it is done", async () => (await decided(workspace)).status === "executed");
    assert.equal((await workspace.list("policy")).saved.length, 1);
    await page.check();
    await page.leave();
  });
}

test("the rule for a chat is shown before it counts, too", async () => {
  const { workspace, address } = await asking("Chat");
  const page = await openPage(server, WIDE, address);
  await page.getByRole("button", { name: "For this chat" }).click();
  const dialog = page.getByRole("dialog", { name: "Allow this in the whole chat?" });
  await dialog.getByRole("cell", { name: "workspace.edit" }).waitFor();
  await page.axe("always-chat");
  await dialog.getByRole("button", { name: "Allow it in this chat" }).click();
  await until("it is done", async () => (await decided(workspace)).status === "executed");
  assert.equal((await decided(workspace)).scope, "chat");
  assert.equal((await workspace.list("policy")).saved.length, 0);
  await page.check();
  await page.leave();
});

test("where there is no such yes, it is said why; a rule that cannot be read is asked for again", async () => {
  const { workspace, address } = await asking("None");
  const page = await openPage(server, WIDE, "#/settings", { ignore: /rules/ });
  let state = "away";
  await page.route("**/approvals/*/rules", (route) => (state === "away" ? route.fulfill({ status: 503, body: "" }) : route.fulfill({ json: { rules: [{ scope: "rule", rule: null, why: "What decides over other programs is asked for each time." }] } })));
  await page.goto(`/${address}`);
  await page.getByRole("button", { name: "Always", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Always allow this?" });
  await dialog.getByText("The server cannot be reached").waitFor();
  await page.shot("always-offline");
  state = "none";
  await dialog.getByText("is asked for each time").waitFor();
  assert.ok(await dialog.getByRole("button", { name: "Allow it always" }).isDisabled());
  await page.axe("always-none");
  assert.equal((await decided(workspace)).status, "pending");
  await page.check();
  await page.leave();
});
