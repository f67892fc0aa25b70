// Everything that waits for this person, in all workspaces, oldest first; what is chosen is shown beside it.

import { html, useEffect, useRef, useState } from "../vendor.js";
import { address, go, parts } from "../router.js";
import { inbox, inboxProblem, loadInbox, me, unavailable, workspaceOf, workspaces } from "../state.js";
import { Actor } from "../parts/actor.js";
import { Icon } from "../parts/icons.js";
import { useKeys } from "../parts/keys.js";
import { Split } from "../parts/split.js";
import { Empty, Loading, Problem } from "../parts/states.js";
import { visible, visibleLine } from "../parts/text.js";
import { Time } from "../parts/time.js";
import { VirtualList } from "../parts/virtual.js";
import { headline, tally } from "../parts/words.js";
import { ApprovalDetail } from "./approval.js";
import { QuestionDetail } from "./question.js";

/** @typedef {import("../state.js").InboxEntry} InboxEntry */

const ROW = 84;

/** @param {InboxEntry} entry @returns {string} */
const idOf = (entry) => (entry.approval ?? entry.question).id;
/** @param {InboxEntry} entry */
const addressOf = (entry) => address("inbox", entry.workspace_id, entry.kind, idOf(entry));

export function Inbox() {
  const entries = inbox.value;
  const [, workspace, kind, id] = parts.value;
  const chosen = entries?.findIndex((entry) => idOf(entry) === id) ?? -1;
  const lastPlace = useRef(0);
  if (chosen >= 0) lastPlace.current = chosen;
  const [isWide, setIsWide] = useState(matchMedia("(min-width: 900px)").matches);
  useEffect(() => {
    const query = matchMedia("(min-width: 900px)");
    const change = () => setIsWide(query.matches);
    query.addEventListener("change", change);
    return () => query.removeEventListener("change", change);
  }, []);

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
    const rest = (inbox.value ?? []).filter((entry) => idOf(entry) !== id);
    inbox.value = rest;
    const entry = rest[Math.min(lastPlace.current, rest.length - 1)];
    go(entry ? addressOf(entry) : "#/inbox", { replace: true });
    void loadInbox();
  };
  useKeys({ j: () => move(1), k: () => move(-1), ArrowDown: () => move(1), ArrowUp: () => move(-1), Escape: () => go("#/inbox") });

  const list = html`<div class="list-head"><h1>Inbox</h1>${entries && entries.length > 0 && html`<span class="muted">${entries.length} waiting</span>`}</div>
    <${Unavailable} />
    ${entries === null ? (inboxProblem.value ? html`<${Problem} problem=${inboxProblem.value} onRetry=${loadInbox} />` : html`<${Loading} label="Loading the inbox" />`)
      : entries.length === 0 ? html`<${NothingWaits} />`
      : html`<${VirtualList} role="list" label="What waits for you" count=${entries.length} height=${ROW} scrollTo=${chosen} keyOf=${(/** @type {number} */ i) => idOf(/** @type {InboxEntry} */ (entries[i]))}
          version=${entries} row=${(/** @type {number} */ i) => html`<${Row} entry=${entries[i]} isChosen=${i === chosen} />`} />`}`;

  let detail = null;
  if (workspace && id && kind === "approval") detail = html`<${ApprovalDetail} key=${id} workspace=${workspace} id=${id} onDecided=${next} />`;
  else if (workspace && id && kind === "question") detail = html`<${QuestionDetail} key=${id} workspace=${workspace} id=${id} onAnswered=${next} />`;
  else if (entries?.length === 0) detail = isWide ? html`<div class="split-rest"></div>` : null;
  if (entries?.length === 0 && !id) return html`<div class="column"><div class="page-head"><h1>Inbox</h1></div><${Unavailable} /><${NothingWaits} /></div>`;
  return html`<${Split} label="Inbox" list=${list} detail=${detail} hasDetail=${Boolean(id)} back="#/inbox" backLabel="Inbox" />`;
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

/** @param {{ entry: InboxEntry, isChosen: boolean }} props */
function Row({ entry, isChosen }) {
  const asked = entry.approval ?? entry.question;
  const about = entry.kind === "approval" ? headline(entry.approval) : { verb: "", target: entry.question.questions[0]?.question ?? "a question", isCode: false, more: entry.question.questions.length - 1 };
  const counts = entry.kind === "approval" ? tally(entry.approval) : entry.question.questions.length > 1 ? `${entry.question.questions.length} questions` : "";
  return html`<a class="list-row inbox-row" href=${addressOf(entry)} aria-current=${isChosen ? "true" : undefined}>
    <span class="kind-mark ${entry.kind}"><${Icon} name=${entry.kind === "approval" ? "shield" : "question"} /></span>
    <span class="min grow">
      <span class="row-line"><strong class="ellipsis">${about.verb} <span class=${about.isCode ? "mono" : ""}>${about.isCode || entry.kind === "question" ? visible(about.target) : visibleLine(about.target)}</span></strong><${Time} class="muted small" at=${entry.waiting_since} /></span>
      <span class="row-by small"><${Actor} workspace=${entry.workspace_id} actor=${asked.asked_by} /><span class="muted ellipsis">in ${visibleLine(entry.workspace_name ?? workspaceOf(entry.workspace_id)?.name ?? "")}</span></span>
      ${counts && html`<span class="row-line small muted"><span class="ellipsis">${counts}</span></span>`}
    </span></a>`;
}
