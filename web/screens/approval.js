// One request of an agent: its diff, what it would do in words, why a person is asked, and the decision.

import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor.js";
import { api, ApiError } from "../api.js";
import { address, go } from "../router.js";
import { inbox, isOwner, later, mayChange, workspaceOf } from "../state.js";
import { onHappening } from "../stream.js";
import { Actor } from "../parts/actor.js";
import { ChatLink } from "../parts/chat-link.js";
import { parseDiff, totals } from "../parts/diff.js";
import { Counts, DiffView } from "../parts/diff-view.js";
import { Icon } from "../parts/icons.js";
import { useKeys } from "../parts/keys.js";
import { laterTimes, setLater, untilWords } from "../parts/later.js";
import { useMedia } from "../parts/media.js";
import { Menu } from "../parts/menu.js";
import { usePartChoice } from "../parts/part-choice.js";
import { useReview } from "../parts/review.js";
import { Loading, Problem } from "../parts/states.js";
import { count, sizeInWords, visible, visibleLine } from "../parts/text.js";
import { Time } from "../parts/time.js";
import { toast, toastProblem } from "../parts/toast.js";
import { canBeUndone, effectsOf, effectWords, headline, outcomeOf, reasonWords, STATUS } from "../parts/words.js";
import { Always } from "./always.js";
import { EditArguments } from "./edit-args.js";
import { inboxAddress, inboxPlace } from "./inbox-place.js";

/** A diff of up to this many bytes is read whole without asking. */
const READ_AT_ONCE = 4 << 20;
/** Wide enough for all buttons of a decision in one row. */
const ROOM = "(min-width: 1360px)";
/** Effects that are listed before "show all". */
const FIRST_EFFECTS = 6;
/** How long a request is on the screen before a key approves it, in milliseconds. */
const SEEN = 600;

/** @param {{ workspace: string, id: string, onDecided: () => void }} props */
export function ApprovalDetail({ workspace, id, onDecided }) {
  const [approval, setApproval] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const [notice, setNotice] = useState("");
  const shownHash = useRef("");

  /** @param {boolean} [readsAll] also a diff that is very long */
  const load = async (readsAll = false) => {
    try {
      const read = await readWhole(workspace, id, readsAll);
      if (shownHash.current && read.state_hash && read.state_hash !== shownHash.current && read.status === "pending") {
        setNotice("What this asks for has changed since it was shown to you. This is how it is now: nothing was decided.");
      }
      if (read.state_hash) shownHash.current = read.state_hash;
      setApproval(read);
      setProblem(null);
    } catch (failure) {
      setProblem(failure);
    }
  };
  useEffect(() => {
    void load();
    return onHappening(({ workspace: where, kind, ref }) => {
      if (kind === "reset" || (where === workspace && ref === id)) void load();
    });
  }, [workspace, id]);
  // It left the inbox: it was decided somewhere else.
  const isGone = approval?.status === "pending" && inbox.value !== null && !inbox.value.some((entry) => entry.approval?.id === id);
  useEffect(() => {
    if (isGone) void load();
  }, [isGone, inbox.value]);

  if (problem && !approval) return html`<${Problem} problem=${problem} onRetry=${() => void load()} />`;
  if (!approval) return html`<div class="pad"><${Loading} lines=${9} label="Loading the request" /></div>`;
  return html`<${Request} workspace=${workspace} approval=${approval} notice=${notice} onReload=${load} onDecided=${onDecided} />`;
}

/**
 * A request with its whole diff. The state hash, which a decision needs, is sent only with the whole of it.
 * @param {string} workspace
 * @param {string} id
 * @param {boolean} readsAll
 */
async function readWhole(workspace, id, readsAll) {
  const path = `/workspaces/${workspace}/approvals/${id}`;
  const approval = await api.get(path);
  if (approval.state_hash !== null || (approval.diff_bytes > READ_AT_ONCE && !readsAll)) return approval;
  let diff = "";
  /** @type {any} */
  let part = { next: 0 };
  while (part.next !== null) {
    part = await api.get(`${path}/diff?from=${part.next}`);
    diff += part.diff;
  }
  return { ...approval, diff, state_hash: part.state_hash };
}

/** @param {{ workspace: string, approval: any, notice: string, onReload: (readsAll?: boolean) => Promise<void>, onDecided: () => void }} props */
function Request({ workspace, approval, notice, onReload, onDecided }) {
  const [isBusy, setIsBusy] = useState(false);
  const [isDenying, setIsDenying] = useState(false);
  const files = useMemo(() => parseDiff(approval.diff ?? ""), [approval.diff]);
  const about = headline(approval);
  const isPending = approval.status === "pending";
  // Somebody approved it, and the process that was to do it ended before: it is in the inbox again.
  const isLeft = approval.status === "approved" && [...(inbox.value ?? []), ...(later.value ?? [])].some((entry) => entry.approval?.id === approval.id);
  const waits = isPending || isLeft;
  const isWhole = approval.state_hash !== null;
  const may = mayChange(workspace) && waits;
  const some = usePartChoice(files, approval.state_hash);
  const mayChoose = may && isPending && isWhole && some.canChoose;
  const isPart = mayChoose && some.isPartial;
  const { review, dialog } = useReview(workspace, { approval_id: approval.id }, { chat: approval.chat_id });
  const partWord = useRef(/** @type {HTMLInputElement | null} */ (null));

  /**
   * @param {"approve" | "deny"} decision
   * @param {"once" | "chat" | "rule"} [scope]
   * @param {string} [reason]
   */
  const decide = async (decision, scope, reason) => {
    if (isBusy || !may || !isWhole || (isPending ? decision === "approve" && some.isNothing : decision !== "approve")) return;
    const isOfPart = decision === "approve" && isPart;
    const word = isOfPart ? partWord.current?.value.trim() : reason;
    setIsBusy(true);
    try {
      const answer = await api.post(`/workspaces/${workspace}/approvals/${approval.id}/decision`, {
        decision, state_hash: approval.state_hash, ...(scope && scope !== "once" ? { scope } : {}), ...(isOfPart ? { parts: some.parts() } : {}), ...(word ? { reason: word } : {}),
        ...(isLeft && approval.decision_parts ? { parts: approval.decision_parts.map(asPart) } : {}),
      });
      const { text, isGood, isDecided } = outcomeOf(answer, isOfPart ? `Approved ${some.words}. The agent is told that the rest is refused.` : undefined);
      // A file changed before it could be done: the request waits again, with another diff.
      if (!isDecided) {
        toast(text, { kind: "bad" });
        await onReload();
        return setIsBusy(false);
      }
      const step = answer.status === "executed" && answer.step_id;
      toast(text, { kind: isGood ? "good" : "bad", ...(step ? { action: { label: "See the step", run: () => (location.hash = address("w", workspace, "timeline", step)) } } : {}) });
      onDecided();
    } catch (failure) {
      setIsBusy(false);
      // It was decided elsewhere meanwhile, or asks for something else by now: it is shown as it is now.
      if (failure instanceof ApiError && (failure.status === 409 || failure.status === 404)) await onReload();
      else toastProblem(failure);
    }
  };
  // The key that approved what was here before is not for this one: it counts once this one has been on the screen for a moment.
  const [seen, setSeen] = useState(/** @type {string | null} */ (null));
  const isSeen = seen === approval.state_hash;
  useEffect(() => {
    const timer = setTimeout(() => setSeen(approval.state_hash), SEEN);
    return () => clearTimeout(timer);
  }, [approval.state_hash]);
  const [isMoreOpen, setIsMoreOpen] = useState(false);
  const hasRoom = useMedia(ROOM);
  // The editor has an address of its own, so that the way back of a browser or a phone closes it.
  const { more: place, isLater } = inboxPlace();
  const here = inboxAddress(workspace, "approval", approval.id);
  const hasOpened = useRef(false);
  const mayEdit = may && isPending && isWhole && approval.args !== null;
  const edit = () => {
    if (!mayEdit) return;
    hasOpened.current = true;
    go(inboxAddress(workspace, "approval", approval.id, "edit"));
  };
  const closeEditor = () => {
    if (hasOpened.current) history.back();
    else go(here, { replace: true });
    hasOpened.current = false;
  };
  const [allowing, setAllowing] = useState(/** @type {"chat" | "rule" | null} */ (null));
  const [isLaterOpen, setIsLaterOpen] = useState(false);
  const putOff = async (/** @type {Date | null} */ until) => (await setLater(workspace, approval.id, until)) && onDecided();
  useKeys({ y: () => !isDenying && isSeen && void decide("approve"), n: () => may && isPending && setIsDenying(true), e: edit, l: () => may && (hasRoom || isLeft ? setIsLaterOpen(true) : setIsMoreOpen(true)) });
  const isOff = isBusy || !isWhole;
  const times = [...(isLater ? [{ label: "Back into the inbox", icon: "inbox", run: () => void putOff(null) }] : []), ...laterTimes(new Date()).map(({ label, until }) => ({ label, icon: "timeline", hint: untilWords(until), run: () => void putOff(until) }))];
  const others = [
    // A part is for once.
    ...(isPart ? [] : [{ label: "For this chat", icon: "chats", hint: "And do not ask again for the same in this chat: you see the rule first", run: () => setAllowing("chat") }]),
    ...(isOwner(workspace) && !isPart ? [{ label: "Always", icon: "shield", hint: "Saves a rule, which you see first", run: () => setAllowing("rule") }] : []),
    ...(mayEdit ? [{ label: "Edit", icon: "edit", hint: "Change the arguments of the call, and see what it would do then", shortcut: "e", run: edit }] : []),
  ];

  return html`<article class="request" aria-label="Request">
    <div class="request-head">
      <div class="request-who"><${Actor} workspace=${workspace} actor=${approval.asked_by} /><span class="muted">in</span><a href=${address("w", workspace, "timeline")}>${visibleLine(workspaceOf(workspace)?.name ?? "a workspace")}</a>
        <${ChatLink} workspace=${workspace} id=${approval.chat_id} /><span class="grow"></span><${Time} class="muted" at=${approval.asked_at} /></div>
      <h1 class="request-title">${about.verb} ${about.isCode ? html`<code>${visible(about.target)}</code>` : html`<span class="path">${visibleLine(about.target)}</span>`}${about.more > 0 && html` <span class="muted">and ${count(about.more, "more", "more")}</span>`}</h1>
      <p class="why"><${Icon} name="shield" /><span><strong>Why you are asked:</strong> ${visible(reasonWords(approval.reason, approval.args))} <code class="tool">${visibleLine(`${approval.toolset}.${approval.tool}`)}</code></span></p>
    </div>
    ${notice && isPending && html`<div class="banner warn" role="alert"><${Icon} name="alert" /><span>${notice}</span></div>`}
    ${!isPending && html`<${Outcome} workspace=${workspace} approval=${approval} isLeft=${isLeft} />`}
    ${!isSaidByTheDiff(approval, files) && html`<${Effects} effects=${effectsOf(approval)} more=${approval.effect?.more ?? 0} />`}
    ${files.length > 0 ? html`<div class="diff-summary"><strong>${isPart ? some.words : count(files.length, "file")}</strong><${Counts} ...${totals(files)} />${mayChoose && html`<span class="muted small hide-narrow">Untick what you do not want.</span>`}<span class="grow"></span>${waits && canBeUndone(approval) && html`<span class="muted small"><${Icon} name="undo" /> Can be undone afterwards</span>`}</div>
        <${DiffView} files=${files} label="What would change" choice=${mayChoose ? some.choice : undefined} review=${review} isMain />`
      : html`<${Arguments} args=${approval.args} />`}
    ${waits && !isWhole && html`<div class="banner"><${Icon} name="alert" /><span class="grow">The whole diff has ${sizeInWords(approval.diff_bytes)}. It can be decided once all of it is here.</span><button class="button" onClick=${() => void onReload(true)}>Load the rest</button></div>`}
    ${files.length > 0 && html`<details class="arguments"><summary>Arguments of the call</summary><${Arguments} args=${approval.args} /></details>`}
    ${waits && html`<div class="decide">
      ${!mayChange(workspace) ? html`<p class="muted">You can look at this workspace; its members decide.</p>`
        : isLeft ? html`<button class="button primary" aria-keyshortcuts=${isSeen ? "y" : undefined} disabled=${isOff} onClick=${() => void decide("approve")}><${Icon} name="check" />Approve again<kbd>y</kbd></button><span class="grow"></span>
            <${Menu} label="Later" shortcut="l" isOpen=${isLaterOpen} onOpen=${setIsLaterOpen} isDisabled=${isBusy} choices=${times} />`
        : isDenying ? html`<${Deny} isBusy=${isBusy} onDeny=${(/** @type {string} */ word) => void decide("deny", undefined, word)} onCancel=${() => setIsDenying(false)} />`
        : html`${isPart && html`<input ref=${partWord} class="part-word" aria-label="A word to the agent about the rest" placeholder="A word to the agent about the rest (optional)" maxlength="2000" onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Enter" && void decide("approve")} />`}
          <button class="button primary" aria-keyshortcuts=${isSeen ? "y" : undefined} disabled=${isOff || some.isNothing} onClick=${() => void decide("approve")}><${Icon} name="check" />${isPart ? `Approve ${some.words}` : "Approve once"}<kbd>y</kbd></button>
          ${hasRoom ? others.map(({ label, hint, shortcut, run }) => html`<button key=${label} class="button" disabled=${isOff} title=${hint} onClick=${run}>${label}${shortcut && html`<kbd>${shortcut}</kbd>`}</button>`)
            : html`<${Menu} label="More" isSmall isOpen=${isMoreOpen} onOpen=${setIsMoreOpen} isDisabled=${isBusy} choices=${[...others.map(({ label, icon, run }) => ({ label, icon, run, isDisabled: isOff })), ...times.map((time) => ({ ...time, label: time.label === "Back into the inbox" ? time.label : `Later: ${time.label.toLowerCase()}` }))]} />`}
          <span class="grow"></span>${hasRoom && html`<${Menu} label="Later" shortcut="l" isOpen=${isLaterOpen} onOpen=${setIsLaterOpen} isDisabled=${isBusy} choices=${times} />`}<button class="button danger" disabled=${isOff} onClick=${() => setIsDenying(true)}><${Icon} name="x" />Deny<kbd>n</kbd></button>`}
    </div>`}
    ${dialog}
    ${allowing && may && html`<${Always} workspace=${workspace} approval=${approval} scope=${allowing} isBusy=${isBusy} onClose=${() => setAllowing(null)} onAllow=${() => { setAllowing(null); void decide("approve", allowing); }} />`}
    ${place === "edit" && mayEdit && html`<${EditArguments} workspace=${workspace} approval=${approval} onClose=${closeEditor} onDecided=${onDecided} onReload=${onReload} />`}
  </article>`;
}

/** @param {{ isBusy: boolean, onDeny: (word: string) => void, onCancel: () => void }} props */
function Deny({ isBusy, onDeny, onCancel }) {
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  // Before the next key arrives: what is typed belongs into the field.
  useLayoutEffect(() => field.current?.focus(), []);
  /** @param {SubmitEvent} event */
  const submit = (event) => {
    event.preventDefault();
    onDeny(field.current?.value.trim() ?? "");
  };
  return html`<form class="deny" onSubmit=${submit} onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Escape" && onCancel()}>
    <input ref=${field} aria-label="A word to the agent" placeholder="A word to the agent: what to do instead (optional)" maxlength="2000" />
    <button class="button danger" disabled=${isBusy}>Deny</button><button type="button" class="button" onClick=${onCancel}>Cancel</button>
  </form>`;
}

/** @param {{ effects: import("../parts/words.js").Effect[], more: number }} props */
function Effects({ effects, more }) {
  const [showsAll, setShowsAll] = useState(false);
  if (effects.length === 0) return null;
  const shown = showsAll ? effects.slice(0, 500) : effects.slice(0, FIRST_EFFECTS);
  const hidden = effects.length - shown.length + more;
  return html`<ul class="effects" aria-label="What would happen">
    ${shown.map((effect, i) => {
      const words = effectWords(effect);
      return html`<li key=${i} class="effect ${words.tone}"><${Icon} name=${words.icon} /><span>${words.one}${words.isFolder ? " the folder" : ""}</span> <span class="path">${visibleLine(words.target)}</span>
        ${words.withContents && html`<em>with everything below it</em>`}${words.decides && html`<em>decides what other programs do later</em>`}</li>`;
    })}
    ${hidden > 0 && html`<li class="effect plain"><span></span><button class="link" disabled=${showsAll} onClick=${() => setShowsAll(true)}>and ${count(hidden, "more", "more")}</button></li>`}
  </ul>`;
}

/**
 * Whether the headline and the diff say everything that the list of effects would.
 * @param {any} approval
 * @param {import("../parts/diff.js").DiffFile[]} files
 */
function isSaidByTheDiff(approval, files) {
  const effects = effectsOf(approval);
  return files.length === 1 && effects.length === 1 && !effects[0]?.decides && !effects[0]?.with_contents && (approval.args?.command ?? approval.args?.cmd) === undefined;
}

/** A part of an earlier decision, as a new one names it. @param {{ path: string, hunks: number[] | null }} part */
const asPart = ({ path, hunks }) => ({ path, ...(hunks ? { hunks } : {}) });

/** What became of a request that is decided. @param {{ workspace: string, approval: any, isLeft: boolean }} props `isLeft`: it was approved and nobody is doing it */
function Outcome({ workspace, approval, isLeft }) {
  const status = isLeft ? { text: "Approved, but Toolyard was stopped before it was done. Nothing was changed", tone: "warn" } : STATUS[approval.status] ?? { text: approval.status, tone: "plain" };
  return html`<div class="banner ${status.tone}" role="status"><${Icon} name=${status.tone === "good" ? "check" : status.tone === "bad" ? "x" : "alert"} />
    <span class="grow"><strong>${status.text}.</strong>${approval.decided_by && html` Decided by <${Actor} workspace=${workspace} actor=${approval.decided_by} />${approval.decided_at && html`, <${Time} at=${approval.decided_at} />`}.`}
      ${approval.decision_args && " With other arguments than the agent's."}${approval.decision_reason && html` <q>${visible(approval.decision_reason)}</q>`}${isLeft && " Approve it again, and it is done now."}</span>
    ${approval.step_id && html`<a class="button" href=${address("w", workspace, "timeline", approval.step_id)}>See the step</a>`}</div>
    ${approval.refused?.length > 0 && html`<div class="banner warn"><${Icon} name="x" /><div class="grow min"><strong>A part was refused:</strong><ul>${approval.refused.slice(0, 100).map((/** @type {any} */ one) => html`<li key=${one.path}><span class="path">${visibleLine(one.path)}</span>${one.hunks && html` <span class="muted">${one.hunks.length === 1 ? "change" : "changes"} ${one.hunks.map((/** @type {number} */ hunk) => hunk + 1).join(", ")}</span>`}</li>`)}</ul></div></div>`}`;
}

/** The arguments of a call: short ones in a line each, long texts as they are. @param {{ args: any }} props */
export function Arguments({ args }) {
  if (args === null || args === undefined) return html`<p class="muted pad-x">The arguments are too long to be shown here.</p>`;
  const entries = typeof args === "object" && !Array.isArray(args) ? Object.entries(args) : [["", args]];
  return html`<dl class="args">${entries.map(([name, value]) => html`<div key=${name}><dt>${visibleLine(name)}</dt><dd><pre tabindex="0" role="group" aria-label=${visibleLine(name)}>${visible(cut(typeof value === "string" ? value : JSON.stringify(value, null, 2)))}</pre></dd></div>`)}</dl>`;
}

/** @param {string} text */
const cut = (text) => (text.length > 20_000 ? `${text.slice(0, 20_000)}\n… ${text.length - 20_000} more characters` : text);
