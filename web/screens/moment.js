// The bar above the files that says at which moment they are shown: a slider over the timeline, with now at its end.

import { html, useEffect, useRef, useState } from "../vendor.js";
import { api } from "../api.js";
import { address } from "../router.js";
import { onHappening } from "../stream.js";
import { Actor } from "../parts/actor.js";
import { Icon } from "../parts/icons.js";
import { useKeys } from "../parts/keys.js";
import { count, readable, visibleLine } from "../parts/text.js";
import { toastProblem } from "../parts/toast.js";
import { exactTime, Time } from "../parts/time.js";
import { stepWords } from "../parts/words.js";

/** How long the slider rests before the files are read, in milliseconds. */
const REST = 120;

/**
 * @param {{ workspace: string, at: string, onAt: (step: string | null) => void }} props `at` is the step after which the files are shown
 */
export function Moment({ workspace, at, onAt }) {
  /** The step after which the files are shown. */
  const [step, setStep] = useState(/** @type {any} */ (null));
  const [newest, setNewest] = useState(0);
  const [isMissing, setIsMissing] = useState(false);
  /** The number at which the slider is while it moves, or null where it rests. The one after the newest step is now. */
  const [moved, setMoved] = useState(/** @type {number | null} */ (null));
  const timer = useRef(0);

  const readNewest = async () => {
    try {
      setNewest((await api.get(`/workspaces/${workspace}/steps?limit=1`)).steps[0]?.number ?? 0);
    } catch {
      // The files say what is wrong.
    }
  };
  useEffect(() => {
    void readNewest();
    return onHappening(({ workspace: where, kind }) => {
      if (kind === "reset" || (where === workspace && kind === "step")) void readNewest();
    });
  }, [workspace]);
  const current = useRef(at);
  current.current = at;
  useEffect(() => {
    setIsMissing(false);
    if (step?.id === at) return;
    api.get(`/workspaces/${workspace}/steps/${at}`).then(
      (answer) => at === current.current && setStep(answer.step),
      () => at === current.current && (setStep(null), setIsMissing(true)),
    );
  }, [workspace, at]);

  const now = newest + 1;
  const place = moved ?? step?.number ?? now;
  const move = (/** @type {number} */ to) => {
    const bounded = Math.max(1, Math.min(now, to));
    setMoved(bounded);
    clearTimeout(timer.current);
    timer.current = setTimeout(async () => {
      const mine = timer.current;
      try {
        const found = bounded === now ? null : (await api.get(`/workspaces/${workspace}/steps?limit=1&through=${bounded}`)).steps[0] ?? null;
        // It was moved on meanwhile.
        if (mine !== timer.current) return;
        setMoved(null);
        if (found) setStep(found);
        onAt(found?.id ?? null);
      } catch (failure) {
        if (mine !== timer.current) return;
        setMoved(null);
        toastProblem(failure);
      }
    }, REST);
  };
  useEffect(() => () => {
    clearTimeout(timer.current);
    timer.current = 0;
  }, []);
  useKeys({ ",": () => move(place - 1), ".": () => move(place + 1), t: () => onAt(null) });
  const words = step && moved === null ? stepWords(step) : null;
  const inWords = words ? `${words.text} ${visibleLine(step.path ?? "")}, ${exactTime(step.at)}` : place === now ? "Now" : `Step ${place} of ${newest}`;
  return html`<section class="moment" aria-label="The moment at which the files are shown">
    <div class="moment-what">${words ? html`<${Icon} name=${words.icon} /><span class="muted">After</span> <a class="ellipsis" href=${address("w", workspace, "timeline", step.id)}><strong>${words.text}</strong> <span class="path">${visibleLine(step.path ?? "")}</span></a><span class="moment-who"><${Actor} workspace=${workspace} actor=${step.actor} /><${Time} class="muted" at=${step.at} /><span class="chip">step ${readable(step.number)}${newest > 0 && ` of ${readable(newest)}`}</span></span>`
      : moved !== null ? html`<strong>${inWords}</strong>` : html`<span class="muted">${isMissing ? "There is no such step" : "Reading the step…"}</span>`}</div>
    <div class="moment-slide">
      <button class="icon-button small" aria-label="One step back" title="One step back (,)" disabled=${place <= 1} onClick=${() => move(place - 1)}><${Icon} name="left" /></button>
      <input type="range" min="1" max=${now} step="1" value=${place} aria-label=${`Moment: one of ${count(newest, "step")}, and now at the end`} aria-valuetext=${inWords} onInput=${(/** @type {any} */ event) => move(Number(event.target.value))} />
      <button class="icon-button small" aria-label="One step on" title="One step on (.)" onClick=${() => move(place + 1)}><${Icon} name="right" /></button>
      <button class="button small" onClick=${() => onAt(null)} title="The files as they are now (t)">Now</button>
    </div>
  </section>`;
}
