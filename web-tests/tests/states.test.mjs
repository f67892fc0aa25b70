// What the page shows while there is nothing to show (empty, loading, no server, an error) and its small dialogs: each in both
// themes, on a wide screen and on a phone. The six screens are also looked at between the two, as on a tablet.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Api, closeBrowser, LOOKS, openPage, startServer, TABLET, until } from "../harness.mjs";

const OPEN = { preset: "open", rules: [] };
const SCREENS = ["timeline", "chats", "files", "terminals", "settings"];
let server;
before(async () => (server = await startServer()));
after(async () => {
  await closeBrowser();
  await server.close();
});

/** A workspace without a chat, a key or a file. */
const emptyWorkspace = async (name, api = server.api) => (await api.call("POST", "/workspaces", { name })).workspace.id;

/** An account that is in no workspace. */
async function newcomer(name) {
  const account = { email: `${name}@example.com`, password: "another long password" };
  await server.api.call("POST", "/auth/register", { ...account, full_name: "Grace Hopper" });
  const api = new Api(server.api.url);
  await api.logIn(account.email, account.password);
  return { api, account };
}

/** A workspace with something on each of its screens, and an answer that a terminal was opened. */
async function filled(name) {
  const workspace = await server.api.workspace(name, OPEN);
  await workspace.agent("write", { path: "/src/greet.py", content: 'def greet():\n    return "Hello"\n' });
  await workspace.agent("edit", { path: "/src/greet.py", old_string: "Hello", new_string: "Good morning" });
  await server.api.call("POST", `/workspaces/${workspace.id}/chats/${workspace.chat}/messages`, { role: "user", content: "Please greet people by name." });
  await server.api.call("PUT", `/workspaces/${workspace.id}/policy`, { rules: [{ effect: "change", path: "config/**", tool: "workspace.write", then: "ask", why: "People look at configuration first." }] });
  await workspace.agent("write", { path: "/config/site.toml", content: "port = 8080\n" });
  // The rule is about one tool, so that a terminal is opened without a question.
  const opened = await workspace.agent("exec_command", { session_id: "shell", cmd: 'echo "A long work"; sleep 600', workdir: null }, "codex");
  return { ...workspace, hasTerminal: opened.success && (await workspace.list("terminals")).terminals.length > 0 };
}

const onRequests = (page, pattern, answer) => page.route(pattern, answer);
const shows = (page, address) => page.evaluate((hash) => void (location.hash = hash), address);

for (const look of LOOKS) {
  const name = `${look.width} px`;

  test(`a screen with nothing on it says what will be there (${name})`, async () => {
    const { api, account } = await newcomer(`empty${look.width}`);
    const page = await openPage(server, look, "#/inbox", account);
    const looks = async (address, text, where) => {
      await shows(page, address);
      await page.getByText(text).first().waitFor();
      await page.axe(where);
    };
    await looks("#/inbox", "Welcome to Toolyard", "empty-welcome");
    await looks("#/workspaces", "No workspace yet", "empty-workspaces");
    const id = await emptyWorkspace("Empty", api);
    await page.reload();
    await looks("#/inbox", "Nothing waits for you", "empty-inbox");
    await looks("#/inbox/later", "Nothing is put off", "empty-later");
    await looks(`#/w/${id}/timeline`, "Nothing has happened yet", "empty-timeline");
    await looks(`#/w/${id}/timeline?verb=edit`, "No step matches", "empty-filtered");
    await looks(`#/w/${id}/chats`, "No chat yet", "empty-chats");
    await looks(`#/w/${id}/files`, "No files yet", "empty-files");
    await looks(`#/w/${id}/terminals`, "No terminal is open", "empty-terminals");
    await looks(`#/w/${id}/trash`, "The trash is empty", "empty-trash");
    await looks(`#/w/${id}/settings`, "No agent has a key yet", "empty-settings");
    await page.check();
    await page.leave();
  });

  test(`a screen that is being read, and one that cannot be read, are designed (${name})`, async () => {
    const workspace = await server.api.workspace(`States ${name}`);
    const page = await openPage(server, look, "#/workspaces", { ignore: /status of 50\d|ERR_FAILED|Failed to load/ });
    await page.getByRole("heading", { name: "Workspaces" }).waitFor();
    const places = [...SCREENS.map((screen) => `#/w/${workspace.id}/${screen}`), `#/w/${workspace.id}/trash`, `#/w/${workspace.id}/timeline/${workspace.id}`, `#/w/${workspace.id}/chats/${workspace.chat}`, `#/inbox/${workspace.id}/approval/${workspace.id}`];
    const state = { answer: (route) => route.continue() };
    // Each screen of the workspace reads something below its address.
    await onRequests(page, /\/api\/v1\/(workspaces\/[^?]|doctor|inbox)/, (route) => state.answer(route));
    const held = [];
    const ways = {
      loading: { answer: (route) => void held.push(route), shown: ".loading" },
      error: { answer: (route) => route.fulfill({ status: 500, json: { success: false, error: "The disk is full.", code: "INTERNAL_ERROR" } }), shown: ".problem" },
      offline: { answer: (route) => route.abort(), shown: ".problem" },
    };
    for (const [way, { answer, shown }] of Object.entries(ways)) {
      // The states look alike on all screens: a phone looks at three of them, a wide screen at all, and at three in both themes.
      for (const [i, place] of places.slice(0, look.width < 900 ? 3 : places.length).entries()) {
        await shows(page, "#/workspaces");
        await page.getByRole("heading", { name: "Workspaces" }).waitFor();
        state.answer = answer;
        await shows(page, place);
        await page.locator(shown).first().waitFor();
        if (way === "offline") await page.getByText("The server cannot be reached. What you see may be old").waitFor();
        await (i < 3 ? page.axe(`${way}-${i}`) : page.axeIn(look.theme, `${way}-${i}`));
        state.answer = (route) => route.continue();
        for (const route of held.splice(0)) await route.abort();
      }
    }
    // The page itself, before it knows who is there.
    state.answer = ways.loading.answer;
    await page.route("**/api/v1/auth/me", (route) => void held.push(route));
    await page.reload();
    await page.getByRole("status", { name: "Loading the page" }).waitFor();
    await page.axe("loading-page");
    assert.deepEqual(page.wrong, []);
    await page.leave();
  });

  test(`the small dialogs are usable (${name})`, async () => {
    const workspace = await filled(`Dialogs ${name}`);
    const page = await openPage(server, look, `#/w/${workspace.id}/settings`);
    const looks = async (button, title, where) => {
      await button.click();
      await page.getByRole("dialog", { name: title }).waitFor();
      await page.axe(where);
      await page.check();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    };
    const button = (label) => page.getByRole("button", { name: label, exact: true }).first();
    await looks(button("New key"), "New key for an agent", "dialog-key");
    await looks(button("Revoke"), "Revoke this key?", "dialog-revoke");
    await looks(button("New rule"), "New rule", "dialog-rule");
    await looks(button("Add a person"), "Add a person", "dialog-person");
    await looks(button("Delete…"), "Delete this workspace?", "dialog-delete");
    await shows(page, "#/workspaces");
    await looks(button("New workspace"), "New workspace", "dialog-workspace");
    await shows(page, `#/w/${workspace.id}/chats`);
    await looks(button("New"), "New chat", "dialog-chat");
    await shows(page, `#/w/${workspace.id}/files/src/greet.py`);
    await page.getByRole("region", { name: "Text of the file" }).waitFor();
    await looks(button("Rename"), "Rename or move", "dialog-rename");
    await looks(button("Remove"), "Remove this file?", "dialog-remove");
    if (workspace.hasTerminal) {
      const [terminal] = (await workspace.list("terminals")).terminals;
      await shows(page, `#/w/${workspace.id}/terminals/${terminal.id}`);
      await looks(button("End it"), "End this terminal?", "dialog-end");
      await button(/^Size/).click();
      await page.getByRole("menu").waitFor();
      await page.axe("menu-size");
    }
    await page.leave();
  });
}

test("the six screens on a tablet, in both themes", async () => {
  const workspace = await filled("Tablet");
  const [step] = (await workspace.list("steps")).steps;
  const [request] = (await workspace.list("approvals")).approvals;
  const terminals = (await workspace.list("terminals")).terminals;
  const page = await openPage(server, TABLET, "#/workspaces");
  const looks = async (address, shown, where) => {
    await shows(page, address);
    await shown.first().waitFor();
    await page.axe(`tablet-${where}`);
    await page.check();
  };
  await looks("#/workspaces", page.getByRole("heading", { name: "Workspaces" }), "workspaces");
  await looks("#/inbox", page.getByRole("list", { name: "What waits for you" }), "inbox");
  await looks(`#/inbox/${workspace.id}/approval/${request.id}`, page.getByRole("region", { name: "What would change" }), "request");
  await looks(`#/w/${workspace.id}/timeline`, page.getByRole("list", { name: "Steps" }), "timeline");
  await looks(`#/w/${workspace.id}/timeline/${step.id}`, page.getByRole("region", { name: "What the step changed" }), "step");
  await looks(`#/w/${workspace.id}/timeline/${step.id}/undo`, page.getByRole("dialog").getByRole("region", { name: "What would change" }), "undo");
  await looks(`#/w/${workspace.id}/chats`, page.getByRole("list", { name: "Chats" }), "chats");
  await looks(`#/w/${workspace.id}/chats/${workspace.chat}`, page.getByText("Please greet people by name."), "chat");
  await looks(`#/w/${workspace.id}/files`, page.getByRole("button", { name: "src", exact: true }), "files");
  await looks(`#/w/${workspace.id}/files/src/greet.py`, page.getByRole("region", { name: "Text of the file" }), "file");
  await looks(`#/w/${workspace.id}/terminals`, page.getByRole("heading", { name: "Terminals" }), "terminals");
  if (terminals[0]) await looks(`#/w/${workspace.id}/terminals/${terminals[0].id}`, page.getByRole("region", { name: "Screen" }), "terminal");
  await looks(`#/w/${workspace.id}/settings`, page.getByRole("heading", { name: "Storage" }), "settings");
  await looks("#/settings", page.getByRole("heading", { name: "You", exact: true }), "you");
  await page.leave();
});
