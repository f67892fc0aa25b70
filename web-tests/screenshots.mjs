// Makes the pictures of README.md and the documents, from a real run. It fails if a screen does not show what it should.
//   TOOLYARD=../target/debug/toolyard node screenshots.mjs [FOLDER]
import assert from "node:assert/strict";
import { mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Api, closeBrowser, openPage, startServer } from "./harness.mjs";

/** The largest picture, in bytes. */
const LARGEST = 150_000;
const LIGHT = { width: 1440, height: 900, theme: "light" };
const DARK = { width: 1440, height: 900, theme: "dark" };
const PHONE = { width: 360, height: 740, theme: "dark" };

const PRICES = `"""Prices of the shop."""

from decimal import Decimal

VAT = Decimal("0.19")


def total(items):
    """The sum of all items, with tax."""
    net = sum(item.price * item.count for item in items)
    return net * (1 + VAT)


def shipping(weight):
    if weight < 1:
        return Decimal("3.90")
    return Decimal("3.90") + weight * Decimal("0.80")
`;

const CART = `<h1>Cart</h1>
<ul>
  {% for item in items %}
  <li>{{ item.name }}: {{ item.price }}</li>
  {% endfor %}
</ul>
<p>Not used since spring.</p>
`;

/** A shop that two agents work on: with a past, a chat, a terminal, and requests that wait. */
export async function makeShop(server) {
  const workspace = await server.api.workspace("Web shop", { preset: "open", rules: [] });
  const base = `/workspaces/${workspace.id}`;
  const chatOf = async (title) => (await server.api.call("POST", `${base}/chats`, { title })).chat.id;
  const agentOf = async (name) => new Api(server.api.url, (await server.api.call("POST", `${base}/keys`, { name, role: "member", toolsets: ["workspace", "codex"] })).key);
  const caller = (api, chat_id) => async (tool, args, toolset = "workspace") => {
    const answer = await api.call("POST", `${base}/tools`, { tool, args, toolset, chat_id, wait_ms: 0 });
    assert.ok(answer.success, `${tool}: ${JSON.stringify(answer)}`);
    return answer.result;
  };
  const [claude, codex] = [await agentOf("Claude"), await agentOf("Codex")];
  const run = await chatOf("Free shipping above 50 euros");
  const [byClaude, byCodex] = [caller(claude, run), caller(codex, await chatOf("Tidy up the templates"))];
  const say = (api, role, content) => api.call("POST", `${base}/chats/${run}/messages`, { role, content });

  await workspace.person("write", { path: "/shop/prices.py", content: PRICES });
  await workspace.person("write", { path: "/shop/cart.py", content: "from shop.prices import shipping, total\n\n\ndef checkout(cart):\n    return total(cart.items) + shipping(cart.weight)\n" });
  await workspace.person("write", { path: "/config/shop.toml", content: 'currency = "EUR"\nfree_shipping_from = 0\ncountries = ["DE"]\n' });
  await workspace.person("write", { path: "/templates/old_cart.html", content: CART });
  await workspace.person("write", { path: "/templates/thanks.html", content: "<p>Thank you!</p>\n" });
  await say(server.api, "user", "Orders above 50 euros ship for free. Please change the prices, and add a test.");
  await say(claude, "assistant", "I will make the limit an argument of shipping(), so that the test can set it.");
  const patch = `*** Begin Patch
*** Update File: shop/prices.py
@@
-def shipping(weight):
+def shipping(weight, order=Decimal(0), free_from=Decimal(50)):
+    """What sending the order costs."""
+    if order >= free_from:
+        return Decimal(0)
     if weight < 1:
*** Update File: shop/cart.py
@@
-    return total(cart.items) + shipping(cart.weight)
+    sum = total(cart.items)
+    return sum + shipping(cart.weight, order=sum)
*** End Patch
`;
  await byClaude("apply_patch_json", { patch }, "codex");
  const patched = (await workspace.list("steps")).steps[0].id;
  await byClaude("write", { path: "/tests/test_prices.py", content: "from decimal import Decimal\n\nfrom shop.prices import shipping\n\n\ndef test_large_orders_ship_for_free():\n    assert shipping(2, order=Decimal(50)) == 0\n" });
  await byClaude("shell", { command: "python3 -m unittest --help > /dev/null && echo 'Ran 4 tests in 0.02s: OK'", workdir: null, timeout_ms: 20_000 }, "codex");
  await say(claude, "assistant", "The prices are changed, and the test passes. Now the limit belongs into the configuration.");
  await byCodex("write", { path: "/templates/mail/order.html", content: "<p>Your order is on its way.</p>\n" });
  await workspace.person("edit", { path: "/templates/thanks.html", old_string: "Thank you!", new_string: "Thank you for your order!" });
  const policy = { preset: "guarded", rules: [{ effect: "change", path: "config/**", then: "ask", why: "People look at the configuration first." }] };
  await server.api.call("PUT", `${base}/policy`, policy);
  await byClaude("edit", { path: "/config/shop.toml", old_string: 'free_shipping_from = 0\ncountries = ["DE"]', new_string: 'free_shipping_from = 50\ncountries = ["DE", "AT"]' });
  const removal = await byCodex("shell", { command: "rm templates/old_cart.html && mv templates/thanks.html templates/mail/", workdir: null, timeout_ms: 20_000 }, "codex");
  await byClaude("ask_user", { questions: [{ name: "countries", question: "To which countries do we ship for free?", schema: { type: "string", enum: ["Germany", "Germany and Austria", "All of the EU"] } }] });
  /** A terminal that goes on; under `guarded` it would ask before it starts. */
  const startTerminal = async () => {
    await server.api.call("PUT", `${base}/policy`, { preset: "open", rules: [] });
    await byCodex("exec_command", { session_id: "preview", cmd: "printf 'Serving the shop on http://127.0.0.1:8000\\n\\nPress r to reload the templates.\\n> '; read x; sleep 600", workdir: null }, "codex");
  };
  return { workspace, run, patched, removal: removal.approval_id, startTerminal };
}

/** Waits until the screen shows what it should and nothing is loading, and takes the picture. */
async function take(page, folder, name, shows) {
  for (const text of shows) await page.getByText(text).first().waitFor();
  await page.waitForFunction(() => !document.querySelector(".loading"));
  await page.waitForTimeout(300);
  await page.check();
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path });
  const { size } = statSync(path);
  assert.ok(size <= LARGEST, `${path} has ${size} bytes, and may have ${LARGEST}`);
  console.log(`${path}: ${size} bytes`);
}

async function main() {
  const folder = process.argv[2] ?? join(dirname(fileURLToPath(import.meta.url)), "..", "docs", "pictures");
  mkdirSync(folder, { recursive: true });
  const server = await startServer();
  try {
    const { workspace, run, patched, removal, startTerminal } = await makeShop(server);
    const light = await openPage(server, LIGHT, `#/inbox/${workspace.id}/approval/${removal}`);
    await take(light, folder, "inbox", ["Why you are asked", "Not used since spring.", "Approve once", "3 waiting"]);
    await light.goto(`/#/w/${workspace.id}/timeline/${patched}/undo`);
    await light.getByRole("dialog").getByRole("button", { name: "Undo it", disabled: false }).waitFor();
    await take(light, folder, "undo", ["Undo this step?", "What sending the order costs.", "2 files"]);
    await light.goto(`/#/w/${workspace.id}/files/shop/prices.py?at=${patched}`);
    await light.getByRole("button", { name: "Who wrote it" }).click();
    await take(light, folder, "files", ["After", "Patched", "What sending the order costs.", "Claude"]);
    await light.goto(`/#/w/${workspace.id}/settings`);
    await take(light, folder, "settings", ["Keys for agents", "Guarded", "People look at the configuration first."]);
    await light.leave();
    const dark = await openPage(server, DARK, `#/w/${workspace.id}/chats/${run}`);
    await take(dark, folder, "chat", ["Orders above 50 euros ship for free.", "Waiting for a person", "Asks, and waits for an answer"]);
    const phone = await openPage(server, PHONE, `#/inbox/${workspace.id}/approval/${removal}`);
    await take(phone, folder, "phone", ["Why you are asked", "Approve once"]);
    await phone.leave();
    await startTerminal();
    await dark.goto(`/#/w/${workspace.id}/terminals`);
    await dark.getByRole("list", { name: "Terminals" }).getByRole("link").first().click();
    await take(dark, folder, "terminals", ["running", "Press r to reload the templates."]);
    await dark.leave();
  } finally {
    await closeBrowser();
    await server.close();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
