// `toolyard ui` on a data folder of its own beside a project: one person on one machine.
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { binaryToTest, FROM_FOLDER, openPage, PATIENCE } from "./harness.mjs";
import { connectStdio } from "./mcp-client.mjs";

/** Starts `toolyard ui`. */
export async function startLocal(pageFiles = FROM_FOLDER) {
  const binary = binaryToTest();
  const folder = mkdtempSync(join(tmpdir(), "toolyard-local-"));
  const project = join(folder, "project");
  mkdirSync(project);
  const options = { cwd: project, env: { ...process.env, TOOLYARD_DATA_DIR: join(folder, "data"), TOOLYARD__LOG__LEVEL: "error" } };
  let ui = await startUi(binary, options, 0, pageFiles);
  const agents = [];
  return {
    project,
    url: ui.url,
    /** The one-time code in the address. */
    code: ui.code,
    /** Runs `toolyard` in the project, and returns what it prints. */
    toolyard: (...args) => new Promise((resolve) => execFile(binary, args, options, (_, out, errors) => resolve(out + errors))),
    /** An agent in the project, as a client starts it. It waits long for a person, unless `args` say otherwise. */
    async agent(...args) {
      const wait = args.includes("--wait") ? [] : ["--wait", "600"];
      const agent = await connectStdio(binary, [...wait, ...args], options);
      agents.push(agent);
      return agent;
    },
    /** Makes a file of a person. */
    put(path, text) {
      mkdirSync(dirname(join(project, path)), { recursive: true });
      writeFileSync(join(project, path), text);
    },
    /** The text of a file, or null if there is none. */
    text: (path) => (existsSync(join(project, path)) ? readFileSync(join(project, path), "utf8") : null),
    /** Opens the page with the code. The code is good once. */
    async open(look, { ignore = null } = {}) {
      const opened = await openPage({ url: ui.url }, look, `#code=${ui.code}`, { isLoggedIn: false, ignore });
      await opened.getByRole("heading", { level: 1 }).first().waitFor();
      return opened;
    },
    /** Ends the page's process as a crash would; agents go on. */
    async kill() {
      ui.child.kill("SIGKILL");
      await ui.ended;
    },
    /** Starts it again, at the same address. */
    async startAgain() {
      ui = await startUi(binary, options, Number(new URL(ui.url).port), pageFiles);
    },
    async close() {
      for (const agent of agents) await agent.close();
      ui.child.kill("SIGTERM");
      await ui.ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function startUi(binary, options, port, pageFiles) {
  const child = spawn(binary, ["ui", "--no-open", "--port", String(port), ...pageFiles], { ...options, stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  return new Promise((resolve, reject) => {
    let said = "";
    const hear = (piece) => {
      said += piece;
      const found = /(http:\/\/[\d.]+:\d+)\/#code=(\S+)/.exec(said);
      if (found) resolve({ child, ended, url: found[1], code: found[2] });
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("exit", () => reject(new Error(`toolyard ui ended: ${said}`)));
    setTimeout(() => reject(new Error(`toolyard ui printed no address: ${said}`)), PATIENCE).unref();
  });
}
