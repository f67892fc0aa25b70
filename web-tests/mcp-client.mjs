// An agent as a client of MCP: by lines with a `toolyard mcp` of its own, or over HTTP with a key. A call that waits for a
// person waits here, too, and its answer is the tool's own.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";

const HELLO = { protocolVersion: "2025-11-25", clientInfo: { name: "test-agent", version: "1" } };

/** An agent on standard input and output: a process of its own. */
export async function connectStdio(binary, args, options) {
  const child = spawn(binary, ["mcp", ...args], { ...options, stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  const agent = new Agent({
    send: (message) => child.stdin.write(`${JSON.stringify(message)}\n`),
    async close() {
      child.stdin.end();
      await ended;
    },
  });
  createInterface({ input: child.stdout }).on("line", (line) => agent.receive(JSON.parse(line)));
  child.on("exit", () => agent.fail(new Error("toolyard mcp ended")));
  return agent.greet({});
}

/** An agent over HTTP. It can show pages, so that the server waits until a person has decided. */
export async function connectHttp(url, headers) {
  let session = {};
  const request = (method, body) => fetch(url, { method, body, headers: { ...headers, ...session, "content-type": "application/json", accept: "application/json, text/event-stream" } });
  const agent = new Agent({
    async send(message) {
      const answer = await request("POST", JSON.stringify(message));
      if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
      const id = answer.headers.get("mcp-session-id");
      if (id) session = { "mcp-session-id": id, "mcp-protocol-version": HELLO.protocolVersion };
      await readMessages(answer, (received) => agent.receive(received));
    },
    close: () => request("DELETE"),
  });
  return agent.greet({ elicitation: { url: {} } });
}

/** Reads the messages of an answer: one as JSON, or any number as server-sent events. */
async function readMessages(answer, receive) {
  if (!answer.headers.get("content-type")?.startsWith("text/event-stream")) {
    const text = await answer.text();
    if (text !== "") receive(JSON.parse(text));
    return;
  }
  for await (const line of createInterface({ input: Readable.fromWeb(answer.body) })) {
    const data = /^data: ?(\S.*)/.exec(line)?.[1];
    if (data) receive(JSON.parse(data));
  }
}

class Agent {
  #transport;
  #next = 1;
  /** What waits for an answer, by the id of its request. */
  #waiting = new Map();

  constructor(transport) {
    this.#transport = transport;
  }

  async greet(capabilities) {
    await this.#ask("initialize", { ...HELLO, capabilities });
    await this.#transport.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    return this;
  }

  async tools() {
    return (await this.#ask("tools/list", {})).tools.map((tool) => tool.name);
  }

  /** Calls a tool. Its answer: whether it worked, all of its text, and its structured content. */
  async call(name, args) {
    const result = await this.#ask("tools/call", { name, arguments: args });
    return { isError: result.isError === true, text: result.content.map((one) => one.text ?? "").join("\n"), structured: result.structuredContent };
  }

  #ask(method, params) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      Promise.resolve(this.#transport.send({ jsonrpc: "2.0", id, method, params })).catch(reject);
    });
  }

  receive(message) {
    // The server shows the client a page to open: the person has it open.
    if (message.method === "elicitation/create") return void this.#transport.send({ jsonrpc: "2.0", id: message.id, result: { action: "accept" } });
    const waiting = message.method === undefined && this.#waiting.get(message.id);
    if (!waiting) return;
    this.#waiting.delete(message.id);
    if (message.error) waiting.reject(new Error(JSON.stringify(message.error)));
    else waiting.resolve(message.result);
  }

  fail(error) {
    for (const { reject } of this.#waiting.values()) reject(error);
  }

  close() {
    return this.#transport.close();
  }
}
