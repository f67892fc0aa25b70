// Makes the pictures of the page for the documents, from a real run. It fails if a screen does not show what it should.
//   TOOLYARD=../target/debug/toolyard node screenshots.mjs FOLDER
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Api, closeBrowser, openPage, startServer } from "./harness.mjs";

const folder = process.argv[2] ?? "shots";
mkdirSync(folder, { recursive: true });
const server = await startServer();

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

try {
  const workspace = await server.api.workspace("Web shop");
  const chat = async (title) => (await server.api.call("POST", `/workspaces/${workspace.id}/chats`, { title })).chat.id;
  const agentOf = async (name) => new Api(server.api.url, (await server.api.call("POST", `/workspaces/${workspace.id}/keys`, { name, role: "member", toolsets: ["workspace", "codex"] })).key);
  const [claude, codex] = [await agentOf("Claude"), await agentOf("Codex")];
  const call = (api, chat_id) => (tool, args, toolset = "workspace") => api.call("POST", `/workspaces/${workspace.id}/tools`, { tool, args, toolset, chat_id, wait_ms: 0 });
  const run = await chat("Free shipping above 50 euros");
  const [byClaude, byCodex] = [call(claude, run), call(codex, await chat("Tidy up the templates"))];

  await workspace.person("write", { path: "/shop/prices.py", content: PRICES });
  await workspace.person("write", { path: "/config/shop.toml", content: 'currency = "EUR"\nfree_shipping_from = 0\n' });
  await workspace.person("write", { path: "/templates/old_cart.html", content: "<h1>Cart</h1>\n<p>Not used since spring.</p>\n" });
  await server.api.call("POST", `/workspaces/${workspace.id}/chats/${run}/messages`, { role: "user", content: "Orders above 50 euros ship for free. Please change the prices, and add a test." });
  await claude.call("POST", `/workspaces/${workspace.id}/chats/${run}/messages`, { role: "assistant", content: "I will make the limit an argument of shipping(), so that the test can set it." });
  await byClaude("edit", { path: "/shop/prices.py", old_string: "def shipping(weight):\n    if weight < 1:", new_string: 'def shipping(weight, order=Decimal(0), free_from=Decimal(50)):\n    """What sending the order costs."""\n    if order >= free_from:\n        return Decimal(0)\n    if weight < 1:' });
  await byClaude("write", { path: "/tests/test_prices.py", content: "from decimal import Decimal\n\nfrom shop.prices import shipping\n\n\ndef test_large_orders_ship_for_free():\n    assert shipping(2, order=Decimal(50)) == 0\n" });
  await byCodex("shell", { command: "mkdir -p templates/mail; echo '<p>Thank you!</p>' > templates/mail/thanks.html; ls templates", workdir: null, timeout_ms: 10_000 }, "codex");
  await server.api.call("PUT", `/workspaces/${workspace.id}/policy`, { preset: "guarded", rules: [{ effect: "change", path: "config/**", then: "ask", why: "People look at the configuration first." }, { effect: "change", path: "infra/**", then: "deny" }] });
  await byClaude("edit", { path: "/config/shop.toml", old_string: "free_shipping_from = 0", new_string: "free_shipping_from = 50\nfree_shipping_countries = [\"DE\", \"AT\"]" });
  await byCodex("shell", { command: "rm templates/old_cart.html && mv templates/mail/thanks.html templates/thanks.html", workdir: null, timeout_ms: 10_000 }, "codex");
  await byClaude("ask_user", { questions: [{ name: "countries", question: "To which countries do we ship for free?", schema: { type: "string", enum: ["Germany", "Germany and Austria", "All of the EU"] } }] });

  const steps = (await workspace.list("steps")).steps;
  const edited = steps.find((step) => step.verb === "edit");
  const removal = (await workspace.list("approvals")).approvals.find((approval) => approval.toolset === "codex") ?? (await workspace.list("approvals")).approvals[0];
  const screens = [
    { name: "inbox", address: `#/inbox/${workspace.id}/approval/${removal.id}`, shows: "Why you are asked" },
    { name: "timeline", address: `#/w/${workspace.id}/timeline/${edited.id}`, shows: "What sending the order costs." },
    { name: "chat", address: `#/w/${workspace.id}/chats/${run}`, shows: "Orders above 50 euros ship for free." },
    { name: "file", address: `#/w/${workspace.id}/files/shop/prices.py`, shows: "Prices of the shop." },
    { name: "settings", address: `#/w/${workspace.id}/settings`, shows: "People look at the configuration first." },
  ];
  for (const look of [{ width: 1280, height: 800, theme: "light" }, { width: 1280, height: 800, theme: "dark" }, { width: 390, height: 800, theme: "light" }]) {
    const page = await openPage(server, look);
    for (const { name, address, shows } of screens) {
      await page.goto(`/${address}`);
      await page.getByText(shows).first().waitFor();
      await page.waitForTimeout(400);
      await page.screenshot({ path: join(folder, `${name}-${look.width}-${look.theme}.png`) });
    }
    await page.check();
    await page.leave();
  }
  console.log(`the pictures are in ${folder}`);
} finally {
  await closeBrowser();
  await server.close();
}
