// What the page costs: the bytes that a browser loads of the compressed files that are built into the program, and what ten
// open tabs cost the server.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { BUILT_IN, closeBrowser, IS_SOAK, median, newContext, openPage, startServer, until, WIDE } from "../harness.mjs";

const web = join(import.meta.dirname, "..", "..", "web");
let server;
before(async () => (server = await startServer(BUILT_IN)));
after(async () => {
  await closeBrowser();
  await server.close();
});

test("a browser loads less than 200 kB of contents from the program, counted on the wire", async () => {
  const workspace = await server.api.workspace("Bytes", { preset: "open", rules: [] });
  await workspace.agent("write", { path: "/a.txt", content: "a\n" });
  const page = await openPage(server, WIDE, "");
  await page.goto("about:blank");
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Network.enable");
  await devtools.send("Network.setCacheDisabled", { cacheDisabled: true });
  const addresses = new Map();
  const sizes = new Map();
  devtools.on("Network.requestWillBeSent", ({ requestId, request }) => addresses.set(requestId, request.url));
  devtools.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => sizes.set(addresses.get(requestId), encodedDataLength));
  let headers = 0;
  devtools.on("Network.responseReceived", ({ response }) => (headers += response.encodedDataLength));
  await page.goto(`${server.url}/#/w/${workspace.id}/timeline`);
  await page.getByText("/a.txt").first().waitFor();
  const isModule = (name) => name.endsWith(".js");
  const modules = readdirSync(web, { recursive: true }).filter(isModule).map((name) => `${server.url}/web/${name}`);
  await until("all modules are loaded", () => [...sizes.keys()].filter((url) => url && isModule(new URL(url).pathname)).length >= modules.length - 3);
  const all = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  const bytes = all - headers;
  const onDisk = modules.map((url) => readFileSync(join(web, new URL(url).pathname.slice("/web/".length))).length).reduce((sum, size) => sum + size, 0);
  console.log(`# the browser loaded ${sizes.size} answers, ${bytes} bytes of contents and ${headers} of headers on the wire, for ${onDisk} bytes of modules`);
  assert.ok(bytes < 200_000, `${bytes} bytes`);
  assert.ok(bytes > 40_000, "all of them were counted");
  await page.check();
  await page.leave();
});

/** The memory of a process that is really in use, in bytes. */
const memory = (pid) => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) * 1_024;

test("ten open tabs are all live, cost the server under 30 MB, and slow no call down", async () => {
  const workspace = await server.api.workspace("Ten tabs", { preset: "open", rules: [] });
  await workspace.agent("write", { path: "/a.txt", content: "a\n" });
  const url = `${server.url}/#/w/${workspace.id}/timeline`;
  // Each is a browser of its own, so that each has its own stream: tabs of one browser share one.
  const first = await openPage(server, WIDE, `#/w/${workspace.id}/timeline`);
  await first.getByText("/a.txt").first().waitFor();
  const login = await first.context().storageState();
  await first.goto("about:blank");
  const call = async () => {
    const begin = performance.now();
    assert.ok((await workspace.agent("read", { path: "/a.txt" })).success);
    return performance.now() - begin;
  };
  for (let i = 0; i < 100; i++) await call();
  const before_ = memory(server.pid());
  const tabs = [];
  for (let i = 0; i < 10; i++) {
    const tab = await (await newContext(login)).newPage();
    await tab.goto(url);
    await tab.getByText("Live", { exact: true }).waitFor();
    tabs.push(tab);
  }
  await workspace.agent("write", { path: "/seen-by-all.txt", content: "x\n" });
  for (const tab of tabs) await tab.getByText("/seen-by-all.txt").first().waitFor();
  const grown = memory(server.pid()) - before_;
  console.log(`# ten tabs: the server's memory grew by ${(grown / 1e6).toFixed(1)} MB`);
  assert.ok(grown < 30e6, `${grown} bytes`);
  // By turns with the tabs and without them, so that what else the machine does is in both.
  const times = { without: [], with: [] };
  const [rounds, calls] = IS_SOAK ? [10, 200] : [2, 50];
  for (let round = 0; round < rounds; round++) {
    for (const tab of tabs) await tab.goto("about:blank");
    for (let i = 0; i < calls; i++) times.without.push(await call());
    for (const tab of tabs) await tab.goto(url);
    for (const tab of tabs) await tab.getByText("Live", { exact: true }).waitFor();
    for (let i = 0; i < calls; i++) times.with.push(await call());
  }
  const ratio = median(times.with) / median(times.without);
  console.log(`# the median of ${times.with.length} calls: ${median(times.without).toFixed(2)} ms without tabs, ${median(times.with).toFixed(2)} ms with ten, ${ratio.toFixed(2)} times`);
  // 1.1, and as much again for the noise of the machine on which the browsers run as well.
  if (IS_SOAK) assert.ok(ratio < 1.2, `${ratio}`);
  for (const tab of tabs) await tab.context().close();
  await first.leave();
});
