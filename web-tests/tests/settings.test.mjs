// Settings: a key is made and its configuration copied, rules are added and removed, people get roles, and the own page.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Api, closeBrowser, LOOKS, openPage, startServer, until, WIDE } from "../harness.mjs";

let server;
before(async () => (server = await startServer()));
after(async () => {
  await closeBrowser();
  await server.close();
});

for (const look of LOOKS) {
  const name = `${look.width} px, ${look.theme}`;
  test(`a key is made and works, and a rule is added and removed (${name})`, async () => {
    const workspace = await server.api.workspace(`Settings ${name}`);
    const page = await openPage(server, look, `#/w/${workspace.id}/settings`);
    await page.getByRole("heading", { name: "Keys for agents" }).waitFor();
    await page.getByRole("button", { name: /^Guarded/ }).waitFor();
    await page.axe("settings");
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByLabel("Name").first().fill("My client");
    await page.getByText("Coding, with a shell").click();
    await page.axe("settings-new-key");
    await page.getByRole("button", { name: "Make the key" }).click();
    await page.getByText("the only time that the key is shown").waitFor();
    await page.axe("settings-key");
    const key = await page.getByRole("group", { name: "The key" }).innerText();
    assert.match(key, /^tyk_/);
    const answer = await new Api(server.api.url, key).call("POST", `/workspaces/${workspace.id}/tools`, { toolset: "codex", tool: "list_dir", args: { dir_path: "/" } });
    assert.ok(answer.code !== "INVALID_TOKEN" && answer.code !== "FORBIDDEN", JSON.stringify(answer));
    await page.getByRole("button", { name: "Cursor" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Copy" }).nth(1).click();
    const config = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
    assert.equal(config.mcpServers.toolyard.headers.Authorization, `Bearer ${key}`);
    assert.match(config.mcpServers.toolyard.url, new RegExp(`/mcp/${workspace.id}\\?toolset=codex$`));
    await page.getByRole("button", { name: "Done", exact: true }).click();
    await page.getByText("My client").waitFor();

    await page.getByRole("button", { name: "New rule" }).click();
    await page.getByText("Deny", { exact: true }).click();
    await page.getByLabel("On which paths or hosts").fill("infra/**");
    await page.getByRole("button", { name: "Add the rule" }).click();
    await page.getByRole("cell", { name: "infra/**" }).waitFor();
    await page.axe("settings-rules");
    assert.deepEqual((await workspace.list("policy")).rules, [{ effect: "change", path: "infra/**", then: "deny" }]);
    await page.getByRole("button", { name: "Remove rule 1 of Rules" }).click();
    await until("the rule is gone", async () => (await workspace.list("policy")).rules.length === 0);
    await page.check();
    await page.leave();
  });

  test(`the own page and the list of workspaces (${name})`, async () => {
    const page = await openPage(server, look, "#/settings");
    await page.getByRole("heading", { name: "You", exact: true }).waitFor();
    await page.axe("you");
    await page.goto("/#/workspaces");
    await page.getByRole("heading", { name: "Workspaces" }).waitFor();
    await page.axe("workspaces");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
    await page.axe("keyboard");
    await page.keyboard.press("Escape");
    await page.check();
    await page.leave();
  });
}

test("the preset can be changed while something is allowed always", async () => {
  const workspace = await server.api.workspace("Allowed always");
  const policy = `/workspaces/${workspace.id}/policy`;
  await server.api.call("PUT", policy, { preset: "guarded", rules: [{ effect: "change", path: "config/**", then: "ask" }] });
  await workspace.person("write", { path: "/config/a.toml", content: "a = 1\n" });
  await workspace.agent("edit", { path: "/config/a.toml", old_string: "a = 1", new_string: "a = 2" });
  const [request] = (await workspace.list("approvals")).approvals;
  await server.api.call("POST", `/workspaces/${workspace.id}/approvals/${request.id}/decision`, { decision: "approve", scope: "rule", state_hash: request.state_hash });
  const before = await server.api.call("GET", policy);
  assert.equal(before.saved.length, 1);
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/settings`);
  await page.getByText("Allowed always").first().waitFor();
  await page.getByRole("button", { name: /^Strict/ }).click();
  await page.getByText("The policy is saved.").first().waitFor();
  const after = await server.api.call("GET", policy);
  assert.deepEqual([after.effective_preset, after.rules.length, after.saved.length], ["strict", 1, 1]);
  assert.equal(after.saved[0].by, before.saved[0].by);
  await page.check();
  await page.leave();
});
