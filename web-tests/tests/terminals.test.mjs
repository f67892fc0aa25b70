// Terminals: a screen is watched, typed into and ended; what its program prints stays text.
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
    await page.getByLabel("Type into the terminal").fill("Grace");
    await page.keyboard.press("Enter");
    await screen.getByText("Hello Grace").waitFor();
    await page.getByRole("button", { name: "End it" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "End it" }).click();
    await until("it has ended", async () => (await workspace.list("terminals")).terminals[0].state !== "running");
    await page.locator(".split-detail").getByText(/^(ended|interrupted)/).first().waitFor();
    await page.check();
    await page.leave();
  });
}
