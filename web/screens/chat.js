// One chat as a conversation: what was said, every call of a tool with what it changed, requests, questions and modes.

import { html, useEffect, useMemo, useRef, useState } from "../vendor.js";
import { all, api } from "../api.js";
import { address } from "../router.js";
import { actorOf, mayChange, titleOf } from "../state.js";
import { onHappening } from "../stream.js";
import { Actor } from "../parts/actor.js";
import { filesOf, parseDiff } from "../parts/diff.js";
import { DiffView } from "../parts/diff-view.js";
import { Icon } from "../parts/icons.js";
import { useReview } from "../parts/review.js";
import { Loading, Problem } from "../parts/states.js";
import { asText, count, messageOf, visible, visibleLine } from "../parts/text.js";
import { Time } from "../parts/time.js";
import { toastProblem } from "../parts/toast.js";
import { reasonWords, STATUS } from "../parts/words.js";
import { Arguments } from "./approval.js";

/** @typedef {{ number: number, at: string, actor: string, kind: string, data: any }} Turn */

/** Turns that are shown at first, and with each "earlier". */
const SHOWN = 80;

/** @param {{ workspace: string, id: string }} props */
export function ChatDetail({ workspace, id }) {
  const [chat, setChat] = useState(/** @type {any} */ (null));
  const [turns, setTurns] = useState(/** @type {Turn[] | null} */ (null));
  const [statuses, setStatuses] = useState(/** @type {Record<string, string>} */ ({}));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const [shown, setShown] = useState(SHOWN);
  const last = useRef(0);
  const isReading = useRef(false);
  const isStale = useRef(false);
  const end = useRef(/** @type {HTMLDivElement | null} */ (null));

  /** Reads the turns after the last one that is here; a call during a reading makes one more. */
  const read = async () => {
    if (isReading.current) {
      isStale.current = true;
      return;
    }
    isReading.current = true;
    isStale.current = false;
    try {
      for (let next = String(last.current); ; ) {
        const page = await api.get(`/workspaces/${workspace}/chats/${id}?limit=500${next === "0" ? "" : `&cursor=${next}`}`);
        setChat(page.chat);
        const fresh = page.messages.filter((/** @type {Turn} */ turn) => turn.number > last.current);
        last.current = fresh.at(-1)?.number ?? last.current;
        if (fresh.length > 0 || page.next === null) setTurns((old) => [...(old ?? []), ...fresh]);
        if (page.next === null) break;
        next = page.next;
      }
      const [approvals, questions] = await Promise.all([
        all(`/workspaces/${workspace}/approvals?chat_id=${id}`, "approvals", 400),
        all(`/workspaces/${workspace}/questions?chat_id=${id}`, "questions", 400),
      ]);
      setStatuses(Object.fromEntries([...approvals, ...questions].map((one) => [one.id, one.status])));
      setProblem(null);
    } catch (failure) {
      setProblem(failure);
    } finally {
      isReading.current = false;
      if (isStale.current) void read();
    }
  };
  useEffect(() => {
    void read();
    let timer = 0;
    const stop = onHappening(({ workspace: where, kind }) => {
      if (kind !== "reset" && (where !== workspace || !/^(chat|approval|question|step)/.test(kind))) return;
      clearTimeout(timer);
      timer = setTimeout(() => void read(), 200);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [workspace, id]);
  // The newest turn is kept on the screen, if it was there before.
  const wasAtEnd = useRef(true);
  useEffect(() => {
    const track = () => {
      const box = end.current?.getBoundingClientRect();
      if (box) wasAtEnd.current = box.top < innerHeight + 80;
    };
    document.addEventListener("scroll", track, { capture: true, passive: true });
    return () => document.removeEventListener("scroll", track, { capture: true });
  }, []);
  useEffect(() => {
    if (wasAtEnd.current) end.current?.scrollIntoView({ block: "end" });
  }, [turns]);

  const setMode = async (/** @type {string} */ mode) => {
    try {
      setChat((await api.patch(`/workspaces/${workspace}/chats/${id}`, { mode })).chat);
    } catch (failure) {
      toastProblem(failure);
    }
  };
  if (problem && !chat) return html`<${Problem} problem=${problem} onRetry=${read} />`;
  if (!chat || !turns) return html`<div class="pad"><${Loading} lines=${8} label="Loading the chat" /></div>`;
  const visibleTurns = turns.slice(-shown).filter((turn) => !isOnlyPending(turn));
  return html`<article class="chat" aria-label="Chat">
    <header class="chat-head">
      <h2 class="ellipsis grow">${visibleLine(titleOf(workspace, chat))}</h2>
      <div class="segmented" role="group" aria-label="Mode">${[["plan", "Plan", "In plan mode only plans change"], ["build", "Build", "In build mode the agent works"]].map(([mode, label, hint]) => html`<button key=${mode} aria-pressed=${chat.mode === mode} disabled=${!mayChange(workspace)} title=${hint} onClick=${() => chat.mode !== mode && setMode(String(mode))}>${label}</button>`)}</div>
    </header>
    ${chat.mode === "plan" && html`<div class="banner warn mode-note"><${Icon} name="plan" /><span>Plan mode: only plan files change, until a person accepts the plan or opens build mode.</span></div>`}
    <div class="turns">
      ${turns.length > shown && html`<button class="button earlier" onClick=${() => setShown(shown + SHOWN)}>Show earlier</button>`}
      ${turns.length === 0 && html`<p class="muted">Nothing was said or done here yet.</p>`}
      ${visibleTurns.map((turn) => html`<${OneTurn} key=${turn.number} workspace=${workspace} turn=${turn} statuses=${statuses} />`)}
      <div ref=${end} class="chat-end"></div>
    </div>
    ${mayChange(workspace) && html`<${Composer} workspace=${workspace} id=${id} onSent=${() => { wasAtEnd.current = true; void read(); }} />`}
  </article>`;
}

/** A call that only says that it waits: the request is shown in its place. @param {Turn} turn */
const isOnlyPending = (turn) => turn.kind === "tool_call" && /^(approval|question)_pending$/.test(turn.data.answer?.result?.status ?? "");

/** @param {{ workspace: string, turn: Turn, statuses: Record<string, string> }} props */
function OneTurn({ workspace, turn, statuses }) {
  const { data } = turn;
  if (turn.kind === "message") {
    const isMine = actorOf(workspace, turn.actor).kind === "person";
    return html`<div class="turn said ${isMine ? "person" : "agent"}"><div class="turn-by"><${Actor} workspace=${workspace} actor=${turn.actor} /><${Time} class="muted small" at=${turn.at} clock /></div><div class="bubble">${visible(data.content)}</div></div>`;
  }
  if (turn.kind === "tool_call") return html`<${Call} workspace=${workspace} turn=${turn} />`;
  if (turn.kind === "approval") {
    const status = statuses[data.approval_id] ?? "pending";
    const words = STATUS[status] ?? { text: status, tone: "plain" };
    return html`<a class="turn event ${words.tone}" href=${address("inbox", workspace, "approval", data.approval_id)}><${Icon} name="shield" /><span class="min grow"><span class="row-line start"><strong class="no-wrap">${words.text}</strong><span class="mono small ellipsis muted">${visible(`${toolName(data.tool)} ${gist(data.args)}`)}</span></span><span class="small muted line">${visible(reasonWords(asText(data.reason ?? ""), data.args))}</span></span><${Icon} name="right" /></a>`;
  }
  if (turn.kind === "question") {
    const isAnswered = statuses[data.question_id] === "answered";
    return html`<a class="turn event ${isAnswered ? "good" : "warn"}" href=${address("inbox", workspace, "question", data.question_id)}><${Icon} name="question" /><span class="min grow"><strong>${isAnswered ? "Asked, and answered" : "Asks, and waits for an answer"}</strong><span class="small muted line">${visible((data.questions ?? []).map((/** @type {any} */ item) => item.question).join(" · "))}</span></span><${Icon} name="right" /></a>`;
  }
  if (turn.kind === "answer") return html`<div class="turn said person"><div class="turn-by"><${Actor} workspace=${workspace} actor=${turn.actor} /><${Time} class="muted small" at=${turn.at} clock /></div><div class="bubble">${Object.entries(data.answers ?? {}).map(([name, value]) => html`<div key=${name}><span class="small">${visibleLine(name)}: </span>${visible(value)}</div>`)}</div></div>`;
  const text = turn.kind === "mode" ? `${data.mode === "plan" ? "Plan" : "Build"} mode` : turn.kind === "decision" ? `${data.decision === "approved" ? "Approved" : "Denied"}${data.scope && data.scope !== "once" && data.decision === "approved" ? (data.scope === "chat" ? " for this chat" : " by a rule") : ""}` : turn.kind;
  return html`<div class="turn note"><${Actor} workspace=${workspace} actor=${turn.actor} /><span><strong>${text}</strong>${data.reason && html` <q class="muted">${visible(data.reason)}</q>`}</span><${Time} class="muted small" at=${turn.at} clock /></div>`;
}

/** The name of a tool without its toolset. @param {unknown} tool */
const toolName = (tool) => asText(tool ?? "").split(".").pop() ?? "";

/** What a call is about, in one line. @param {any} args */
function gist(args) {
  const patch = args?.patch ?? args?.input;
  if (typeof patch === "string") return [...patch.matchAll(/^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b\/)?)(.+)$/gm)].map((match) => match[1]).join(", ");
  const value = args?.path ?? args?.file_path ?? args?.command ?? args?.cmd ?? args?.pattern ?? args?.query ?? args?.url ?? args?.title ?? "";
  return Array.isArray(value) ? value.map(asText).join(" ") : asText(value);
}

/** @param {{ workspace: string, turn: Turn }} props */
function Call({ workspace, turn }) {
  const [isOpen, setIsOpen] = useState(false);
  const { data } = turn;
  const result = data.answer?.result;
  const step = /step ([0-9a-f]{8}-[0-9a-f-]{27})/.exec(typeof result?.message === "string" ? result.message : "")?.[1] ?? result?.step_id;
  const failure = data.ok ? "" : messageOf({ fields: data.answer?.fields, message: asText(data.answer?.error ?? result?.message) || "It failed." });
  return html`<div class="turn call ${data.ok ? "" : "failed"}">
    <button class="call-head" aria-expanded=${isOpen} onClick=${() => setIsOpen(!isOpen)}><${Icon} name=${data.ok ? "check" : "x"} /><code title=${`The tool ${visibleLine(data.tool ?? "")}`}>${visibleLine(toolName(data.tool))}</code><span class="mono ellipsis muted grow">${visible(gist(data.args))}</span><${Time} class="muted small" at=${turn.at} clock /><${Icon} name=${isOpen ? "down" : "right"} /></button>
    ${failure ? html`<p class="call-failure">${failure.slice(0, 600)}</p>` : html`<${Outcome} result=${result} />`}
    ${isOpen && html`<div class="call-body">
      ${result?.version_id && result?.file_id && html`<${Version} workspace=${workspace} file=${result.file_id} version=${result.version_id} />`}
      ${step && !result?.version_id && html`<${StepChanges} workspace=${workspace} step=${step} />`}
      <h3>Arguments</h3><${Arguments} args=${data.args} />
      <h3>Answer</h3><${Answer} result=${result} error=${data.answer?.error} />
    </div>`}
  </div>`;
}

/** How a command ended, and the last line that it printed. @param {{ result: any }} props */
function Outcome({ result }) {
  if (typeof result !== "object" || result?.returncode === undefined || result.returncode === null) return null;
  const last = asText(result.stdout || result.stderr || "").trimEnd().split("\n").pop() ?? "";
  return html`<p class="call-outcome small"><span class="chip ${result.returncode === 0 ? "" : "bad"}">exit code ${visibleLine(result.returncode)}</span><span class="mono ellipsis muted">${visible(last.slice(0, 300))}</span></p>`;
}

/** What a call changed, file by file; the step itself has the rest of a long one. @param {{ workspace: string, step: string }} props */
function StepChanges({ workspace, step }) {
  const [read, setRead] = useState(/** @type {any} */ (null));
  useEffect(() => {
    api.get(`/workspaces/${workspace}/steps/${step}?limit=50`).then((answer) => setRead(answer.step), () => setRead({ changes: [] }));
  }, [step]);
  const files = useMemo(() => filesOf(read?.changes ?? []), [read]);
  const { review, dialog } = useReview(workspace, { step_id: step });
  if (!read) return html`<${Loading} lines=${2} label="Loading the diff" />`;
  return html`${files.length > 0 && html`<${DiffView} files=${files} label="What the call changed" review=${review} />${dialog}`}
    <p><a class="button" href=${address("w", workspace, "timeline", step)}><${Icon} name="timeline" />${read.next ? `See all ${count(read.files, "file")}` : "See the step"}</a></p>`;
}

/** @param {{ result: any, error: any }} props */
function Answer({ result, error }) {
  if (result && typeof result === "object" && (result.stdout !== undefined || result.stderr !== undefined)) {
    return html`<dl class="args">${["stdout", "stderr", "message"].filter((name) => result[name]).map((name) => html`<div key=${name}><dt>${name}</dt><dd><pre tabindex="0" role="group" aria-label=${name}>${visible(asText(result[name]).slice(0, 20_000))}</pre></dd></div>`)}
      ${result.returncode !== undefined && html`<div><dt>exit code</dt><dd>${visibleLine(result.returncode)}</dd></div>`}</dl>`;
  }
  if (result && typeof result === "object" && !Array.isArray(result)) {
    // Ids and hashes are for programs.
    const shown = Object.fromEntries(Object.entries(result).filter(([name]) => !/(^|_)(id|hash|synced)$/.test(name)));
    return html`<${Arguments} args=${shown} />`;
  }
  return html`<${Arguments} args=${result ?? error ?? "nothing"} />`;
}

/** The diff of the version that a call made. @param {{ workspace: string, file: string, version: string }} props */
function Version({ workspace, file, version }) {
  const [read, setRead] = useState(/** @type {any} */ (null));
  useEffect(() => {
    api.get(`/workspaces/${workspace}/files/${file}/versions/${version}`).then((answer) => setRead(answer.version), () => setRead({}));
  }, [version]);
  const files = useMemo(() => (read?.diff ? parseDiff(read.diff).map((file) => ({ ...file, hash: read.hash ?? undefined })) : []), [read]);
  const { review, dialog } = useReview(workspace, { step_id: read?.step_id ?? "" });
  if (!read) return html`<${Loading} lines=${2} label="Loading the diff" />`;
  return html`${files.length > 0 && html`<${DiffView} files=${files} label="What the call changed" review=${read.step_id ? review : undefined} />${dialog}`}
    ${read.step_id && html`<p><a class="button" href=${address("w", workspace, "timeline", read.step_id)}><${Icon} name="timeline" />See the step</a></p>`}`;
}

/** @param {{ workspace: string, id: string, onSent: () => void }} props */
function Composer({ workspace, id, onSent }) {
  const [text, setText] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  const send = async () => {
    if (text.trim() === "" || isBusy) return;
    setIsBusy(true);
    try {
      await api.post(`/workspaces/${workspace}/chats/${id}/messages`, { role: "user", content: text });
      setText("");
      onSent();
    } catch (failure) {
      toastProblem(failure);
    }
    setIsBusy(false);
  };
  return html`<form class="composer" onSubmit=${(/** @type {Event} */ event) => { event.preventDefault(); void send(); }}>
    <textarea rows="1" aria-label="A message to the chat" placeholder="Write into the chat; agents read it in its transcript" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)}
      onKeyDown=${(/** @type {KeyboardEvent} */ event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); void send(); } }}></textarea>
    <button class="button primary" disabled=${isBusy || text.trim() === ""}>Send</button></form>`;
}
