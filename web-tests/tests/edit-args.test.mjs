// Other arguments for the call of a request: planned, shown, and only then approved.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { closeBrowser, LOOKS, openPage, startServer, until, WIDE } from "../harness.mjs";

let server;
before(async () => (server = await startServer()));
after(async () => {
  await closeBrowser();
  await server.close();
});

/** A request to change the port in a configuration. */
async function asking(name) {
  const workspace = await server.api.workspace(name, { preset: "open", rules: [] });
  await workspace.person("write", { path: "/config/site.toml", content: 'title = "Site"\nport = 8080\nhost = "localhost"\n' });
  await server.api.call("PUT", `/workspaces/${workspace.id}/policy`, { rules: [{ effect: "change", path: "config/**", then: "ask", why: "People look at configuration first." }] });
  await workspace.agent("edit", { path: "/config/site.toml", old_string: "port = 8080", new_string: "port = 9090" });
  const [request] = (await workspace.list("approvals")).approvals;
  return { workspace, request, address: `#/inbox/${workspace.id}/approval/${request.id}` };
}

const text = async (workspace, path) => JSON.stringify(await workspace.person("read", { path }));
const decided = async (workspace) => (await workspace.list("approvals")).approvals[0];

for (const look of LOOKS) {
  const name = `${look.width} px, ${look.theme}`;
  test(`arguments are edited, planned, and approved as they were shown (${name})`, async () => {
    const { workspace, address } = await asking(`Edit ${name}`);
    const page = await openPage(server, look, address, { ignore: /\/plan .*4\d\d/ });
    await page.getByText("port = 9090").first().waitFor();
    await page.keyboard.press("e");
    const dialog = page.getByRole("dialog", { name: "Edit the arguments" });
    assert.ok(await dialog.getByRole("button", { name: "Approve with these arguments" }).isDisabled());
    await page.axe("edit-args");
    // What cannot be planned is said at its field.
    await dialog.getByLabel("old_string", { exact: true }).fill("port = 1234567");
    await dialog.getByRole("button", { name: "Plan it" }).click();
    await dialog.locator(".argument.wrong", { hasText: "old_string" }).getByRole("alert").waitFor();
    assert.equal(await dialog.locator("[aria-invalid=true]").getAttribute("id"), "argument-old_string");
    await page.axe("edit-args-wrong");
    await dialog.getByLabel("old_string", { exact: true }).fill("port = 8080");
    await dialog.getByLabel("new_string", { exact: true }).fill("port = 8081");
    await page.keyboard.press("Control+Enter");
    await dialog.getByRole("region", { name: "What would change with these arguments" }).getByText("port = 8081").waitFor();
    await page.axe("edit-args-planned");
    // What is typed after the plan has to be planned again.
    await dialog.getByLabel("new_string", { exact: true }).fill("port = 8082");
    assert.ok(await dialog.getByRole("button", { name: "Approve with these arguments" }).isDisabled());
    await page.keyboard.press("Control+Enter");
    await dialog.getByRole("region", { name: "What would change with these arguments" }).getByText("port = 8082").waitFor();
    await until("the button has the focus", () => page.evaluate(() => /Approve with/.test(document.activeElement.textContent)));
    await page.keyboard.press("Enter");
    await page.getByText("Approved with your arguments").waitFor();
    assert.match(await text(workspace, "/config/site.toml"), /port = 8082/);
    const request = await decided(workspace);
    assert.equal(request.status, "executed");
    assert.equal(request.decision_args.new_string, "port = 8082");
    await page.check();
    await page.leave();
  });
}

test("arguments are edited as JSON, and what was typed is there again after the editor was closed", async () => {
  const { workspace, address } = await asking("JSON");
  const page = await openPage(server, WIDE, `${address}/edit`, { ignore: /\/plan .*4\d\d/ });
  const dialog = page.getByRole("dialog", { name: "Edit the arguments" });
  await dialog.getByRole("button", { name: "JSON" }).click();
  const field = dialog.getByLabel("Arguments as JSON");
  await field.fill('{"path": "/config/site.toml", ');
  await dialog.getByRole("button", { name: "Plan it" }).click();
  await dialog.getByRole("alert").first().waitFor();
  await field.fill('{"path": "/config/none.toml", "old_string": "a", "new_string": "b"}');
  await dialog.getByRole("button", { name: "Plan it" }).click();
  await dialog.getByText(/not found/i).first().waitFor();
  await page.axe("edit-args-json");
  await field.fill('{"path": "/config/site.toml", "old_string": "localhost", "new_string": "0.0.0.0"}');
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: /^Edit/ }).click();
  assert.match(await field.inputValue(), /0\.0\.0\.0/);
  await dialog.getByRole("button", { name: "Form" }).click();
  assert.equal(await dialog.getByLabel("new_string", { exact: true }).inputValue(), "0.0.0.0");
  await page.keyboard.press("Control+Enter");
  await dialog.getByRole("region", { name: "What would change with these arguments" }).getByText("0.0.0.0").waitFor();
  await dialog.getByRole("button", { name: "Approve with these arguments" }).click();
  await until("it is done", async () => (await decided(workspace)).status === "executed");
  assert.match(await text(workspace, "/config/site.toml"), /0\.0\.0\.0/);
  await page.check();
  await page.leave();
});

test("a file that changes between the plan and the click is planned again, and nothing is done", async () => {
  const { workspace, address } = await asking("Changed");
  const page = await openPage(server, WIDE, `${address}/edit`, { ignore: /409/ });
  const dialog = page.getByRole("dialog", { name: "Edit the arguments" });
  await dialog.getByLabel("new_string", { exact: true }).fill("port = 8082");
  await page.keyboard.press("Control+Enter");
  await dialog.getByRole("region", { name: "What would change with these arguments" }).getByText("port = 8082").waitFor();
  await server.api.call("PUT", `/workspaces/${workspace.id}/policy`, { rules: [] });
  await workspace.person("edit", { path: "/config/site.toml", old_string: "localhost", new_string: "other" });
  await dialog.getByRole("button", { name: "Approve with these arguments" }).click();
  await dialog.getByText("Something changed meanwhile, so nothing was decided.").waitFor();
  assert.equal((await decided(workspace)).status, "pending");
  assert.match(await text(workspace, "/config/site.toml"), /8080/);
  await page.check();
  await page.leave();
});
