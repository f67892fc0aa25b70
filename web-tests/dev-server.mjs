// Serves web/ as the built-in server does, with the same Content-Security-Policy, and forwards the API to a
// running `toolyard serve`. For development and for the tests of the page.
//   node dev-server.mjs http://127.0.0.1:3000 [PORT]
import { createReadStream, statSync } from "node:fs";
import { createServer, request as httpRequest } from "node:http";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const web = join(dirname(fileURLToPath(import.meta.url)), "..", "web");

export const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; manifest-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/** @type {Record<string, string>} */
const types = { ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".html": "text/html; charset=utf-8" };

/**
 * Starts the server.
 * @param {string} api where `toolyard serve` listens, as `http://127.0.0.1:3000`
 * @param {number} [port]
 * @returns {Promise<{ url: string, close: () => Promise<void> }>}
 */
export function startDevServer(api, port = 0) {
  const target = new URL(api);
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://page").pathname;
    if (path.startsWith("/api/") || path.startsWith("/mcp/")) return forward(request, response, target);
    const file = path === "/" ? "index.html" : path.startsWith("/web/") ? path.slice("/web/".length) : "";
    const full = normalize(join(web, file));
    const isFile = file !== "" && full.startsWith(web) && statSync(full, { throwIfNoEntry: false })?.isFile();
    if (!isFile) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {
      "content-type": types[extname(full)] ?? "application/octet-stream",
      "content-security-policy": CSP,
      "x-content-type-options": "nosniff",
      "referrer-policy": "same-origin",
      "cache-control": "no-store",
    });
    createReadStream(full).pipe(response);
  });
  return new Promise((resolve) => {
    server.listen(port, "127.0.0.1", () => {
      const address = /** @type {import("node:net").AddressInfo} */ (server.address());
      const close = () => new Promise((/** @type {(value: void) => void} */ done) => {
        server.close(() => done());
        server.closeAllConnections();
      });
      resolve({ url: `http://127.0.0.1:${address.port}`, close });
    });
  });
}

/**
 * Forwards a request with the target's own Host and Origin, which the server checks.
 * @param {import("node:http").IncomingMessage} request
 * @param {import("node:http").ServerResponse} response
 * @param {URL} target
 */
function forward(request, response, target) {
  const headers = { ...request.headers, host: target.host };
  if (headers.origin) headers.origin = target.origin;
  if (headers.referer) headers.referer = target.href;
  const onward = httpRequest({ host: target.hostname, port: target.port, path: request.url, method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    response.flushHeaders();
    answer.pipe(response);
    answer.on("close", () => answer.complete || response.destroy());
  });
  onward.on("error", () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
  response.on("close", () => onward.destroy());
  request.pipe(onward);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url } = await startDevServer(process.argv[2] ?? "http://127.0.0.1:3000", Number(process.argv[3] ?? 3001));
  console.log(`the page is at ${url}`);
}
