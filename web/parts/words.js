// Effects, verbs and states in words.

import { asText, readable, visibleLine } from "./text.js";

/** @typedef {{ kind: string, path?: string, to?: string, asked?: string, host?: string, file_type?: string | null, with_contents?: boolean, edits?: boolean, mode_only?: boolean, decides?: boolean }} Effect */

/** How much there is to lose: what comes first is looked at first. */
const RISKS = ["purge", "remove", "move-from", "move-to", "modify", "connect", "send", "run", "fetch", "create", "touch", "read", "list"];

/** @type {Record<string, { one: string, icon: string, tone: string }>} */
const EFFECTS = {
  purge: { one: "Removes for good", icon: "trash", tone: "bad" },
  remove: { one: "Removes", icon: "trash", tone: "bad" },
  "move-from": { one: "Moves", icon: "move", tone: "warn" },
  "move-to": { one: "Moves to", icon: "move", tone: "warn" },
  modify: { one: "Replaces", icon: "edit", tone: "warn" },
  edit: { one: "Edits", icon: "edit", tone: "plain" },
  mode: { one: "Changes the mode of", icon: "edit", tone: "warn" },
  create: { one: "Creates", icon: "plus", tone: "good" },
  touch: { one: "Sets the time of", icon: "edit", tone: "plain" },
  run: { one: "Runs a command in", icon: "run", tone: "plain" },
  read: { one: "Reads", icon: "eye", tone: "plain" },
  list: { one: "Lists", icon: "eye", tone: "plain" },
  fetch: { one: "Reads from", icon: "globe", tone: "warn" },
  send: { one: "Sends data to", icon: "globe", tone: "bad" },
  connect: { one: "Connects to", icon: "globe", tone: "bad" },
};

/** @param {Effect} effect */
export function effectWords(effect) {
  const kind = effect.kind === "modify" && effect.mode_only ? "mode" : effect.kind === "modify" && effect.edits ? "edit" : effect.kind;
  const words = EFFECTS[kind] ?? { one: kind, icon: "alert", tone: "warn" };
  return { ...words, target: effect.path ? effect.path + (effect.to ? ` → ${effect.to}` : "") : effect.asked ?? effect.host ?? "", isFolder: effect.file_type === "folder", withContents: effect.with_contents === true, decides: effect.decides === true };
}

/** @param {Effect[]} effects */
export const effectsByRisk = (effects) => [...effects].sort((a, b) => rank(a) - rank(b));

/** @param {Effect} effect */
function rank(effect) {
  const at = RISKS.indexOf(effect.kind);
  return at < 0 ? RISKS.length : at;
}

/** All effects of an approval, on paths and on hosts; a move is one effect. @param {any} approval @returns {Effect[]} */
export function effectsOf(approval) {
  /** @type {Effect[]} */
  const effects = [];
  for (const effect of approval.effect?.paths ?? []) {
    const last = effects.at(-1);
    if (effect.kind === "move-to" && last?.kind === "move-from" && !last.to) effects[effects.length - 1] = { ...last, to: effect.path };
    else effects.push(effect);
  }
  return effectsByRisk([...effects, ...(approval.effect?.dials ?? [])]);
}

/**
 * Why somebody is asked, without the names that programs have for effects. Of a rule its own words come first.
 * @param {string} reason
 * @param {any} args the arguments of the call, which say where a path ends and the words of the rule begin
 */
export function reasonWords(reason, args) {
  const rule = /^rule (\d+) \(ask (.+?)\) asks before: [a-z-]+ (.*)$/s.exec(reason);
  if (!rule) return reason.replace(/^(what others made is [a-z ]+: )[a-z-]+ (?=\/)/, "$1");
  const [, number, about, rest] = /** @type {string[]} */ (/** @type {unknown} */ (rule));
  const path = [args?.path, `/${asText(args?.path ?? "")}`].find((one) => typeof one === "string" && one.length > 1 && rest?.startsWith(`${one}: `));
  const words = path ? rest?.slice(path.length + 2) : /^[^:]*: ([^:]+)$/.exec(rest ?? "")?.[1];
  return words ? `${words} (rule ${number}: ${about})` : `rule ${number} of the policy asks first: ${about}`;
}

/** Whether all that an approval would do is listed, and is changes of files, which a step records. @param {any} approval */
export const canBeUndone = (approval) => (approval.effect?.dials ?? []).length === 0 && !approval.effect?.more && effectsOf(approval).some((effect) => effect.path) && effectsOf(approval).every((effect) => /^(create|modify|remove|move-from|move-to|touch|read|list)$/.test(effect.kind));

/**
 * One line that says what an approval is about.
 * @param {any} approval
 */
export function headline(approval) {
  const effects = effectsOf(approval).filter((effect) => effect.kind !== "move-to");
  // Of effects with the same risk, one on a file says more than one on the folder around it.
  const first = effects.find((effect) => effect.kind === effects[0]?.kind && effect.file_type !== "folder") ?? effects[0];
  const command = approval.args?.command ?? approval.args?.cmd;
  if (command !== undefined) return { verb: "Run", target: Array.isArray(command) ? command.map(asText).join(" ") : asText(command), isCode: true, more: 0 };
  if (!first) return { verb: "Use", target: `${approval.toolset}.${approval.tool}`, isCode: true, more: 0 };
  const words = effectWords(first);
  /** @type {Record<string, string>} */
  const verbs = { Removes: "Remove", "Removes for good": "Remove for good", Moves: "Move", Replaces: "Replace", Edits: "Edit", Creates: "Create", Reads: "Read", Lists: "List", "Runs a command in": "Run a command in", "Reads from": "Read from", "Sends data to": "Send data to", "Connects to": "Connect to" };
  return { verb: verbs[words.one] ?? words.one, target: words.target, isCode: false, more: effects.length - 1 + (approval.effect?.more ?? 0) };
}

/** What an approval would do, counted: `removes 2, changes 1`. @param {any} approval */
export function tally(approval) {
  /** @type {Record<string, number>} */
  const counts = {};
  for (const effect of effectsOf(approval)) {
    const name = { purge: "removed", remove: "removed", "move-from": "moved", modify: "changed", create: "created" }[effect.kind];
    if (name) counts[name] = (counts[name] ?? 0) + 1;
  }
  return Object.entries(counts).map(([name, number]) => `${number} ${name}`).join(", ");
}

/** What a step did, in words; `long` where the title of the step says more. @type {Record<string, { text: string, icon: string, long?: string }>} */
const VERBS = {
  write: { text: "Wrote", icon: "file" },
  edit: { text: "Edited", icon: "edit" },
  place: { text: "Uploaded", icon: "upload" },
  remove: { text: "Removed", icon: "trash" },
  move: { text: "Moved", icon: "move" },
  make_folder: { text: "Made a folder", icon: "plus" },
  mkdir: { text: "Made a folder", icon: "plus" },
  touch: { text: "Touched", icon: "edit" },
  run: { text: "Ran a command", icon: "terminals" },
  undo: { text: "Undid", icon: "undo" },
  redo: { text: "Redid", icon: "redo" },
  "back-to": { text: "Went back", icon: "rewind", long: "Went back to an earlier state of" },
  restore: { text: "Restored", icon: "undo" },
  revert: { text: "Went back to an old version of", icon: "undo" },
  patch: { text: "Patched", icon: "edit" },
  import: { text: "Changed outside", icon: "external" },
  external: { text: "Changed outside", icon: "external" },
};

/** @param {{ verb: string, author: string, files: number, path: string | null, undoes?: string | null }} step */
export function stepWords(step) {
  const verb = step.author === "external" ? "external" : step.undoes && step.verb !== "redo" ? "undo" : step.verb === "back_to" ? "back-to" : step.verb;
  const words = (Object.hasOwn(VERBS, verb) ? VERBS[verb] : null) ?? { text: verb.charAt(0).toUpperCase() + verb.slice(1).replaceAll(/[_-]/g, " "), icon: "edit" };
  return { ...words, long: words.long ?? words.text, more: step.files > 1 ? `and ${readable(step.files - 1)} more` : "" };
}

/** @type {Record<string, { text: string, tone: string }>} */
export const STATUS = {
  pending: { text: "Waiting for a person", tone: "warn" },
  approved: { text: "Approved, not done yet", tone: "good" },
  denied: { text: "Denied", tone: "bad" },
  executed: { text: "Approved and done", tone: "good" },
  failed: { text: "Approved, but it could not be done", tone: "bad" },
  unknown: { text: "Started, and nobody knows what came of it", tone: "bad" },
  withdrawn: { text: "Withdrawn by whoever asked", tone: "plain" },
  expired: { text: "Approved, but nobody came to do it in time", tone: "plain" },
};

/**
 * What came of a decision, for the person who made it. Not everything that is approved is done.
 * @param {any} approval the request as the server answered
 * @param {string} [done] what is said where all of it is done
 * @returns {{ text: string, isGood: boolean, isDecided: boolean }} `isDecided` is false where it has to be decided again
 */
export function outcomeOf(approval, done = "Approved and done.") {
  const isHost = (approval.effect?.dials ?? []).some((/** @type {Effect} */ dial) => dial.kind === "connect");
  /** @type {Record<string, string>} */
  const texts = {
    executed: done,
    denied: "Denied.",
    approved: isHost ? "Approved: the next connection of this chat to the host goes through." : "Approved, and not done yet: the agent's process does it, or its next identical call.",
    pending: "Nothing was done: what it asks for has changed since it was shown.",
    failed: "Approved, but it could not be done: the agent was told why.",
    unknown: "It was started, and the process that did it ended before it could say what came of it: look at the files.",
  };
  const text = texts[approval.status] ?? `${STATUS[approval.status]?.text ?? visibleLine(approval.status)}.`;
  return { text, isGood: ["executed", "denied", "approved"].includes(approval.status), isDecided: approval.status !== "pending" };
}
