// Two points of the timeline compared: what is different in the files after the one and after the other.

import { html, useEffect, useMemo, useRef, useState } from "../vendor.js";
import { api } from "../api.js";
import { address, go, keepQuery } from "../router.js";
import { Actor } from "../parts/actor.js";
import { readChanges } from "../parts/change-pages.js";
import { filesOf, totals } from "../parts/diff.js";
import { Counts, DiffView } from "../parts/diff-view.js";
import { Icon } from "../parts/icons.js";
import { useReview } from "../parts/review.js";
import { Empty, Loading, Problem } from "../parts/states.js";
import { count, visibleLine } from "../parts/text.js";
import { Time } from "../parts/time.js";
import { stepWords } from "../parts/words.js";

/** @param {{ workspace: string, from: string, to: string | null, known: any[] }} props without `to` it is compared with now; `known` are steps that were read already */
export function Compare({ workspace, from, to, known }) {
  const [changes, setChanges] = useState(/** @type {any[] | null} */ (null));
  const [isCut, setIsCut] = useState(false);
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const asked = useRef(0);
  const read = async () => {
    const mine = ++asked.current;
    try {
      const page = (/** @type {string} */ cursor) => api.get(`/workspaces/${workspace}/compare?from=${from}${to ? `&to=${to}` : ""}&limit=1000${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
      const found = await readChanges(page, () => mine === asked.current);
      if (!found) return;
      setIsCut(found.truncated || Boolean(found.next));
      setChanges(found.changes);
      setProblem(null);
    } catch (failure) {
      if (mine === asked.current) setProblem(failure);
    }
  };
  useEffect(() => void read(), [workspace, from, to]);
  const files = useMemo(() => filesOf(changes ?? []), [changes]);
  const newest = known[0]?.id;
  const { review, dialog } = useReview(workspace, { step_id: to ?? newest ?? from }, { oldStep: from });
  const swap = () => to && go(keepQuery(address("w", workspace, "timeline", "compare", to, from)), { replace: true });
  return html`<article class="request" aria-label="Comparison">
    <div class="request-head"><h2 class="request-title">Compared</h2>
      <div class="compared"><${Point} workspace=${workspace} label="From" id=${from} known=${known} /><${Point} workspace=${workspace} label="To" id=${to} known=${known} />
        ${to && html`<button class="button" onClick=${swap} title="The other way round"><${Icon} name="swap" />Swap</button>`}</div></div>
    ${problem ? html`<${Problem} problem=${problem} onRetry=${read} />`
      : changes === null ? html`<div class="pad"><${Loading} lines=${8} label="Comparing" /></div>`
      : files.length === 0 ? html`<${Empty} icon="check" title="Nothing is different"><p>All files are the same at these two points.</p></${Empty}>`
      : html`${isCut && html`<div class="banner warn"><${Icon} name="alert" /><span>Very much is different: only a part of it is shown here.</span></div>`}
        <div class="diff-summary"><strong>${count(files.length, "file")}</strong><${Counts} ...${totals(files)} /></div>
        <${DiffView} files=${files} label="What is different" isMain review=${review} fileHref=${(/** @type {string} */ path) => address("w", workspace, "files", ...path.split("/"))} />`}
    ${dialog}
  </article>`;
}

/** One of the two steps; the newest state has none. @param {{ workspace: string, label: string, id: string | null, known: any[] }} props */
function Point({ workspace, label, id, known }) {
  const [read, setRead] = useState(/** @type {any} */ (null));
  const found = known.find((step) => step.id === id) ?? read;
  useEffect(() => {
    if (id && !found) api.get(`/workspaces/${workspace}/steps/${id}`).then(({ step }) => setRead(step), () => {});
  }, [id]);
  const words = found ? stepWords(found) : null;
  return html`<div class="point"><span class="muted small">${label}</span>
    ${id === null ? html`<strong>Now</strong><span class="muted small">Choose another step in the list, or leave it at now.</span>`
      : !found || !words ? html`<span class="muted">A step</span>`
      : html`<a class="ellipsis" href=${keepQuery(address("w", workspace, "timeline", id))}><strong>${words.text}</strong> <span class="path">${visibleLine(found.path ?? "")}</span></a><span class="row-by small"><${Actor} workspace=${workspace} actor=${found.actor} /><${Time} class="muted" at=${found.at} /></span>`}</div>`;
}
