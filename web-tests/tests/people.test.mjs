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

for (const look of [LOOKS[0], LOOKS[3]]) {
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
