// Names, contents, diffs, chats, questions and rules that want to run as code or break the layout are shown as text.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { closeBrowser, LOOKS, openPage, startServer } from "../harness.mjs";

let server;
before(async () => (server = await startServer()));
after(async () => {
  await closeBrowser();
  await server.close();
});

const PAYLOADS = [
  "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\"><svg onload=alert(1)>", "javascript:alert(1)", "</textarea><script>alert(1)</script>",
  "{{constructor.constructor('alert(1)')()}}", "${alert(1)}", "'-alert(1)-'", "<iframe srcdoc='<script>alert(1)</script>'>", "<a href=javascript:alert(1)>x</a>",
  "\u202Egnp.exe", "\u200B\u200B\u200B", "A".repeat(5_000), "--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b", "\u001b[31mred\u001b]0;title\u0007", "<style>*{display:none}</style>",
  "<base href=//evil.example>", "<meta http-equiv=refresh content=0>", "%3Cscript%3E", "🏴‍☠️".repeat(200), "مرحبا".repeat(100), "\\u003cscript\\u003e", "constructor", "__proto__", "toString",
];

test("payloads are text on every screen", async () => {
  const workspace = await server.api.workspace("<img src=x onerror=alert(1)> " + "W".repeat(150), { preset: "open", rules: [] });
  for (const [i, payload] of PAYLOADS.entries()) {
    const name = payload.replace(/[\u0000-\u001f\/\\]/g, "_").slice(0, 60);
    await workspace.agent("write", { path: `/h/${i} ${name}.txt`, content: `${payload}\n` });
    await workspace.agent("edit", { path: `/h/${i} ${name}.txt`, old_string: payload.slice(0, 20), new_string: `${payload} changed` });
    await server.api.call("POST", `/workspaces/${workspace.id}/chats/${workspace.chat}/messages`, { role: "user", content: payload });
  }
  await workspace.agent("ask_user", { questions: [{ name: "__proto__x", question: PAYLOADS[0] + "B".repeat(3_000), schema: { type: "string", enum: [PAYLOADS[1], "C".repeat(400)] } }] });
  await server.api.call("PUT", `/workspaces/${workspace.id}/policy`, { preset: "strict", rules: [{ effect: "change", path: "h/**", then: "ask", why: `${PAYLOADS[0]} ${"D".repeat(400)}` }] });
  for (const payload of PAYLOADS.slice(0, 6)) await workspace.agent("write", { path: `/h/new ${payload.replace(/[\/\\]/g, "_")}`, content: PAYLOADS.join("\n") });

  const steps = (await workspace.list("steps?limit=100")).steps;
  const approvals = (await workspace.list("approvals")).approvals;
  const questions = (await workspace.list("questions")).questions;
  const addresses = [
    "#/inbox", ...approvals.map((one) => `#/inbox/${workspace.id}/approval/${one.id}`), `#/inbox/${workspace.id}/question/${questions[0].id}`,
    `#/w/${workspace.id}/timeline`, ...steps.slice(0, 50).map((step) => `#/w/${workspace.id}/timeline/${step.id}`),
    `#/w/${workspace.id}/chats/${workspace.chat}`, `#/w/${workspace.id}/files`, ...steps.filter((step) => step.path).slice(0, 10).map((step) => `#/w/${workspace.id}/files${encodeURI(step.path).replace(/#/g, "%23")}`),
    `#/w/${workspace.id}/settings`, "#/w/<script>alert(1)<%2Fscript>/timeline", "#/inbox/%00/approval/%zz",
  ];
  assert.ok(approvals.length > 0);
  for (const look of [LOOKS[0], LOOKS[3]]) {
    const page = await openPage(server, look, "#/inbox", { ignore: /status of 40[034]/ });
    for (const address of addresses) {
      await page.goto(`/${address}`);
      await page.waitForTimeout(120);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${address.slice(0, 80)} is ${wide} px wider than the screen`);
    }
    await page.check();
    assert.equal(await page.evaluate(() => document.querySelectorAll("#page img, #page iframe, #page script, #page style, #page base, #page meta").length), 0);
    await page.leave();
  }
});
