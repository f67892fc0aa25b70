// Files as they were after any step, and the step and actor that each line of a file comes from.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { closeBrowser, LOOKS, openPage, startServer, until, WIDE } from "../harness.mjs";

let server;
before(async () => (server = await startServer()));
after(async () => {
  await closeBrowser();
  await server.close();
});

/** A workspace in which a file is made, changed by two, and another one is removed. */
async function worked(name) {
  const workspace = await server.api.workspace(name, { preset: "open", rules: [] });
  await workspace.agent("write", { path: "/src/greet.py", content: "def greet():\n    return 1\n\n\nprint(greet())\n" });
  await workspace.agent("write", { path: "/old/gone.txt", content: "it was here\n" });
  await workspace.person("edit", { path: "/src/greet.py", old_string: "return 1", new_string: "return 2" });
  await workspace.agent("rm", { path: "/old/gone.txt" });
  await workspace.agent("edit", { path: "/src/greet.py", old_string: "print(greet())", new_string: "print(greet(), 3)" });
  return { workspace, steps: (await workspace.list("steps")).steps };
}

for (const look of LOOKS) {
  const name = `${look.width} px, ${look.theme}`;
  test(`the files are shown as they were, and as they are now (${name})`, async () => {
    const { workspace, steps } = await worked(`Past ${name}`);
    const page = await openPage(server, look, `#/w/${workspace.id}/files`, { ignore: /\/(content|tree).*404/ });
    await page.getByRole("button", { name: "src" }).waitFor();
    await page.keyboard.press("t");
    const moment = page.getByRole("region", { name: "The moment at which the files are shown" });
    await moment.getByText("Removed").waitFor();
    await page.axe("files-past");
    // One step back from there the removed file was still in its folder.
    await page.keyboard.press(",");
    await moment.getByText("Edited").waitFor();
    await page.getByRole("button", { name: "old" }).click();
    await page.getByRole("link", { name: "gone.txt" }).click();
    await page.getByRole("region", { name: "Text of the file at this moment" }).getByText("it was here").waitFor();
    await page.axe("file-past");
    assert.match(page.url(), new RegExp(`/files/old/gone.txt\\?at=${steps[2].id}$`));
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download" }).click()]);
    assert.equal(download.suggestedFilename(), "gone.txt");
    await page.keyboard.press(".");
    await page.getByText("It was not there at this moment").waitFor();
    await page.goto(`/#/w/${workspace.id}/files/src/greet.py?at=${steps.at(-1).id}`);
    await page.getByRole("region", { name: "Text of the file at this moment" }).getByText("return 1").waitFor();
    await page.getByRole("button", { name: "Now", exact: true }).click();
    await page.getByRole("region", { name: "Text of the file" }).getByText("print(greet(), 3)").waitFor();
    assert.doesNotMatch(page.url(), /at=/);
    await page.check();
    await page.leave();
  });

  test(`each line leads to the step that it comes from (${name})`, async () => {
    const { workspace, steps } = await worked(`Blame ${name}`);
    const page = await openPage(server, look, `#/w/${workspace.id}/files/src/greet.py`);
    await page.getByRole("region", { name: "Text of the file" }).getByText("print(greet(), 3)").waitFor();
    await page.keyboard.press("w");
    const text = page.getByRole("region", { name: "Text of the file, and where each line comes from" });
    await text.getByText("You").waitFor();
    assert.equal(await text.locator(".origin.first").count(), 4);
    await page.axe("blame");
    await text.getByRole("link", { name: /You/ }).click();
    await until("the step of the line is shown", () => page.url().endsWith(steps[2].id));
    await page.check();
    await page.leave();
  });
}

test("where the lines of an old version come from is known, too", async () => {
  const { workspace, steps } = await worked("Old blame");
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/files/src/greet.py?at=${steps[2].id}`);
  await page.getByRole("button", { name: "Who wrote it" }).click();
  const text = page.getByRole("region", { name: "Text of the file, and where each line comes from" });
  await text.getByText("You").waitFor();
  assert.equal(await text.locator(".origin.first").count(), 3);
  await page.check();
  await page.leave();
});

test("the slider is moved by keyboard, and says where it is", async () => {
  const { workspace, steps } = await worked("Slider");
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/files?at=${steps.at(-1).id}`);
  const slider = page.getByRole("slider");
  await until("the slider is at the oldest step", async () => /^Wrote \/src/.test((await slider.getAttribute("aria-valuetext")) ?? ""));
  await slider.focus();
  await page.keyboard.press("End");
  await until("the files are those of now", () => !page.url().includes("at="));
  await page.check();
  await page.leave();
});

test("files at a moment: loading, nothing there, and a server that is away", async () => {
  const { workspace, steps } = await worked("States");
  const page = await openPage(server, WIDE, "#/inbox", { ignore: /\/tree/ });
  let state = "wait";
  await page.route("**/tree?*", async (route) => {
    if (state === "wait") await until("the test goes on", () => state !== "wait");
    if (state === "away") return route.fulfill({ status: 502, body: "" });
    return route.fulfill({ json: { step_id: steps[0].id, path: "/", entries: [], next: null } });
  });
  await page.goto(`/#/w/${workspace.id}/files?at=${steps[1].id}`);
  await page.getByRole("status", { name: "Loading the files" }).waitFor();
  await page.shot("files-past-loading");
  state = "away";
  await page.getByText("The server cannot be reached", { exact: true }).waitFor();
  await page.shot("files-past-offline");
  state = "empty";
  await page.getByText("No files at this moment").waitFor();
  await page.axe("files-past-empty");
  await page.check();
  await page.leave();
});

test("a file is dropped into a folder", async () => {
  const { workspace } = await worked("Drop");
  const page = await openPage(server, WIDE, `#/w/${workspace.id}/files`);
  const folder = page.getByRole("button", { name: "src" });
  await folder.waitFor();
  const data = await page.evaluateHandle(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(["dropped\n"], "dropped.txt", { type: "text/plain" }));
    return transfer;
  });
  await folder.dispatchEvent("dragover", { dataTransfer: data });
  await page.getByText("Into /src").waitFor();
  await page.shot("files-drop");
  await folder.dispatchEvent("drop", { dataTransfer: data });
  await until("the file is there", async () => /dropped/.test(JSON.stringify(await workspace.person("read", { path: "/src/dropped.txt" }))));
  await page.check();
  await page.leave();
});
