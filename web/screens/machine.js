// What the sandbox of commands can do on this machine, and what a workspace takes there.

import { html, useEffect, useState } from "../vendor.js";
import { api, ApiError } from "../api.js";
import { Icon } from "../parts/icons.js";
import { Loading, Problem } from "../parts/states.js";
import { readable, sizeInWords, visible, visibleLine } from "../parts/text.js";

/**
 * Reads something once. A server that does not have it is no problem: there is nothing to show.
 * @param {string} path
 */
function useOnce(path) {
  const [value, setValue] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const read = () => api.get(path).then((answer) => (setValue(answer), setProblem(null)), setProblem);
  useEffect(() => void read(), [path]);
  const isMissing = problem instanceof ApiError && [403, 404, 405].includes(problem.status);
  return { value, problem, read, isMissing };
}

/** How far the box goes, in words. */
const LEVELS = /** @type {Record<string, string>} */ ({ full: "Commands run in a full box: they see the workspace and nothing else, and every change of theirs can be undone.", walls: "Commands run behind walls, but in the workspace itself: the policy asks before they start.",
  refuse: "Commands are refused, because this machine cannot put them into a box.", unconfined: "Commands run without a box: they can reach everything that the server can." });

export function Machine() {
  const { value, problem, read, isMissing } = useOnce("/doctor");
  if (isMissing) return null;
  const doctor = value?.doctor;
  const findings = [...(doctor?.findings ?? [])].sort((a, b) => Number(a.ok) - Number(b.ok));
  const wrong = findings.filter((finding) => !finding.ok).length;
  return html`<section class="panel" aria-labelledby="machine-title"><div class="panel-head"><div class="grow"><h2 id="machine-title">This machine</h2><p>What the box in which commands run can do here.</p></div>
      ${doctor && html`<span class="chip ${doctor.ok ? "live" : "warn"}"><${Icon} name=${doctor.ok ? "check" : "alert"} />${doctor.ok ? "All that is needed" : "Something is missing"}</span>`}</div>
    ${problem ? html`<${Problem} problem=${problem} onRetry=${read} />` : !doctor ? html`<${Loading} lines=${3} label="Looking at this machine" />` : html`
      ${LEVELS[doctor.level] && html`<p class="setting">${LEVELS[doctor.level]}</p>`}
      ${findings.length > 0 && html`<details class="findings" open=${wrong > 0}><summary>${readable(findings.length)} findings${wrong > 0 ? `, ${readable(wrong)} to look at` : ""}</summary>
        <ul>${findings.map((finding) => html`<li key=${finding.name}><span class="finding-mark ${finding.ok ? "good" : finding.needed ? "bad" : "warn"}"><${Icon} name=${finding.ok ? "check" : "alert"} /><span class="sr-only">${finding.ok ? "In order" : finding.needed ? "Missing, and needed" : "Missing"}</span></span><div class="min grow"><strong>${visibleLine(finding.name)}</strong><p class="small">${visible(finding.found)}</p>${!finding.ok && finding.remedy && html`<p class="small"><strong>What to do:</strong> ${visible(finding.remedy)}</p>`}</div></li>`)}</ul></details>`}`}
  </section>`;
}

const NAMES = /** @type {Record<string, string>} */ ({ files: "Files", steps: "Steps", versions: "Versions", trash_files: "In the trash", journal_bytes: "Timeline, chats and requests", contents_bytes: "Contents of all versions", kept_bytes: "Output of commands and builds" });

/** @param {{ workspace: string }} props */
export function Storage({ workspace }) {
  const { value, problem, read, isMissing } = useOnce(`/workspaces/${workspace}/storage`);
  if (isMissing) return null;
  const all = Object.entries(value?.storage ?? {}).filter(([, number]) => typeof number === "number").map(([name, number]) => ({ name: NAMES[name] ?? visibleLine(name.replace(/_bytes$/, "").replaceAll("_", " ")), number: Number(number), isSize: name.endsWith("_bytes") }));
  const sizes = all.filter((one) => one.isSize);
  const sum = sizes.reduce((total, one) => total + one.number, 0);
  return html`<section class="panel" aria-labelledby="storage-title"><div class="panel-head"><div class="grow"><h2 id="storage-title">Storage</h2><p>What the files of this workspace and all of their past take.</p></div>${value && sizes.length > 0 && html`<strong>${sizeInWords(sum)}</strong>`}</div>
    ${problem ? html`<${Problem} problem=${problem} onRetry=${read} />` : !value ? html`<${Loading} lines=${2} label="Reading what is used" />` : html`<div class="storage">
      ${sizes.length > 0 && html`<ul class="bars">${sizes.map(({ name, number }) => html`<li key=${name}><span>${name}</span><span class="bar" aria-hidden="true"><span style=${{ width: `${sum > 0 ? Math.max(1, (number / sum) * 100) : 0}%` }}></span></span><span class="number">${sizeInWords(number)}</span></li>`)}</ul>`}
      <dl class="numbers">${all.filter((one) => !one.isSize).map(({ name, number }) => html`<div key=${name}><dt>${name}</dt><dd>${readable(number)}</dd></div>`)}</dl></div>`}
  </section>`;
}
