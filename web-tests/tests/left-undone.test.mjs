// What was approved right before the server was stopped, and not done: it is in the inbox again, to be approved again.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { closeBrowser, LOOKS, openPage, startServer, until } from "../harness.mjs";

let server;
before(async () => (server = await startServer()));
after(async () => {
  await closeBrowser();
  await server.close();
});

const YES = { status: "approved", decision: "approve", scope: "once", decided_at: "2026-01-02T03:04:05.000Z" };

/** Shows a request as one that somebody approved and nobody did: in the inbox, and by itself. */
async function showAsLeft(page, by) {
  const left = { ...YES, decided_by: by };
  await page.route(/\/api\/v1\/(inbox\?limit|workspaces\/[^/]+\/approvals\/[^/?]+$)/, async (route) => {
    if (route.request().method() !== "GET") return route.fallback();
    const answer = await route.fetch();
    const body = await answer.json();
    for (const one of [body, body.approval, ...(body.entries ?? []).map((entry) => entry.approval)]) {
      if (one?.status === "pending") Object.assign(one, left);
    }
    await route.fulfill({ response: answer, json: body });
  });
}

for (const look of LOOKS) {
  test(`what was approved and left undone is shown with its diff, and approved again (${look.width}, ${look.theme})`, async () => {
    const workspace = await server.api.workspace(`Left ${look.width}`);
    await workspace.person("write", { path: "/a.txt", content: "one\n" });
    const asked = await workspace.agent("rm", { path: "/a.txt" });
    const { user } = await server.api.call("GET", "/auth/me");
    const page = await openPage(server, look, "#/login");
    await showAsLeft(page, `person:${user.id}`);
    await page.goto("/#/inbox");
    await page.reload();
    const row = page.getByRole("list", { name: "What waits for you" }).getByRole("link").first();
    await row.getByText("approved, not done").waitFor();
    await row.click();
    const request = page.getByRole("article", { name: "Request" });
    await request.getByText("Toolyard was stopped before it was done").waitFor();
    await request.getByText("one", { exact: true }).waitFor();
    assert.equal(await request.getByRole("button", { name: "Deny" }).count(), 0);
    assert.equal(await request.getByRole("button", { name: /Approve once/ }).count(), 0);
    await page.axe("left-undone");
    await page.check();
    await page.unrouteAll({ behavior: "wait" });
    await request.getByRole("button", { name: /Approve again/ }).click();
    await page.getByText("Approved and done.").waitFor();
    const status = async () => (await server.api.call("GET", `/workspaces/${workspace.id}/approvals/${asked.result.approval_id}`)).status;
    await until("it is executed", async () => (await status()) === "executed");
    await page.leave();
  });
}
