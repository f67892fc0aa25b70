// Every change of a workspace, newest first, by day; the chosen step is shown beside the list.

import { html, useEffect, useMemo, useRef, useState } from "../vendor.js";
import { api } from "../api.js";
import { address, go, keepQuery, parts, query, withQuery } from "../router.js";
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
import { Compare } from "./compare.js";
import { StepDetail } from "./step.js";
import { ActiveFilters, filterOf, Filters, isFiltered } from "./timeline-filter.js";

/** @typedef {{ id: string, number: number, at: string, author: "agent" | "person" | "external", actor: string, verb: string, undoes: string | null, files: number, path: string | null, chat_id?: string | null, lines_added?: number | null, lines_removed?: number | null, back_to?: string | null }} Step */
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
  /** The newest steps of all, where the list has only some: they say what was undone. */
  const [recent, setRecent] = useState(/** @type {Step[]} */ ([]));
  const [showsFilters, setShowsFilters] = useState(false);
  const isReading = useRef(false);
  const filter = filterOf(query.value);
  const { by, q: words } = filter;
  const isComparing = parts.value[3] === "compare";
  const [from, to] = isComparing ? parts.value.slice(4) : [];
  const chosenId = isComparing ? undefined : parts.value[3];
  const setFilter = (/** @type {Partial<import("./timeline-filter.js").Filter>} */ changed) => go(withQuery(address(...parts.value), { ...filter, ...changed }), { replace: true });
  // The server filters by these, and the page by the words.
  const { actor, chat, path, verb } = filter;
  const asked = Object.entries({ author: by, actor, chat, path, verb }).map(([name, value]) => (value ? `&${name}=${encodeURIComponent(value)}` : "")).join("");
  const current = useRef(asked);
  current.current = asked;

  /** Reads the newest steps, and puts those that are new before what is there. */
  const readNewest = async () => {
    const mine = current.current;
    try {
      const page = await api.get(`/workspaces/${workspace}/steps?limit=${PAGE}${mine}`);
      // Another filter was chosen meanwhile.
      if (mine !== current.current) return;
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
      if (mine) setRecent((await api.get(`/workspaces/${workspace}/steps?limit=${PAGE}`)).steps);
    } catch (failure) {
      if (mine === current.current) setProblem(failure);
    }
  };
  const readOlder = async () => {
    if (isReading.current || !next) return;
    const mine = current.current;
    isReading.current = true;
    try {
      const page = await api.get(`/workspaces/${workspace}/steps?limit=${FURTHER}${mine}&cursor=${encodeURIComponent(next)}`);
      if (mine !== current.current) return;
      setSteps((old) => [...(old ?? []), ...page.steps]);
      setNext(page.next);
    } catch (failure) {
      setProblem(failure);
    } finally {
      isReading.current = false;
    }
  };
  const readNewestNow = useRef(readNewest);
  readNewestNow.current = readNewest;
  useEffect(() => {
    setSteps(null);
    setNext(null);
    setProblem(null);
    void readNewest();
    let timer = 0;
    const stop = onHappening(({ workspace: where, kind }) => {
      if (kind !== "reset" && (where !== workspace || kind !== "step")) return;
      clearTimeout(timer);
      timer = setTimeout(() => void readNewestNow.current(), 150);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [workspace, asked]);

  const everything = asked ? recent : steps ?? [];
  const undone = useMemo(() => undoneSteps(everything), [everything]);
  const shown = useMemo(() => (words ? (steps ?? []).filter((step) => matches(workspace, step, words)) : steps ?? []), [steps, words]);
  const items = useMemo(() => itemsOf(shown, next !== null), [shown, next]);
  const picked = isComparing ? to ?? from : chosenId;
  const chosen = items.findIndex((item) => item.kind === "step" && item.step.id === picked);
  const place = shown.findIndex((step) => step.id === picked);
  const addressOf = (/** @type {string} */ id) => keepQuery(isComparing ? address("w", workspace, "timeline", "compare", from, id) : address("w", workspace, "timeline", id));
  const top = keepQuery(address("w", workspace, "timeline"));
  const open = (/** @type {Step | undefined} */ step) => step && go(addressOf(step.id), { replace: Boolean(picked) });
  const move = (/** @type {number} */ by) => open(shown[Math.max(0, Math.min(shown.length - 1, place + by))]);
  useKeys({ j: () => move(1), k: () => move(-1), ArrowDown: () => move(1), ArrowUp: () => move(-1), Escape: () => (showsFilters ? setShowsFilters(false) : go(isComparing && from ? keepQuery(address("w", workspace, "timeline", from)) : top)), f: () => setShowsFilters(!showsFilters) });

  const height = (/** @type {number} */ i) => (items[i]?.kind === "day" ? DAY : STEP);
  const row = (/** @type {number} */ i) => {
    const item = /** @type {Item} */ (items[i]);
    if (item.kind === "day") return html`<h2 class="day">${item.name}</h2>`;
    if (item.kind === "more") return html`<div class="list-row muted">Reading older steps…</div>`;
    return html`<${Row} workspace=${workspace} step=${item.step} href=${addressOf(item.step.id)} mark=${item.step.id === from ? "from" : item.step.id === to ? "to" : ""} isChosen=${i === chosen} undoneFiles=${undone.get(item.step.id)?.files ?? 0} />`;
  };
  const list = html`<div class="list-tools">
      <div class="row-line"><label class="search grow"><${Icon} name="search" /><input type="search" placeholder="Path, tool or name" aria-label="Filter the steps by path, tool or name" value=${words} onInput=${(/** @type {any} */ event) => setFilter({ q: event.target.value })}
        onKeyDown=${(/** @type {any} */ event) => event.key === "Escape" && (setFilter({ q: "" }), event.target.blur())} /></label>
        <button class="icon-button" aria-expanded=${showsFilters} aria-label="Filters" title="Filters: by whom, chat, path and what was done (f)" onClick=${() => setShowsFilters(!showsFilters)}><${Icon} name="filter" /></button></div>
      <div class="segmented wide" role="group" aria-label="By whom">${AUTHORS.map(([value, label]) => html`<button key=${value} aria-pressed=${by === value} onClick=${() => setFilter({ by: String(value) })}>${label}</button>`)}</div>
      ${showsFilters && html`<${Filters} workspace=${workspace} filter=${filter} steps=${steps ?? []} onChange=${setFilter} />`}
      <${ActiveFilters} workspace=${workspace} filter=${filter} onChange=${setFilter} />
      ${isComparing && html`<div class="banner slim pick"><${Icon} name="compare" /><span>Choose the step to compare with.</span>${steps?.[0] && steps[0].id !== from && !to && html`<a class="button small" href=${addressOf(steps[0].id)}>Newest</a>`}<a class="button small" href=${from ? keepQuery(address("w", workspace, "timeline", from)) : top}>Stop</a></div>`}
    </div>
    ${steps === null ? (problem ? html`<${Problem} problem=${problem} onRetry=${readNewest} />` : html`<${Loading} lines=${9} label="Loading the timeline" />`)
      : steps.length === 0 && !isFiltered(filter) ? html`<${Empty} icon="timeline" title="Nothing has happened yet"><p>Every change will be a step here, with its diff and an undo. The <a href=${address("w", workspace, "settings")}>settings</a> say how an agent is connected.</p></${Empty}>`
      : shown.length === 0 && next === null ? html`<${Empty} icon="search" title="No step matches"><p><button class="link" onClick=${() => go(address(...parts.value), { replace: true })}>Show all steps</button></p></${Empty}>`
      : html`<${VirtualList} role="list" label="Steps" count=${items.length} height=${height} version=${items} keyOf=${(/** @type {number} */ i) => keyOf(/** @type {Item} */ (items[i]))} onEnd=${readOlder} scrollTo=${chosen} row=${row} />`}`;
  const detail = isComparing && from ? html`<${Compare} key=${`${from} ${to}`} workspace=${workspace} from=${from} to=${to ?? null} known=${steps ?? []} />`
    : chosenId ? html`<${StepDetail} key=${chosenId} workspace=${workspace} id=${chosenId} undone=${undone.get(chosenId) ?? null} newest=${everything[0]?.number ?? null} onChanged=${readNewest} />`
    : steps && steps.length > 0 ? html`<${Empty} icon="timeline" title="Choose a step"><p>You see its diff and can take it back, even an old one, without losing what came after it. <kbd>j</kbd> and <kbd>k</kbd> go through the list.</p></${Empty}>` : null;
  return html`<${Split} label="Timeline" list=${list} detail=${detail} hasDetail=${Boolean(chosenId) || Boolean(to)} back=${isComparing && from ? keepQuery(address("w", workspace, "timeline", from)) : top} backLabel=${isComparing ? "The step" : "Timeline"} />`;
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

/** @param {string} workspace @param {Step} step @param {string} words */
function matches(workspace, step, words) {
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

/** @param {{ workspace: string, step: Step, href: string, mark: string, isChosen: boolean, undoneFiles: number }} props `mark` says which of two compared steps it is */
function Row({ workspace, step, href, mark, isChosen, undoneFiles }) {
  const words = stepWords(step);
  return html`<a class="list-row step-row ${undoneFiles >= step.files && undoneFiles > 0 ? "undone" : ""}" href=${href} aria-current=${isChosen ? "true" : undefined}>
    <span class="kind-mark plain"><${Icon} name=${words.icon} /></span>
    <span class="min grow">
      <span class="row-line"><span class="ellipsis"><strong>${words.text}</strong> <span class="path">${visibleLine(step.path ?? "")}</span></span><${Time} class="muted small" at=${step.at} clock /></span>
      <span class="row-line small"><span class="row-by"><${Actor} workspace=${workspace} actor=${step.actor} /></span>${words.more && html`<span class="muted no-wrap push">${words.more}</span>`}${mark && html`<span class="chip live">${mark}</span>`}${undoneFiles > 0 ? html`<span class="chip">${undoneFiles >= step.files ? "undone" : "partly undone"}</span>` : html`<${Counts} added=${step.lines_added ?? 0} removed=${step.lines_removed ?? 0} />`}</span>
    </span></a>`;
}
