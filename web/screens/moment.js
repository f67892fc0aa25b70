// The bar above the files that says at which moment they are shown: a slider over the timeline, with now at its end.

import { html, useEffect, useRef, useState } from "../vendor.js";
import { api } from "../api.js";
import { address } from "../router.js";
import { onHappening } from "../stream.js";
import { Actor } from "../parts/actor.js";
import { Icon } from "../parts/icons.js";
import { useKeys } from "../parts/keys.js";
import { count, visibleLine } from "../parts/text.js";
import { exactTime, Time } from "../parts/time.js";
import { stepWords } from "../parts/words.js";

/** Steps that are read at first, and with each further page. */
const PAGE = 200;
const FURTHER = 1_000;
/** Pages that are read to find a step that the address names. */
const SEARCHED = 20;
/** How long the slider rests before the files are read, in milliseconds. */
const REST = 120;

/**
 * @param {{ workspace: string, at: string, onAt: (step: string | null) => void }} props `at` is the step after which the files are shown
 */
export function Moment({ workspace, at, onAt }) {
  const [steps, setSteps] = useState(/** @type {any[]} */ ([]));
  const [next, setNext] = useState(/** @type {string | null} */ (null));
  const [isReading, setIsReading] = useState(true);
  /** Where the slider is while it moves. */
  const [moved, setMoved] = useState(/** @type {number | null} */ (null));
  const timer = useRef(0);

  /** @param {string | null} cursor @param {number} limit */
  const page = (cursor, limit) => api.get(`/workspaces/${workspace}/steps?limit=${limit}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`);
  const readNewest = async () => {
    try {
      let read = await page(null, PAGE);
      const found = read.steps;
      for (let pages = 0; read.next && pages < SEARCHED && !found.some((/** @type {any} */ step) => step.id === at); pages++) {
        read = await page(read.next, FURTHER);
        found.push(...read.steps);
      }
      setSteps(found);
      setNext(read.next);
    } catch {
      // The files say what is wrong.
    }
    setIsReading(false);
  };
  useEffect(() => {
    void readNewest();
    return onHappening(({ workspace: where, kind }) => {
      if (kind === "reset" || (where === workspace && kind === "step")) void readNewest();
    });
  }, [workspace]);
  const readOlder = async () => {
    if (!next || isReading) return;
    setIsReading(true);
    try {
      const read = await page(next, FURTHER);
      setSteps((old) => [...old, ...read.steps]);
      setNext(read.next);
    } catch {
      // The button is still there to try again.
    }
    setIsReading(false);
  };

  const index = steps.findIndex((step) => step.id === at);
  // The newest step is at the right; now is after it.
  const place = moved ?? (index < 0 ? 0 : steps.length - 1 - index);
  const step = index < 0 && moved === null ? undefined : steps[steps.length - 1 - place];
  const move = (/** @type {number} */ to) => {
    const bounded = Math.max(0, Math.min(steps.length, to));
    setMoved(bounded);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      setMoved(null);
      onAt(steps[steps.length - 1 - bounded]?.id ?? null);
    }, REST);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  useKeys({ ",": () => move(place - 1), ".": () => move(place + 1), t: () => onAt(null) });
  const words = step ? stepWords(step) : null;
  const inWords = step && words ? `${words.text} ${visibleLine(step.path ?? "")}, ${exactTime(step.at)}` : "Now";
  return html`<section class="moment" aria-label="The moment at which the files are shown">
    <div class="moment-what">${step && words ? html`<${Icon} name=${words.icon} /><span class="muted">After</span> <a class="ellipsis" href=${address("w", workspace, "timeline", step.id)}><strong>${words.text}</strong> <span class="path">${visibleLine(step.path ?? "")}</span></a><span class="moment-who"><${Actor} workspace=${workspace} actor=${step.actor} /><${Time} class="muted" at=${step.at} /></span>`
      : isReading ? html`<span class="muted">Reading the timeline…</span>` : moved !== null ? html`<strong>Now</strong>` : html`<span class="muted">A step that is not in the list</span>`}</div>
    <div class="moment-slide">
      ${next && html`<button class="button small" disabled=${isReading} onClick=${() => void readOlder()}>Older</button>`}
      <button class="icon-button small" aria-label="One step back" title="One step back (,)" disabled=${place <= 0} onClick=${() => move(place - 1)}><${Icon} name="left" /></button>
      <input type="range" min="0" max=${steps.length} step="1" value=${place} aria-label=${`Moment: one of ${count(steps.length, "step")}, and now at the end`} aria-valuetext=${inWords} onInput=${(/** @type {any} */ event) => move(Number(event.target.value))} />
      <button class="icon-button small" aria-label="One step on" title="One step on (.)" onClick=${() => move(place + 1)}><${Icon} name="right" /></button>
      <button class="button small" onClick=${() => onAt(null)} title="The files as they are now (t)">Now</button>
    </div>
  </section>`;
}
