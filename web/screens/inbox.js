// Everything that waits for this person, in all workspaces, oldest first; what is chosen is shown beside it.

import { html, useEffect, useRef, useState } from "../vendor.js";
import { address, go } from "../router.js";
import { inbox, inboxProblem, later, loadInbox, mayChange, me, unavailable, workspaceOf, workspaces } from "../state.js";
import { Actor } from "../parts/actor.js";
import { Icon } from "../parts/icons.js";
import { useKeys } from "../parts/keys.js";
import { untilWords } from "../parts/later.js";
import { useMedia, WIDE } from "../parts/media.js";
import { Split } from "../parts/split.js";
import { Empty, Loading, Problem } from "../parts/states.js";
import { visible, visibleLine } from "../parts/text.js";
import { Time } from "../parts/time.js";
import { VirtualList } from "../parts/virtual.js";
import { headline, tally } from "../parts/words.js";
import { ApprovalDetail } from "./approval.js";
import { inboxAddress, inboxPlace } from "./inbox-place.js";
import { QuestionDetail } from "./question.js";
import { canBeSelected, Several } from "./several.js";

/** @typedef {import("../state.js").InboxEntry} InboxEntry */

const ROW = 84;

/** @param {InboxEntry} entry @returns {string} */
const idOf = (entry) => (entry.approval ?? entry.question).id;
/** @param {InboxEntry} entry */
const addressOf = (entry) => inboxAddress(entry.workspace_id, entry.kind, idOf(entry));

export function Inbox() {
  const { isLater, workspace, kind, id } = inboxPlace();
  const entries = isLater ? later.value : inbox.value;
  const top = isLater ? "#/inbox/later" : "#/inbox";
  const chosen = entries?.findIndex((entry) => idOf(entry) === id) ?? -1;
  const lastPlace = useRef(0);
  if (chosen >= 0) lastPlace.current = chosen;
  const isWide = useMedia(WIDE);
  /** The requests that are selected, to be decided together; `null` while nothing is being selected. */
  const [selected, setSelected] = useState(/** @type {Set<string> | null} */ (null));
  const [deciding, setDeciding] = useState(/** @type {{ approves: boolean, entries: InboxEntry[] } | null} */ (null));
  const maySelect = !isLater && (entries ?? []).filter((entry) => mayBeSelected(entry)).length > 1;
  const chosenOnes = (entries ?? []).filter((entry) => selected?.has(idOf(entry)) && mayBeSelected(entry));
  const toggle = (/** @type {InboxEntry | undefined} */ entry) => {
    if (!entry || !mayBeSelected(entry)) return;
    const next = new Set(selected);
    if (!next.delete(idOf(entry))) next.add(idOf(entry));
    setSelected(next);
  };
  const decideSeveral = (/** @type {boolean} */ approves) => chosenOnes.length > 0 && setDeciding({ approves, entries: chosenOnes });

  // On a wide screen the oldest one is shown without a click.
  useEffect(() => {
    if (!id && isWide && entries && entries[0]) go(addressOf(entries[0]), { replace: true });
  }, [id, isWide, entries]);

  const move = (/** @type {number} */ by) => {
    if (!entries?.length) return;
    const from = chosen >= 0 ? chosen : lastPlace.current - (by > 0 ? 1 : 0);
    const entry = entries[Math.max(0, Math.min(entries.length - 1, from + by))];
    if (entry) go(addressOf(entry), { replace: Boolean(id) });
  };
  /** After a decision the next one is shown. */
  const next = () => {
    const rest = (entries ?? []).filter((entry) => idOf(entry) !== id);
    (isLater ? later : inbox).value = rest;
    const entry = rest[Math.min(lastPlace.current, rest.length - 1)];
    go(entry ? addressOf(entry) : top, { replace: true });
    void loadInbox();
  };
  useKeys({ j: () => move(1), k: () => move(-1), ArrowDown: () => move(1), ArrowUp: () => move(-1), Escape: () => (selected ? setSelected(null) : go(id ? top : "#/inbox")),
    s: () => maySelect && (chosen >= 0 ? toggle(entries?.[chosen]) : setSelected(new Set())), Y: () => decideSeveral(true), L: () => later.value && go("#/inbox/later") });

  const laterCount = later.value?.length ?? 0;
  const head = isLater ? html`<div class="list-head"><a class="icon-button" href="#/inbox" aria-label="Back to the inbox" title="Back to the inbox"><${Icon} name="left" /></a><h1>Later</h1></div>`
    : html`<div class="list-head"><h1>Inbox</h1>${entries && entries.length > 0 && html`<span class="muted">${entries.length} waiting</span>`}${laterCount > 0 && html`<a class="chip" href="#/inbox/later"><${Icon} name="timeline" />${laterCount} later</a>`}
        ${maySelect && html`<button class="icon-button" aria-pressed=${selected !== null} aria-label="Select several requests" title="Select several requests, to decide them together" onClick=${() => setSelected(selected ? null : new Set())}><${Icon} name="select" /></button>`}</div>`;
  const row = (/** @type {number} */ i) => {
    const entry = /** @type {InboxEntry} */ (entries?.[i]);
    return html`<${Row} entry=${entry} isChosen=${i === chosen} isSelected=${selected ? selected.has(idOf(entry)) : null} onSelect=${() => toggle(entry)} />`;
  };
  const all = (entries ?? []).filter((entry) => mayBeSelected(entry));
  const list = html`${head}
    <${Unavailable} />
    ${entries === null ? (inboxProblem.value ? html`<${Problem} problem=${inboxProblem.value} onRetry=${loadInbox} />` : html`<${Loading} label="Loading the inbox" />`)
      : entries.length === 0 ? (isLater ? html`<${NothingLater} />` : html`<${NothingWaits} />`)
      : html`<${VirtualList} role="list" label=${isLater ? "What you put off" : "What waits for you"} count=${entries.length} height=${ROW} scrollTo=${chosen} keyOf=${(/** @type {number} */ i) => idOf(/** @type {InboxEntry} */ (entries[i]))}
          version=${entries} row=${row} />`}
    ${selected && html`<div class="select-bar" role="group" aria-label="What is selected"><strong class="grow">${chosenOnes.length} selected</strong><button class="link" onClick=${() => setSelected(new Set(chosenOnes.length === all.length ? [] : all.map(idOf)))}>${chosenOnes.length === all.length ? "None" : "All"}</button>
      <button class="button danger" disabled=${chosenOnes.length === 0} onClick=${() => decideSeveral(false)}>Deny</button><button class="button primary" disabled=${chosenOnes.length === 0} onClick=${() => decideSeveral(true)}>Approve<kbd>⇧Y</kbd></button></div>`}
    ${deciding && html`<${Several} ...${deciding} onClose=${() => setDeciding(null)} onDone=${(/** @type {string[]} */ ids) => {
        setSelected(null);
        inbox.value = (inbox.value ?? []).filter((entry) => !ids.includes(idOf(entry)));
        if (id && ids.includes(id)) go("#/inbox", { replace: true });
        void loadInbox();
      }} />`}`;

  let detail = null;
  if (workspace && id && kind === "approval") detail = html`<${ApprovalDetail} key=${id} workspace=${workspace} id=${id} onDecided=${next} />`;
  else if (workspace && id && kind === "question") detail = html`<${QuestionDetail} key=${id} workspace=${workspace} id=${id} onAnswered=${next} />`;
  else if (entries?.length === 0) detail = isWide ? html`<div class="split-rest"></div>` : null;
  if (entries?.length === 0 && !id && isLater) return html`<div class="column"><a class="back always" href="#/inbox"><${Icon} name="left" />Inbox</a><div class="page-head"><h1>Later</h1></div><${NothingLater} /></div>`;
  if (entries?.length === 0 && !id) return html`<div class="column"><div class="page-head"><h1>Inbox</h1>${laterCount > 0 && html`<a class="chip" href="#/inbox/later"><${Icon} name="timeline" />${laterCount} later</a>`}</div><${Unavailable} /><${NothingWaits} /></div>`;
  return html`<${Split} label="Inbox" list=${list} detail=${detail} hasDetail=${Boolean(id)} back=${top} backLabel=${isLater ? "Later" : "Inbox"} />`;
}

/** Workspaces that could not be asked what waits in them. */
function Unavailable() {
  return unavailable.value.slice(0, 5).map((one) => html`<div key=${one.workspace_id} class="banner warn slim" role="status"><${Icon} name="alert" /><span><strong>${visibleLine(one.workspace_name)}</strong> cannot be opened: ${visible(one.error)}</span></div>`);
}

function NothingWaits() {
  if (workspaces.value?.length === 0) {
    return html`<${Empty} icon="workspaces" title="Welcome to Toolyard"><p>Agents work in workspaces: folders in which nothing is lost. What they may not do by themselves waits for you here, with its diff.</p><p>${me.value?.is_local ? html`Run <code>toolyard mcp</code> in a folder, and it appears here.` : html`<a class="button primary" href="#/workspaces">Make your first workspace</a>`}</p></${Empty}>`;
  }
  return html`<${Empty} icon="check" title="Nothing waits for you"><p>When an agent asks something, or wants to do what it may not do by itself, it appears here at once.</p></${Empty}>`;
}

/** @param {InboxEntry} entry */
const mayBeSelected = (entry) => canBeSelected(entry) && mayChange(entry.workspace_id);

function NothingLater() {
  return html`<${Empty} icon="timeline" title="Nothing is put off"><p>A request that you answer with "later" is kept here until its time comes. The agent waits on.</p><p><a class="button" href="#/inbox">To the inbox</a></p></${Empty}>`;
}

/** @param {{ entry: InboxEntry, isChosen: boolean, isSelected: boolean | null, onSelect: () => void }} props `isSelected` is `null` while nothing is being selected */
function Row({ entry, isChosen, isSelected, onSelect }) {
  const asked = entry.approval ?? entry.question;
  const about = entry.kind === "approval" ? headline(entry.approval) : { verb: "", target: entry.question.questions[0]?.question ?? "a question", isCode: false, more: entry.question.questions.length - 1 };
  const counts = entry.kind === "approval" ? tally(entry.approval) : entry.question.questions.length > 1 ? `${entry.question.questions.length} questions` : "";
  const isLeft = entry.approval?.status === "approved";
  const may = mayBeSelected(entry);
  const removes = entry.kind === "approval" && /removed/.test(counts);
  const link = html`<a class="list-row inbox-row" href=${addressOf(entry)} aria-current=${isChosen ? "true" : undefined}>
    ${isSelected === null && html`<span class="kind-mark ${entry.kind} ${removes ? "bad" : ""}"><${Icon} name=${entry.kind === "question" ? "question" : removes ? "trash" : "shield"} /></span>`}
    <span class="min grow">
      <span class="row-line"><strong class="ellipsis">${about.verb} <span class=${about.isCode ? "mono" : ""}>${about.isCode || entry.kind === "question" ? visible(about.target) : visibleLine(about.target)}</span></strong><${Time} class="muted small" at=${entry.waiting_since} /></span>
      <span class="row-by small"><${Actor} workspace=${entry.workspace_id} actor=${asked.asked_by} /><span class="muted ellipsis">in ${visibleLine(entry.workspace_name ?? workspaceOf(entry.workspace_id)?.name ?? "")}</span></span>
      ${(counts || entry.later_until || isLeft) && html`<span class="row-line small muted"><span class="ellipsis">${isLeft && html`<span class="chip warn">approved, not done</span> `}${counts}</span>${entry.later_until && html`<span class="until"><${Icon} name="timeline" />${untilWords(new Date(entry.later_until))}</span>`}</span>`}
    </span></a>`;
  if (isSelected === null) return link;
  return html`<div class="select-row ${isSelected ? "selected" : ""}"><label class="tick" title=${may ? "" : "This one has to be looked at by itself"}><input type="checkbox" checked=${isSelected} disabled=${!may} aria-label=${`Select: ${about.verb} ${visibleLine(about.target)}`} onChange=${onSelect} /></label>${link}</div>`;
}
