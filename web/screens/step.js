// One step with its diff, and taking it back: with a preview where the server makes one.

import { html, signal, useEffect, useMemo, useRef, useState } from "../vendor.js";
import { api, ApiError, request } from "../api.js";
import { address, go } from "../router.js";
import { mayChange } from "../state.js";
import { onHappening } from "../stream.js";
import { Actor } from "../parts/actor.js";
import { parseDiff, reversed, totals } from "../parts/diff.js";
import { Counts, DiffView } from "../parts/diff-view.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { useKeys } from "../parts/keys.js";
import { Loading, Problem } from "../parts/states.js";
import { count, visible } from "../parts/text.js";
import { Time } from "../parts/time.js";
import { toast } from "../parts/toast.js";
import { stepWords } from "../parts/words.js";

/** @typedef {import("../parts/diff.js").DiffFile} DiffFile */
/** @typedef {"undo" | "redo" | "back-to"} Way */

/** Whether the server previews an undo, and has redo and back-to; `null` while that is not known. */
const hasPreviews = signal(/** @type {boolean | null} */ (null));

/** Asks the server without changing anything: a route that only takes POST answers 405, and a missing one 404. @param {string} workspace @param {string} step */
async function findOut(workspace, step) {
  if (hasPreviews.value !== null) return;
  const answer = await request(`/api/v1/workspaces/${workspace}/steps/${step}/back-to`);
  hasPreviews.value = answer.status === 405;
}

/** @param {{ workspace: string, id: string, undoneBy: string | null }} props */
export function StepDetail({ workspace, id, undoneBy }) {
  const [step, setStep] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const [way, setWay] = useState(/** @type {Way | null} */ (null));
  const load = async () => {
    try {
      const [read] = await Promise.all([api.get(`/workspaces/${workspace}/steps/${id}`), findOut(workspace, id)]);
      setStep(read.step);
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
  const may = mayChange(workspace) && step;
  // How a step is taken back depends on what the server can do.
  const mayTakeBack = may && hasPreviews.value !== null;
  useKeys({ u: () => mayTakeBack && setWay(undoneBy ? "redo" : "undo") });

  if (problem && !step) return html`<${Problem} problem=${problem} onRetry=${load} />`;
  if (!step) return html`<div class="pad"><${Loading} lines=${8} label="Loading the step" /></div>`;
  const words = stepWords(step);
  return html`<article class="request" aria-label="Step">
    <div class="request-head">
      <div class="request-who"><${Actor} workspace=${workspace} actor=${step.actor} /><${Time} class="muted" at=${step.at} />
        ${undoneBy && html`<a class="chip" href=${address("w", workspace, "timeline", undoneBy)}><${Icon} name="undo" />undone by a later step</a>`}
        ${step.undoes && html`<a class="chip" href=${address("w", workspace, "timeline", step.undoes)}><${Icon} name="undo" />undoes this step</a>`}
        <span class="grow"></span>
        ${mayTakeBack && html`<div class="head-actions">
          ${hasPreviews.value && html`<button class="button" onClick=${() => setWay("back-to")}><${Icon} name="timeline" />Back to here</button>`}
          ${undoneBy ? html`<button class="button" onClick=${() => setWay("redo")}><${Icon} name="redo" />Redo<kbd>u</kbd></button>`
            : html`<button class="button" onClick=${() => setWay("undo")}><${Icon} name="undo" />Undo<kbd>u</kbd></button>`}</div>`}
      </div>
      <h2 class="request-title">${words.text} ${step.files === 1 && step.path ? html`<span class="path">${visible(step.path)}</span>` : html`<span class="muted">${count(step.files, "file")}</span>`}</h2>
      ${step.author === "external" && html`<p class="why"><${Icon} name="external" /><span>An editor or another program changed this. It was recorded, so that it can be undone as well.</span></p>`}
    </div>
    ${step.truncated && html`<div class="banner warn"><${Icon} name="alert" /><span>This step is very large: only the beginning of its diff is shown here.</span></div>`}
    <div class="diff-summary"><strong>${count(step.changes.length, "change")}</strong><${Counts} ...${totals(files)} /></div>
    <${DiffView} files=${files} label="What the step changed" fileHref=${(/** @type {string} */ path) => address("w", workspace, "files", ...path.split("/"))} />
    ${way && html`<${TakeBack} workspace=${workspace} step=${step} files=${files} way=${way} undoneBy=${undoneBy} onClose=${() => setWay(null)} />`}
  </article>`;
}

/** The changes of a step as files of a diff. @param {any[]} changes @returns {DiffFile[]} */
export function filesOf(changes) {
  return changes.map((change) => {
    const parsed = change.diff ? parseDiff(change.diff)[0] : undefined;
    const mode = change.mode_before && change.mode_after && change.mode_before !== change.mode_after ? `mode ${change.mode_before} → ${change.mode_after}` : "";
    const kind = /** @type {DiffFile["kind"]} */ ({ created: "created", removed: "removed", moved: "moved" }[/** @type {"created"} */ (change.summary)] ?? "modified");
    const note = mode || (change.diff ? "" : change.summary === "touched" ? "its time was set" : change.summary === "modified" ? "not text" : "");
    if (parsed) return { ...parsed, kind, from: change.from ?? null, to: change.to ?? null, note };
    return { kind, from: change.from ?? null, to: change.to ?? null, note, rows: [], added: 0, removed: 0, longest: 0 };
  });
}

const TITLES = { undo: "Undo this step?", redo: "Do this step again?", "back-to": "Go back to this step?" };
const LABELS = { undo: "Undo it", redo: "Do it again", "back-to": "Go back" };
const TEXTS = {
  undo: "This takes back what the step did and keeps everything that came after it. The undo is a step itself: it can be undone, too.",
  redo: "This does again what was undone. It is a step itself: it can be undone, too.",
  "back-to": "The files become what they were after this step. That is one new step: it can be undone, and nothing is lost.",
};

/** @param {{ workspace: string, step: any, files: DiffFile[], way: Way, undoneBy: string | null, onClose: () => void }} props */
function TakeBack({ workspace, step, files, way, undoneBy, onClose }) {
  const [preview, setPreview] = useState(/** @type {any} */ (null));
  const [left, setLeft] = useState(/** @type {Set<string>} */ (new Set()));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const [isBusy, setIsBusy] = useState(false);
  const isPreviewed = hasPreviews.value === true;
  // An older server takes a step back by undoing the step that undid it.
  const target = way === "redo" && !isPreviewed ? `${undoneBy}/undo` : `${step.id}/${way}`;
  const route = `/workspaces/${workspace}/steps/${target}`;
  const paths = useMemo(() => [...new Set(files.map((file) => file.to ?? file.from ?? ""))], [files]);
  const chosen = left.size > 0 ? { paths: paths.filter((path) => !left.has(path)) } : {};

  const look = async () => {
    if (!isPreviewed) return;
    setPreview(null);
    setProblem(null);
    try {
      setPreview(await api.post(route, { preview: true, ...chosen }));
    } catch (failure) {
      setProblem(failure);
    }
  };
  useEffect(() => void look(), [left, isPreviewed]);

  const doIt = async () => {
    setIsBusy(true);
    setProblem(null);
    try {
      const answer = await api.post(route, isPreviewed ? { state_hash: preview?.state_hash, ...chosen } : undefined);
      onClose();
      const made = answer.step_id;
      toast(way === "undo" ? "Undone." : way === "redo" ? "Done again." : "Gone back.", made ? { action: { label: "See the step", run: () => go(address("w", workspace, "timeline", made)) } } : {});
    } catch (failure) {
      setIsBusy(false);
      if (isPreviewed && failure instanceof ApiError && failure.status === 409) await look();
      setProblem(failure);
    }
  };
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const mayDo = !isBusy && left.size < paths.length && (!isPreviewed || (preview !== null && (preview.conflicts ?? []).length === 0));
  useEffect(() => {
    if (mayDo) button.current?.focus();
  }, [mayDo]);
  const shown = isPreviewed ? (preview ? previewFiles(preview) : null) : way === "undo" ? reversed(files) : files;
  const conflicts = preview?.conflicts ?? [];
  return html`<${Dialog} title=${TITLES[way]} wide onClose=${onClose}>
    <p class="muted">${TEXTS[way]}</p>
    ${isPreviewed && way === "undo" && paths.length > 1 && paths.length <= 200 && html`<fieldset class="files-choice"><legend>Which files</legend>${paths.map((path) => html`<label key=${path}><input type="checkbox" checked=${!left.has(path)} onChange=${() => setLeft((old) => { const next = new Set(old); if (!next.delete(path)) next.add(path); return next; })} /><span class="path">${visible(path)}</span></label>`)}</fieldset>`}
    ${Boolean(problem) && html`<div class="banner bad" role="alert"><${Icon} name="alert" /><span>${problem instanceof Error ? problem.message : String(problem)}</span></div>`}
    ${conflicts.length > 0 && html`<div class="banner bad" role="alert"><${Icon} name="alert" /><span><strong>${count(conflicts.length, "conflict")}: nothing would be changed.</strong>${conflicts.slice(0, 20).map((/** @type {any} */ conflict, /** @type {number} */ i) => html`<span key=${i} class="line">${conflictWords(conflict)}</span>`)}</span></div>`}
    <div class="preview">${shown === null ? (problem ? null : html`<${Loading} lines=${4} label="Loading the preview" />`) : html`<${DiffView} files=${shown} label="What would change" />`}</div>
    <div class="actions"><button class="button" onClick=${onClose}>Cancel</button><button class="button primary" ref=${button} disabled=${!mayDo} onClick=${doIt}>${LABELS[way]}</button></div>
  </${Dialog}>`;
}

/** @param {any} preview */
function previewFiles(preview) {
  if (Array.isArray(preview.changes)) return filesOf(preview.changes);
  if (Array.isArray(preview.diff)) return filesOf(preview.diff);
  return parseDiff(preview.diff ?? "");
}

/** @param {any} conflict */
const conflictWords = (conflict) => visible(typeof conflict === "string" ? conflict : [conflict.path, conflict.message ?? conflict.reason ?? conflict.why].filter(Boolean).join(": "));
