// The timeline: steps by day, the diff of a step, and filters.
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
  test(`steps are listed by day, and a step is shown with its diff (${name})`, async () => {
    const workspace = await server.api.workspace(`Undo ${name}`);
    await workspace.agent("write", { path: "/src/greet.py", content: 'print("Hello")\n' });
    await workspace.agent("edit", { path: "/src/greet.py", old_string: "Hello", new_string: "Good morning" });
    const page = await openPage(server, look, `#/w/${workspace.id}/timeline`);
    await page.getByText("Today").first().waitFor();
    await page.axe("timeline");
    await page.keyboard.press("j");
    await page.getByRole("region", { name: "What the step changed" }).getByText("Good morning").waitFor();
    await page.axe("step");
    await page.check();
    await page.leave();
  });
}

test("steps are filtered by who and by words, and new ones appear by themselves", async () => {
  const workspace = await server.api.workspace("Filter");
  await workspace.agent("write", { path: "/by-agent.txt", content: "a\n" });
  await workspace.person("write", { path: "/by-person.txt", content: "b\n" });
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/timeline`);
  const list = page.getByRole("list", { name: "Steps" });
  await list.getByText("/by-agent.txt").waitFor();
  await page.getByRole("button", { name: "People" }).click();
  await until("the agent's step is hidden", async () => (await list.getByText("/by-agent.txt").count()) === 0);
  await page.getByRole("button", { name: "Everyone" }).click();
  await page.keyboard.press("/");
  await page.keyboard.type("by-agent");
  await until("the person's step is hidden", async () => (await list.getByText("/by-person.txt").count()) === 0);
  await page.keyboard.press("Escape");
  await workspace.agent("write", { path: "/later.txt", content: "c\n" });
  await list.getByText("/later.txt").waitFor();
  await page.check();
  await page.leave();
});
