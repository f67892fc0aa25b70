// One step with its diff, and the ways to take it back.

import { html, useEffect, useMemo, useRef, useState } from "../vendor.js";
import { api } from "../api.js";
import { address, go, keepQuery, parts, withQuery } from "../router.js";
import { mayChange } from "../state.js";
import { onHappening } from "../stream.js";
import { Actor } from "../parts/actor.js";
import { filesOf, totals } from "../parts/diff.js";
import { Counts, DiffView } from "../parts/diff-view.js";
import { Icon } from "../parts/icons.js";
import { useKeys } from "../parts/keys.js";
import { Menu } from "../parts/menu.js";
import { useReview } from "../parts/review.js";
import { Loading, Problem } from "../parts/states.js";
import { count, visibleLine } from "../parts/text.js";
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
  const load = async () => {
    try {
      setStep((await api.get(`/workspaces/${workspace}/steps/${id}`)).step);
      setProblem(null);
    } catch (failure) {
      setProblem(failure);
    }
  };
  useEffect(() => {
    void load();
    return onHappening(({ kind }) => {
      if (kind === "reset") void load();
    });
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
    if (hasOpened.current) history.back();
    else go(here, { replace: true });
    hasOpened.current = false;
  };
  useKeys({ u: () => may && open(isWhollyUndone ? "redo" : "undo"), b: () => mayGoBack && open("back-to"), m: () => step && go(keepQuery(address("w", workspace, "timeline", "compare", id))), t: () => step && go(withQuery(address("w", workspace, "files"), { at: id })) });

  if (problem && !step) return html`<${Problem} problem=${problem} onRetry=${load} />`;
  if (!step) return html`<div class="pad"><${Loading} lines=${8} label="Loading the step" /></div>`;
  const words = stepWords(step);
  return html`<article class="request" aria-label="Step">
    <div class="request-head">
      <div class="request-who"><${Actor} workspace=${workspace} actor=${step.actor} /><${Time} class="muted" at=${step.at} />
        ${undone && html`<a class="chip" href=${address("w", workspace, "timeline", undone.by)}><${Icon} name="undo" />${isWhollyUndone ? "undone by a later step" : "partly undone by a later step"}</a>`}
        ${step.undoes && html`<a class="chip" href=${address("w", workspace, "timeline", step.undoes)}><${Icon} name="undo" />undoes this step</a>`}
        ${step.back_to && html`<a class="chip" href=${keepQuery(address("w", workspace, "timeline", step.back_to))}><${Icon} name="rewind" />went back to this step</a>`}
        ${step.chat_id && html`<a class="muted" href=${address("w", workspace, "chats", step.chat_id)} title="The chat that it belongs to"><${Icon} name="chats" />chat</a>`}
        <span class="grow"></span>
        <div class="head-actions">
          ${may && !isWhollyUndone && html`<button class="button" onClick=${() => open("undo")}><${Icon} name="undo" />${undone ? "Undo the rest" : "Undo"}<kbd>u</kbd></button>`}
          ${may && undone && html`<button class="button" onClick=${() => open("redo")}><${Icon} name="redo" />Redo${isWhollyUndone && html`<kbd>u</kbd>`}</button>`}
          ${mayGoBack && html`<button class="button" onClick=${() => open("back-to")}><${Icon} name="rewind" />Back to here<kbd>b</kbd></button>`}
          <${Menu} class="below" label="More for this step" isSmall isOpen=${isMoreOpen} onOpen=${setIsMoreOpen} choices=${[
            { label: "Compare with another step", icon: "compare", hint: "m", run: () => go(keepQuery(address("w", workspace, "timeline", "compare", id))) },
            { label: "The files after this step", icon: "files", hint: "t", run: () => go(withQuery(address("w", workspace, "files"), { at: id })) },
          ]} /></div>
      </div>
      <h2 class="request-title">${words.long} ${step.files === 1 && step.path ? html`<span class="path">${visibleLine(step.path)}</span>` : html`<span class="muted">${count(step.files, "file")}</span>`}</h2>
      ${step.author === "external" && html`<p class="why"><${Icon} name="external" /><span>An editor or another program changed this. It was recorded, so that it can be undone as well.</span></p>`}
    </div>
    ${step.truncated && html`<div class="banner warn"><${Icon} name="alert" /><span>This step is very large: only the beginning of its diff is shown here.</span></div>`}
    <div class="diff-summary"><strong>${count(step.changes.length, "change")}</strong><${Counts} ...${totals(files)} /></div>
    <${DiffView} files=${files} label="What the step changed" isMain review=${review} fileHref=${(/** @type {string} */ path) => address("w", workspace, "files", ...path.split("/"))} />
    ${dialog}
    ${way && html`<${TakeBack} key=${way} workspace=${workspace} step=${step} way=${way} later=${later} onClose=${close} onDone=${() => { close(); onChanged(); }} />`}
  </article>`;
}
