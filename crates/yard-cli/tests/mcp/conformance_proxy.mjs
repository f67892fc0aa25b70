// A loopback proxy for the conformance suite, which sends no Authorization header: it adds one and changes
// nothing else. Host, Origin, Mcp-* and all others pass as they came, bodies stream both ways as they come.
//
//   node conformance_proxy.mjs http://127.0.0.1:PORT/mcp/WORKSPACE?toolset=NAME
//
// The token is in the variable TOOLYARD_TOKEN, where no list of processes shows it. Whatever path is asked
// for leads to that one address. The first line of standard output is the proxy's own address; it ends with
// its standard input.

import http from "node:http";

// Headers of one connection: each side has its own.
const HOPS = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

const target = new URL(process.argv[2]);
const token = process.env.TOOLYARD_TOKEN;
if (target.protocol !== "http:" || !["127.0.0.1", "[::1]", "localhost"].includes(target.hostname)) {
  throw new Error("the proxy leads to loopback addresses only");
}
if (!token) throw new Error("TOOLYARD_TOKEN is not set");

// Names and values in turns, in the order and spelling in which they came.
function passed(raw, drop) {
  const kept = [];
  for (let at = 0; at < raw.length; at += 2) {
    if (!drop.has(raw[at].toLowerCase())) kept.push(raw[at], raw[at + 1]);
  }
  return kept;
}

const agent = new http.Agent({ keepAlive: false });
const withoutToken = new Set([...HOPS, "authorization"]);

const server = http.createServer((request, response) => {
  const headers = passed(request.rawHeaders, withoutToken);
  headers.push("Authorization", `Bearer ${token}`);
  const chunked = request.headers["transfer-encoding"] !== undefined;
  if (chunked) headers.push("Transfer-Encoding", "chunked");
  const onward = http.request({
    agent,
    host: target.hostname.replace(/^\[|\]$/g, ""),
    port: target.port,
    method: request.method,
    path: target.pathname + target.search,
    headers,
    setHost: false,
  });
  onward.setNoDelay(true);
  onward.on("response", (answer) => {
    response.writeHead(answer.statusCode, answer.statusMessage, passed(answer.rawHeaders, HOPS));
    // A stream that has nothing to say yet has begun all the same.
    response.flushHeaders();
    answer.pipe(response);
    answer.on("aborted", () => response.destroy());
  });
  onward.on("error", (error) => {
    if (response.headersSent) return response.destroy();
    response.writeHead(502, { "Content-Type": "text/plain" });
    response.end(`the server did not answer: ${error.message}\n`);
  });
  // Who hangs up hangs up on the server as well: that cancels a call, and ends a stream.
  response.on("close", () => onward.destroy());
  request.pipe(onward);
});

server.requestTimeout = 0;
server.on("connection", (socket) => socket.setNoDelay(true));
server.listen(0, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}/mcp`);
});
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
