// One step with its diff, and the ways to take it back.

import { html, useEffect, useMemo, useRef, useState } from "../vendor.js";
import { api } from "../api.js";
import { address, go, keepQuery, parts, withQuery } from "../router.js";
import { mayChange } from "../state.js";
import { onHappening } from "../stream.js";
import { Actor } from "../parts/actor.js";
import { ChatLink } from "../parts/chat-link.js";
import { readChanges } from "../parts/change-pages.js";
import { filesOf, totals } from "../parts/diff.js";
import { Counts, DiffView } from "../parts/diff-view.js";
import { Icon } from "../parts/icons.js";
import { useKeys } from "../parts/keys.js";
import { Menu } from "../parts/menu.js";
import { useReview } from "../parts/review.js";
import { Loading, Problem } from "../parts/states.js";
import { count, readable, visibleLine } from "../parts/text.js";
import { Time } from "../parts/time.js";
import { stepWords } from "../parts/words.js";
import { TakeBack, WAYS } from "./undo.js";

/** @typedef {import("./undo.js").Way} Way */
/** @typedef {{ by: string, files: number }} Undone how many files of a step were undone, and the newest step that did so */

/**
 * @param {object} props
 * @param {string} props.workspace
 * @param {string} props.id
 * @param {Undone | null} props.undone
 * @param {number | null} props.newest the number of the newest step, if that is known
 * @param {() => void} props.onChanged
 */
export function StepDetail({ workspace, id, undone, newest, onChanged }) {
  const [step, setStep] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const asked = useRef(0);
  const load = async () => {
    const mine = ++asked.current;
    try {
      const page = async (/** @type {string} */ cursor) => (await api.get(`/workspaces/${workspace}/steps/${id}${cursor && `?cursor=${encodeURIComponent(cursor)}`}`)).step;
      let isFirst = true;
      const read = await readChanges(page, (first) => {
        if (mine !== asked.current) return false;
        if (isFirst) setStep(first);
        isFirst = false;
        return true;
      });
      if (read) setStep(read);
      setProblem(null);
    } catch (failure) {
      if (mine === asked.current) setProblem(failure);
    }
  };
  useEffect(() => {
    void load();
    const stop = onHappening(({ kind }) => {
      if (kind === "reset") void load();
    });
    return () => {
      asked.current++;
      stop();
    };
  }, [workspace, id]);
  const files = useMemo(() => (step ? filesOf(step.changes) : []), [step]);
  const isWhollyUndone = undone !== null && step !== null && undone.files >= step.files;
  const may = mayChange(workspace) && step !== null;
  /** How many steps came after it, if that is known. */
  const later = newest !== null && step !== null ? Math.max(0, newest - step.number) : null;
  const mayGoBack = may && later !== 0;
  // The preview has an address of its own, so that the way back of a browser or a phone closes it.
  const place = parts.value[4];
  const way = may && WAYS.includes(place ?? "") && (place !== "back-to" || mayGoBack) ? /** @type {Way} */ (place) : null;
  const here = keepQuery(address("w", workspace, "timeline", id));
  const { review, dialog } = useReview(workspace, { step_id: id }, { chat: step?.chat_id });
  const [isMoreOpen, setIsMoreOpen] = useState(false);
  const hasOpened = useRef(false);
  const open = (/** @type {Way} */ chosen) => {
    hasOpened.current = true;
    go(keepQuery(address("w", workspace, "timeline", id, chosen)));
  };
  const close = () => {
    // Whoever went elsewhere while it was being done stays there.
    if (parts.value[3] !== id || !WAYS.includes(parts.value[4] ?? "")) return;
    if (hasOpened.current) history.back();
    else go(here, { replace: true });
    hasOpened.current = false;
  };
  useKeys({ u: () => may && open(isWhollyUndone ? "redo" : "undo"), b: () => mayGoBack && open("back-to"), m: () => step && go(keepQuery(address("w", workspace, "timeline", "compare", id))), t: () => step && go(withQuery(address("w", workspace, "files"), { at: id })) });

  if (problem && !step) return html`<${Problem} problem=${problem} onRetry=${load} />`;
  if (!step) return html`<div class="pad"><${Loading} lines=${8} label="Loading the step" /></div>`;
  const words = stepWords(step);
  return html`<article class="request" aria-label="Step">
    <div class="request-head step-head">
      <div class="request-who"><${Actor} workspace=${workspace} actor=${step.actor} /><${Time} class="muted" at=${step.at} />
        ${undone && html`<a class="chip" href=${address("w", workspace, "timeline", undone.by)}><${Icon} name="undo" />${isWhollyUndone ? "undone by a later step" : "partly undone by a later step"}</a>`}
        ${step.undoes && html`<a class="chip" href=${address("w", workspace, "timeline", step.undoes)}><${Icon} name="undo" />undoes this step</a>`}
        ${step.back_to && html`<a class="chip" href=${keepQuery(address("w", workspace, "timeline", step.back_to))}><${Icon} name="rewind" />went back to this step</a>`}
        ${step.chat_id && html`<${ChatLink} workspace=${workspace} id=${step.chat_id} />`}
      </div>
      <h2 class="request-title">${words.long} ${step.path ? html`<span class="path">${visibleLine(step.path)}</span>${step.files > 1 && html` <span class="muted">and ${count(step.files - 1, "more", "more")}</span>`}` : html`<span class="muted">${count(step.files, "file")}</span>`}</h2>
      <div class="head-actions">
        ${may && !isWhollyUndone && html`<button class="button" onClick=${() => open("undo")}><${Icon} name="undo" />${undone ? "Undo the rest" : "Undo"}<kbd>u</kbd></button>`}
        ${may && undone && html`<button class="button" onClick=${() => open("redo")}><${Icon} name="redo" />Redo${isWhollyUndone && html`<kbd>u</kbd>`}</button>`}
        ${mayGoBack && html`<button class="button" title=${later ? `The files become as they were after this step: ${count(later, "later step")} ${later === 1 ? "is" : "are"} taken back` : "The files become as they were after this step"} onClick=${() => open("back-to")}><${Icon} name="rewind" />Back to here<kbd>b</kbd></button>`}
        <${Menu} class="below" label="More for this step" isSmall isOpen=${isMoreOpen} onOpen=${setIsMoreOpen} choices=${[
          { label: "Compare with another step", icon: "compare", hint: "m", run: () => go(keepQuery(address("w", workspace, "timeline", "compare", id))) },
          { label: "The files after this step", icon: "files", hint: "t", run: () => go(withQuery(address("w", workspace, "files"), { at: id })) },
        ]} /></div>
      ${step.author === "external" && html`<p class="why"><${Icon} name="external" /><span>An editor or another program changed this. It was recorded, so that it can be undone as well.</span></p>`}
    </div>
    ${step.truncated && html`<div class="banner warn"><${Icon} name="alert" /><span>A diff is too long to be shown whole: its file can be downloaded in both versions.</span></div>`}
    ${step.next && html`<div class="banner" role="status"><${Icon} name="files" /><span>${count(step.changes.length, "file")} of ${readable(step.files)} ${problem ? "could be read" : "so far"}.</span>${problem && html`<button class="button" onClick=${load}>Try again</button>`}</div>`}
    <div class="diff-summary"><strong>${count(step.changes.length, "change")}</strong><${Counts} ...${totals(files)} /></div>
    <${DiffView} files=${files} label="What the step changed" isMain review=${review} fileHref=${(/** @type {string} */ path) => address("w", workspace, "files", ...path.split("/"))} />
    ${dialog}
    ${way && html`<${TakeBack} key=${way} workspace=${workspace} step=${step} way=${way} later=${later} onClose=${close} onDone=${() => { close(); onChanged(); }} />`}
  </article>`;
}
