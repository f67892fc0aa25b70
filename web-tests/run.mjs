// Runs the tests of the page: as many files at a time as there are cores, but four at most, each with a server and a browser
// of its own; then, one after the other, the files that measure how long something takes. It says how long each file took.
//   TOOLYARD=../target/debug/toolyard node run.mjs [NAME...]
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";

/** Files that measure: nothing else runs beside them. */
const ALONE = ["large", "load", "stories-local"];
/** Files that take the longest: they begin first, so that the end does not wait for one of them. */
const LONG = ["hostile", "keyboard", "states", "files"];
const AT_ONCE = Math.min(availableParallelism(), 4);

const folder = join(import.meta.dirname, "tests");
const names = readdirSync(folder).map((file) => file.slice(0, -".test.mjs".length));
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !names.includes(name));
if (unknown.length > 0) throw new Error(`there is no file of tests for ${unknown.join(", ")}; there is ${names.join(", ")}`);

/** What came of each file. */
const results = [];

/** Runs one file, and prints what it says when it has ended, so that two files do not mix their lines. */
function runFile(name) {
  const begin = performance.now();
  const child = spawn(process.execPath, ["--test-reporter=spec", join(folder, `${name}.test.mjs`)], { stdio: ["ignore", "pipe", "pipe"] });
  const pieces = [];
  for (const pipe of [child.stdout, child.stderr]) pipe.on("data", (piece) => pieces.push(piece));
  return new Promise((resolve) => child.on("close", (code) => {
    const said = Buffer.concat(pieces).toString();
    const count = (what) => Number(new RegExp(`^ℹ ${what} (\\d+)$`, "m").exec(said)?.[1] ?? 0);
    const seconds = Math.round((performance.now() - begin) / 1_000);
    results.push({ name, seconds, isGood: code === 0, tests: count("tests"), passed: count("pass"), skipped: count("skipped") });
    process.stdout.write(`\n== ${name}, ${seconds} s\n${said.replace(/^ℹ .*\n/gm, "")}`);
    resolve();
  }));
}

/** Runs files, so many at a time. */
async function runFiles(files, atOnce) {
  const waiting = [...files];
  const worker = async () => {
    for (let name = waiting.shift(); name; name = waiting.shift()) await runFile(name);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

const begin = performance.now();
const chosen = names.filter((name) => wanted.length === 0 || wanted.includes(name));
const beside = chosen.filter((name) => !ALONE.includes(name));
await runFiles([...beside.filter((name) => LONG.includes(name)), ...beside.filter((name) => !LONG.includes(name))], AT_ONCE);
await runFiles(chosen.filter((name) => ALONE.includes(name)), 1);

const sum = (what) => results.reduce((all, result) => all + result[what], 0);
const failed = results.filter((result) => !result.isGood).map((result) => result.name);
console.log(`\n${results.toSorted((a, b) => b.seconds - a.seconds).map((result) => `${String(result.seconds).padStart(5)} s  ${result.name}`).join("\n")}`);
console.log(`${results.length} files, ${sum("tests")} tests: ${sum("passed")} passed, ${sum("skipped")} skipped, after ${Math.round((performance.now() - begin) / 1_000)} s, ${AT_ONCE} files at a time`);
if (failed.length > 0) {
  console.error(`FAILED: ${failed.join(", ")}`);
  process.exitCode = 1;
}
