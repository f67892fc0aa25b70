// Every change of a workspace, newest first, by day; the chosen step is shown beside the list.

import { html, useEffect, useMemo, useRef, useState } from "../vendor.js";
import { api } from "../api.js";
import { address, go, parts } from "../router.js";
import { actorOf } from "../state.js";
import { onHappening } from "../stream.js";
import { Actor } from "../parts/actor.js";
import { Counts } from "../parts/diff-view.js";
import { Icon } from "../parts/icons.js";
import { useKeys } from "../parts/keys.js";
import { Split } from "../parts/split.js";
import { Empty, Loading, Problem } from "../parts/states.js";
import { visibleLine } from "../parts/text.js";
import { dayName, Time } from "../parts/time.js";
import { VirtualList } from "../parts/virtual.js";
import { stepWords } from "../parts/words.js";
import { StepDetail } from "./step.js";

/** @typedef {{ id: string, at: string, author: "agent" | "person" | "external", actor: string, verb: string, undoes: string | null, files: number, path: string | null, added?: number, removed?: number }} Step */
/** @typedef {{ kind: "day", name: string } | { kind: "step", step: Step } | { kind: "more" }} Item */

const STEP = 64;
const DAY = 34;
/** Steps that are read at first, and with each further page. */
const PAGE = 200;
const FURTHER = 1_000;

const AUTHORS = [["", "Everyone"], ["agent", "Agents"], ["person", "People"], ["external", "Outside"]];

/** @param {{ workspace: string }} props */
export function Timeline({ workspace }) {
  const [steps, setSteps] = useState(/** @type {Step[] | null} */ (null));
  const [next, setNext] = useState(/** @type {string | null} */ (null));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const [author, setAuthor] = useState("");
  const [words, setWords] = useState("");
  const isReading = useRef(false);
  const chosenId = parts.value[3];

  /** Reads the newest steps, and puts those that are new before what is there. */
  const readNewest = async () => {
    try {
      const page = await api.get(`/workspaces/${workspace}/steps?limit=${PAGE}`);
      setSteps((old) => {
        const known = new Set(old?.map((step) => step.id));
        const meets = page.steps.some((/** @type {Step} */ step) => known.has(step.id));
        // More than a page is new: the list begins anew.
        if (!old || !meets) {
          setNext(page.next);
          return page.steps;
        }
        return [...page.steps.filter((/** @type {Step} */ step) => !known.has(step.id)), ...old];
      });
      setProblem(null);
    } catch (failure) {
      setProblem(failure);
    }
  };
  const readOlder = async () => {
    if (isReading.current || !next) return;
    isReading.current = true;
    try {
      const page = await api.get(`/workspaces/${workspace}/steps?limit=${FURTHER}&cursor=${encodeURIComponent(next)}`);
      setSteps((old) => [...(old ?? []), ...page.steps]);
      setNext(page.next);
    } catch (failure) {
      setProblem(failure);
    } finally {
      isReading.current = false;
    }
  };
  useEffect(() => {
    void readNewest();
    let timer = 0;
    const stop = onHappening(({ workspace: where, kind }) => {
      if (kind !== "reset" && (where !== workspace || kind !== "step")) return;
      clearTimeout(timer);
      timer = setTimeout(() => void readNewest(), 150);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [workspace]);

  const undone = useMemo(() => undoneSteps(steps ?? []), [steps]);
  const shown = useMemo(() => (author || words ? (steps ?? []).filter((step) => matches(workspace, step, author, words)) : steps ?? []), [steps, author, words]);
  const items = useMemo(() => itemsOf(shown, next !== null), [shown, next]);
  const chosen = items.findIndex((item) => item.kind === "step" && item.step.id === chosenId);
  const place = shown.findIndex((step) => step.id === chosenId);
  // The chosen step may be older than what was read so far.
  const later = (steps ?? []).findIndex((step) => step.id === chosenId);
  const open = (/** @type {Step | undefined} */ step) => step && go(address("w", workspace, "timeline", step.id), { replace: Boolean(chosenId) });
  const move = (/** @type {number} */ by) => open(shown[Math.max(0, Math.min(shown.length - 1, place + by))]);
  useKeys({ j: () => move(1), k: () => move(-1), ArrowDown: () => move(1), ArrowUp: () => move(-1), Escape: () => go(address("w", workspace, "timeline")) });

  const height = (/** @type {number} */ i) => (items[i]?.kind === "day" ? DAY : STEP);
  const row = (/** @type {number} */ i) => {
    const item = /** @type {Item} */ (items[i]);
    if (item.kind === "day") return html`<h2 class="day">${item.name}</h2>`;
    if (item.kind === "more") return html`<div class="list-row muted">Reading older steps…</div>`;
    return html`<${Row} workspace=${workspace} step=${item.step} isChosen=${i === chosen} undoneFiles=${undone.get(item.step.id)?.files ?? 0} />`;
  };
  const list = html`<div class="list-tools">
      <label class="search"><${Icon} name="search" /><input type="search" placeholder="Path, tool or name" aria-label="Filter the steps by path, tool or name" value=${words} onInput=${(/** @type {any} */ event) => setWords(event.target.value)}
        onKeyDown=${(/** @type {any} */ event) => event.key === "Escape" && (setWords(""), event.target.blur())} /></label>
      <div class="segmented wide" role="group" aria-label="By whom">${AUTHORS.map(([value, label]) => html`<button key=${value} aria-pressed=${author === value} onClick=${() => setAuthor(String(value))}>${label}</button>`)}</div>
    </div>
    ${steps === null ? (problem ? html`<${Problem} problem=${problem} onRetry=${readNewest} />` : html`<${Loading} lines=${9} label="Loading the timeline" />`)
      : steps.length === 0 ? html`<${Empty} icon="timeline" title="Nothing has happened yet"><p>Every change will be a step here, with its diff and an undo. The <a href=${address("w", workspace, "settings")}>settings</a> say how an agent is connected.</p></${Empty}>`
      : shown.length === 0 && next === null ? html`<${Empty} icon="search" title="No step matches"><p><button class="link" onClick=${() => { setWords(""); setAuthor(""); }}>Show all steps</button></p></${Empty}>`
      : html`<${VirtualList} role="list" label="Steps" count=${items.length} height=${height} version=${items} keyOf=${(/** @type {number} */ i) => keyOf(/** @type {Item} */ (items[i]))} onEnd=${readOlder} scrollTo=${chosen} row=${row} />`}`;
  const detail = chosenId
    ? html`<${StepDetail} key=${chosenId} workspace=${workspace} id=${chosenId} undone=${undone.get(chosenId) ?? null} later=${later < 0 ? null : later} onChanged=${readNewest} />`
    : steps && steps.length > 0 ? html`<${Empty} icon="timeline" title="Choose a step"><p>You see its diff and can take it back, even an old one, without losing what came after it. <kbd>j</kbd> and <kbd>k</kbd> go through the list.</p></${Empty}>` : null;
  return html`<${Split} label="Timeline" list=${list} detail=${detail} hasDetail=${Boolean(chosenId)} back=${address("w", workspace, "timeline")} backLabel="Timeline" />`;
}

/**
 * What was undone of each step, by its id. An undo that was undone itself does not count.
 * @param {Step[]} steps newest first
 */
function undoneSteps(steps) {
  /** @type {Map<string, { by: string, files: number }>} */
  const undone = new Map();
  for (const step of steps) {
    if (!step.undoes) continue;
    // A later step undoes it, and is in the map already.
    const left = step.files - (undone.get(step.id)?.files ?? 0);
    if (left <= 0) continue;
    const known = undone.get(step.undoes);
    undone.set(step.undoes, { by: known?.by ?? step.id, files: (known?.files ?? 0) + left });
  }
  return undone;
}

/** @param {string} workspace @param {Step} step @param {string} author @param {string} words */
function matches(workspace, step, author, words) {
  if (author && step.author !== author) return false;
  if (!words) return true;
  const text = `${step.path ?? ""} ${step.verb} ${actorOf(workspace, step.actor).name}`.toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** @param {Step[]} steps @param {boolean} hasMore */
function itemsOf(steps, hasMore) {
  /** @type {Item[]} */
  const items = [];
  let day = "";
  for (const step of steps) {
    const name = dayName(step.at);
    if (name !== day) items.push({ kind: "day", name });
    day = name;
    items.push({ kind: "step", step });
  }
  if (hasMore) items.push({ kind: "more" });
  return items;
}

/** @param {Item} item */
const keyOf = (item) => (item.kind === "step" ? item.step.id : item.kind === "day" ? item.name : "more");

/** @param {{ workspace: string, step: Step, isChosen: boolean, undoneFiles: number }} props */
function Row({ workspace, step, isChosen, undoneFiles }) {
  const words = stepWords(step);
  return html`<a class="list-row step-row ${undoneFiles >= step.files && undoneFiles > 0 ? "undone" : ""}" href=${address("w", workspace, "timeline", step.id)} aria-current=${isChosen ? "true" : undefined}>
    <span class="kind-mark plain"><${Icon} name=${words.icon} /></span>
    <span class="min grow">
      <span class="row-line"><span class="ellipsis"><strong>${words.text}</strong> <span class="path">${visibleLine(step.path ?? "")}</span></span><${Time} class="muted small" at=${step.at} clock /></span>
      <span class="row-line small"><span class="row-by"><${Actor} workspace=${workspace} actor=${step.actor} /><span class="muted ellipsis">${words.more}</span></span>${undoneFiles > 0 ? html`<span class="chip">${undoneFiles >= step.files ? "undone" : "partly undone"}</span>` : html`<${Counts} added=${step.added ?? 0} removed=${step.removed ?? 0} />`}</span>
    </span></a>`;
}
