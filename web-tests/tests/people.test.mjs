// Settings: why a call would ask, what the box can do, storage; the password, and where the person is logged in.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { closeBrowser, LOOKS, openPage, startServer, until } from "../harness.mjs";

let server;
before(async () => (server = await startServer()));
after(async () => {
  await closeBrowser();
  await server.close();
});

for (const look of LOOKS) {
  const name = `${look.width} px, ${look.theme}`;
  test(`the settings say why a call would ask, what the box can do and what is used (${name})`, async () => {
    const workspace = await server.api.workspace(`People ${name}`, { preset: "guarded", rules: [{ effect: "change", path: "config/**", then: "ask", why: "People look at configuration first." }] });
    const page = await openPage(server, look, `#/w/${workspace.id}/settings`, { ignore: /explain/ });
    await page.getByRole("heading", { name: "This machine" }).waitFor();
    await page.getByRole("heading", { name: "Storage" }).waitFor();
    await page.getByText("Why would this ask?").click();
    const form = page.getByRole("form", { name: "Why would this ask?" });
    await form.getByRole("combobox", { name: "Tool", exact: true }).selectOption("write");
    await form.getByRole("button", { name: "What would happen?" }).click();
    await form.locator(".argument.wrong", { hasText: "path" }).first().waitFor();
    await form.getByLabel("path", { exact: true }).fill("/config/a.toml");
    await form.getByLabel("content", { exact: true }).fill("a = 1");
    await form.getByRole("button", { name: "What would happen?" }).click();
    await page.getByText("A person would be asked first.").waitFor();
    await page.getByRole("region", { name: /^The rule that decides/ }).getByText("config/**").waitFor();
    await page.locator(".findings summary").click();
    await page.axe("settings-explain");
    assert.equal((await workspace.list("approvals")).approvals.length, 0);
    await page.check();
    await page.leave();
  });
}

for (const look of LOOKS) {
  test(`a person is added, given other roles, and removed, and sees so at once (${look.width} px, ${look.theme})`, async () => {
    const email = `member${look.width}@example.com`;
    await server.api.call("POST", "/auth/register", { email, password: "another long password", full_name: "Hedy Lamarr" });
    const workspace = await server.api.workspace(`Members ${look.width}`, { preset: "open", rules: [] });
    await workspace.agent("write", { path: "/a.txt", content: "a\n" });
    const [step] = (await workspace.list("steps")).steps;
    const owner = await openPage(server, look, `#/w/${workspace.id}/settings`, { ignore: /\/members .*4\d\d/ });
    const hers = await openPage(server, look, "#/workspaces", { email, password: "another long password", ignore: /40[34]/ });
    await hers.getByText("No workspace yet").waitFor();
    await owner.getByRole("button", { name: "Add a person" }).click();
    await owner.getByLabel("Email of the account").fill("nobody@example.com");
    await owner.getByRole("button", { name: "Add", exact: true }).click();
    await owner.getByRole("dialog").getByRole("alert").waitFor();
    await owner.getByLabel("Email of the account").fill(email);
    await owner.getByText("Viewer", { exact: true }).click();
    await owner.getByRole("button", { name: "Add", exact: true }).click();
    const role = owner.getByRole("combobox", { name: `Role of ${email}` });
    await role.waitFor();
    assert.equal(await role.inputValue(), "viewer");
    await owner.axe("members");
    // Her page has the workspace now, to look at; then to change things in.
    await hers.getByRole("link", { name: /Members/ }).first().click();
    await hers.getByText("You can look, not change").waitFor();
    await hers.goto(`/#/w/${workspace.id}/timeline/${step.id}`);
    await hers.getByRole("region", { name: "What the step changed" }).waitFor();
    assert.equal(await hers.getByRole("button", { name: /^Undo/ }).count(), 0);
    await role.selectOption("member");
    await owner.getByText("The role is changed.").waitFor();
    await hers.reload();
    await hers.getByRole("button", { name: /^Undo/ }).waitFor();
    assert.equal(await hers.getByText("You can look, not change").count(), 0);
    await hers.goto(`/#/w/${workspace.id}/settings`);
    await hers.getByRole("heading", { name: "People" }).waitFor();
    assert.equal(await hers.getByRole("button", { name: /Add a person|New key|New rule/ }).count(), 0);
    await owner.getByRole("button", { name: `Remove ${email}` }).click();
    await owner.getByText("Removed from the workspace.").waitFor();
    await hers.getByText("This workspace is not among yours").waitFor();
    await owner.check();
    await hers.check();
    await owner.leave();
    await hers.leave();
  });


  const name = `${look.width} px, ${look.theme}`;
  test(`the password is changed, and another login ended (${name})`, async () => {
    const email = `p${look.width}@example.com`;
    await server.api.call("POST", "/auth/register", { email, password: "the first password", full_name: "Grace Hopper" });
    for (let i = 0; i < 2; i++) await server.api.call("POST", "/auth/login", { email, password: "the first password" });
    const page = await openPage(server, look, "#/settings", { email, password: "the first password", ignore: /auth\/password/ });
    await page.getByRole("heading", { name: "Where you are logged in" }).waitFor();
    await page.getByText("this one").waitFor();
    const others = page.getByRole("button", { name: /^End it:/ });
    const before_ = await others.count();
    assert.ok(before_ > 0);
    await others.first().click();
    await page.getByText("That login has ended.").waitFor();
    await until("it is gone from the list", async () => (await others.count()) === before_ - 1);
    await page.getByRole("button", { name: "Change it" }).click();
    await page.getByLabel("The password now").fill("wrong password");
    await page.getByLabel(/^The new one, /).fill("the second password");
    await page.getByLabel("The new one again").fill("another password");
    await page.getByRole("button", { name: "Change the password" }).click();
    await page.getByText("The two are not the same.").waitFor();
    await page.getByLabel("The new one again").fill("the second password");
    await page.getByRole("button", { name: "Change the password" }).click();
    await page.getByRole("form", { name: "Change the password" }).getByRole("alert").waitFor();
    await page.axe("you-password");
    await page.getByLabel("The password now").fill("the first password");
    await page.getByRole("button", { name: "Change the password" }).click();
    await page.getByText("The password is changed.").waitFor();
    await until("the other logins are gone", async () => (await others.count()) === 0);
    await page.axe("you-logins");
    await page.check();
    await page.leave();
  });
}
