// A text with the step and the actor that each of its lines comes from.

import { html, useEffect, useMemo, useState } from "../vendor.js";
import { api } from "../api.js";
import { address } from "../router.js";
import { actorOf } from "../state.js";
import { Icon } from "../parts/icons.js";
import { Loading, Problem } from "../parts/states.js";
import { visibleLine } from "../parts/text.js";
import { TextView } from "../parts/text-view.js";
import { exactTime, Time } from "../parts/time.js";
import { stepWords } from "../parts/words.js";

/** After so many lines of one origin, its name is written again. */
const AGAIN = 25;

/** @typedef {{ ranges: { first_line: number, last_line: number, step_id: string }[], steps: Map<string, any> }} Origins */

/** @param {{ workspace: string, file: string, version?: string, hash: string, text: string, path: string }} props */
export function Blame({ workspace, file, version, hash, text, path }) {
  const [origins, setOrigins] = useState(/** @type {Origins | null} */ (null));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const read = async () => {
    try {
      /** @type {Origins} */
      const found = { ranges: [], steps: new Map() };
      let cursor = "";
      do {
        const page = await api.get(`/workspaces/${workspace}/files/${file}/blame?limit=1000${version ? `&version=${version}` : ""}${cursor}`);
        found.ranges.push(...page.ranges);
        for (const step of page.steps) found.steps.set(step.id, step);
        cursor = page.next ? `&cursor=${encodeURIComponent(page.next)}` : "";
      } while (cursor !== "");
      setOrigins(found);
      setProblem(null);
    } catch (failure) {
      setProblem(failure);
    }
  };
  useEffect(() => void read(), [workspace, file, version, hash]);
  /** The range of each line, by its number. */
  const byLine = useMemo(() => {
    const last = origins?.ranges.at(-1)?.last_line ?? 0;
    const found = new Int32Array(last + 1).fill(-1);
    origins?.ranges.forEach((range, i) => found.fill(i, range.first_line, range.last_line + 1));
    return found;
  }, [origins]);
  if (problem) return html`<${Problem} problem=${problem} onRetry=${read} />`;
  if (!origins) return html`<div class="pad"><${Loading} lines=${9} label="Finding where the lines come from" /></div>`;
  const margin = (/** @type {number} */ line) => {
    const at = byLine[line] ?? -1;
    const range = origins.ranges[at];
    if (!range) return html`<span class="origin"></span>`;
    const isFirst = line === range.first_line;
    const step = origins.steps.get(range.step_id);
    const name = `origin ${at % 2 === 1 ? "odd" : ""} ${isFirst ? "first" : ""}`;
    if (!isFirst && (line - range.first_line) % AGAIN !== 0) return html`<span class=${name}></span>`;
    const { name: who, kind } = actorOf(workspace, step?.actor);
    const title = step ? `${stepWords(step).text} by ${visibleLine(who)}, ${exactTime(step.at)}` : "See the step";
    return html`<a class=${name} href=${address("w", workspace, "timeline", range.step_id)} title=${title}><span class="actor-mark ${kind}"><${Icon} name=${kind} /></span><span class="ellipsis grow">${visibleLine(who)}</span>${step && html`<${Time} class="muted" at=${step.at} />`}</a>`;
  };
  return html`<${TextView} text=${text} path=${path} label="Text of the file, and where each line comes from" margin=${margin} />`;
}
