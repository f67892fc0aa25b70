// The terminals that agents opened: what is on their screens now, typing into them, and ending them.

import { html, useEffect, useRef, useState } from "../vendor.js";
import { api, ApiError } from "../api.js";
import { address, go, parts } from "../router.js";
import { mayChange } from "../state.js";
import { onHappening } from "../stream.js";
import { Actor } from "../parts/actor.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { useKeys } from "../parts/keys.js";
import { Split } from "../parts/split.js";
import { Empty, Loading, Problem } from "../parts/states.js";
import { visible } from "../parts/text.js";
import { Time } from "../parts/time.js";
import { toast, toastProblem } from "../parts/toast.js";
import { VirtualList } from "../parts/virtual.js";

/** @typedef {{ id: string, chat_id: string, session_id: string, opened_by: string, opened_at: string, command: string, folder: string, state: "running" | "ended" | "interrupted", exit_code: number | null, log_path: string | null, ports: number[] }} Terminal */

const ROW = 64;
/** How often the screen of a running terminal is read, in milliseconds. */
const EVERY = 600;

/** @param {Terminal} terminal */
const stateWords = (terminal) => (terminal.state === "running" ? "running" : terminal.state === "interrupted" ? "interrupted" : terminal.exit_code === null ? "ended" : `ended with ${terminal.exit_code}`);

/** @param {{ workspace: string }} props */
export function Terminals({ workspace }) {
  const [terminals, setTerminals] = useState(/** @type {Terminal[] | null} */ (null));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const chosenId = parts.value[3];
  const read = async () => {
    try {
      setTerminals((await api.get(`/workspaces/${workspace}/terminals`)).terminals);
      setProblem(null);
    } catch (failure) {
      setProblem(failure);
    }
  };
  useEffect(() => {
    void read();
    return onHappening(({ workspace: where, kind }) => {
      if (kind === "reset" || (where === workspace && kind.startsWith("terminal"))) void read();
    });
  }, [workspace]);
  const place = terminals?.findIndex((terminal) => terminal.id === chosenId) ?? -1;
  const move = (/** @type {number} */ by) => {
    const terminal = terminals?.[Math.max(0, Math.min(terminals.length - 1, place + by))];
    if (terminal) go(address("w", workspace, "terminals", terminal.id), { replace: Boolean(chosenId) });
  };
  useKeys({ j: () => move(1), k: () => move(-1), Escape: () => go(address("w", workspace, "terminals")) });
  const row = (/** @type {number} */ i) => {
    const terminal = /** @type {Terminal} */ (terminals?.[i]);
    return html`<a class="list-row" href=${address("w", workspace, "terminals", terminal.id)} aria-current=${terminal.id === chosenId ? "true" : undefined}>
      <span class="kind-mark plain"><${Icon} name="terminals" /></span><span class="min grow"><span class="row-line"><strong class="ellipsis mono">${visible(terminal.command)}</strong><${Time} class="muted small" at=${terminal.opened_at} /></span>
      <span class="row-line small"><${Actor} workspace=${workspace} actor=${terminal.opened_by} /><span class="chip ${terminal.state === "running" ? "live" : ""}">${stateWords(terminal)}</span></span></span></a>`;
  };
  const list = html`<div class="list-head"><h2>Terminals</h2></div>
    ${terminals === null ? (problem ? html`<${Problem} problem=${problem} onRetry=${read} />` : html`<${Loading} label="Loading the terminals" />`)
      : terminals.length === 0 ? html`<${Empty} icon="terminals" title="No terminal is open"><p>When an agent starts a server, a prompt or other long work, you can watch it here and type into it.</p></${Empty}>`
      : html`<${VirtualList} role="list" label="Terminals" count=${terminals.length} height=${ROW} version=${terminals} keyOf=${(/** @type {number} */ i) => terminals[i]?.id ?? i} scrollTo=${place} row=${row} />`}`;
  const detail = chosenId ? html`<${TerminalDetail} key=${chosenId} workspace=${workspace} id=${chosenId} onEnded=${read} />`
    : terminals && terminals.length > 0 ? html`<${Empty} icon="terminals" title="Choose a terminal"><p>You see its screen as it is now.</p></${Empty}>` : null;
  return html`<${Split} label="Terminals" list=${list} detail=${detail} hasDetail=${Boolean(chosenId)} back=${address("w", workspace, "terminals")} backLabel="Terminals" />`;
}

/** @param {{ workspace: string, id: string, onEnded: () => void }} props */
function TerminalDetail({ workspace, id, onEnded }) {
  const [read, setRead] = useState(/** @type {{ terminal: Terminal, screen: string | null, cursor: [number, number] | null } | null} */ (null));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const [isEnding, setIsEnding] = useState(false);
  const isAlive = useRef(true);
  const look = async () => {
    try {
      const answer = await api.get(`/workspaces/${workspace}/terminals/${id}`);
      if (isAlive.current) setRead((old) => (JSON.stringify(old) === JSON.stringify(answer) ? old : answer));
      setProblem(null);
      return answer.terminal.state === "running";
    } catch (failure) {
      setProblem(failure);
      return !(failure instanceof ApiError && failure.status === 404);
    }
  };
  useEffect(() => {
    isAlive.current = true;
    let timer = 0;
    const loop = async () => {
      const isRunning = document.visibilityState === "hidden" || (await look());
      if (isRunning && isAlive.current) timer = setTimeout(loop, EVERY);
    };
    void loop();
    return () => {
      isAlive.current = false;
      clearTimeout(timer);
    };
  }, [workspace, id]);
  if (problem && !read) return html`<${Problem} problem=${problem} onRetry=${look} />`;
  if (!read) return html`<div class="pad"><${Loading} label="Loading the terminal" /></div>`;
  const { terminal, screen, cursor } = read;
  const isRunning = terminal.state === "running";
  const end = async () => {
    try {
      await api.delete(`/workspaces/${workspace}/terminals/${id}`);
      toast("Ended, with everything that it started.");
      setIsEnding(false);
      onEnded();
      void look();
    } catch (failure) {
      toastProblem(failure);
    }
  };
  return html`<article class="terminal" aria-label="Terminal">
    <div class="request-head"><div class="request-who"><${Actor} workspace=${workspace} actor=${terminal.opened_by} /><${Time} class="muted" at=${terminal.opened_at} /><span class="chip ${isRunning ? "live" : ""}">${stateWords(terminal)}</span>
        ${terminal.ports.map((port) => html`<span key=${port} class="chip" title="A program listens on this port: toolyard ports opens it for your browser">port ${port}</span>`)}
        <a class="muted" href=${address("w", workspace, "chats", terminal.chat_id)}><${Icon} name="chats" />chat</a><span class="grow"></span>
        ${isRunning && mayChange(workspace) && html`<button class="button danger" onClick=${() => setIsEnding(true)}><${Icon} name="x" />End it</button>`}</div>
      <h2 class="request-title"><code>${visible(terminal.command)}</code></h2></div>
    ${screen === null ? html`<${Empty} icon="terminals" title="Its screen is gone"><p>The server keeps the screens of terminals that ended for a while only.</p></${Empty}>` : html`<${Screen} text=${screen} cursor=${isRunning ? cursor : null} />`}
    ${isRunning && mayChange(workspace) && html`<${Typing} workspace=${workspace} terminal=${terminal} onTyped=${look} />`}
    ${isEnding && html`<${Dialog} title="End this terminal?" onClose=${() => setIsEnding(false)}><p>Everything that it started ends with it. What it changed stays, and can be undone.</p><div class="actions"><button class="button" onClick=${() => setIsEnding(false)}>Cancel</button><button class="button danger" onClick=${end}>End it</button></div></${Dialog}>`}
  </article>`;
}

/** @param {{ text: string, cursor: [number, number] | null }} props */
function Screen({ text, cursor }) {
  const lines = text.split("\n");
  while (cursor && lines.length < cursor[0]) lines.push("");
  return html`<div class="screen" role="region" aria-label="Screen" tabindex="0">${lines.map((line, i) => html`<div key=${i} class="screen-line">${cursor && cursor[0] === i + 1 ? withCursor(line, cursor[1] - 1) : visible(line) || " "}</div>`)}</div>`;
}

/** @param {string} line @param {number} column */
function withCursor(line, column) {
  const characters = [...line.padEnd(column + 1)];
  return html`${visible(characters.slice(0, column).join(""))}<span class="cursor">${visible(characters[column] ?? " ")}</span>${visible(characters.slice(column + 1).join(""))}`;
}

const KEYS = [["Enter", "\n"], ["Ctrl-C", "\u0003"], ["Ctrl-D", "\u0004"], ["Esc", "\u001b"], ["Tab", "\t"], ["↑", "\u001b[A"], ["↓", "\u001b[B"]];
const NAMES = /** @type {Record<string, string>} */ ({ "↑": "Up", "↓": "Down" });

/** Typing into a terminal, by the tool that agents use for it. @param {{ workspace: string, terminal: Terminal, onTyped: () => void }} props */
function Typing({ workspace, terminal, onTyped }) {
  const [line, setLine] = useState("");
  const type = async (/** @type {string} */ chars) => {
    setTimeout(onTyped, 120);
    try {
      const answer = await api.post(`/workspaces/${workspace}/tools`, { toolset: "codex", tool: "write_stdin", chat_id: terminal.chat_id, args: { session_id: terminal.session_id, chars } });
      if (answer.success === false) toastProblem(new Error(answer.error));
    } catch (failure) {
      toastProblem(failure);
    }
  };
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    void type(`${line}\n`);
    setLine("");
  };
  return html`<form class="typing" onSubmit=${submit}><div class="typing-line"><input class="mono" aria-label="Type into the terminal" placeholder="Type a line; Enter sends it" autocomplete="off" autocapitalize="off" spellcheck=${false} value=${line} onInput=${(/** @type {any} */ event) => setLine(event.target.value)} /><button class="button primary">Send</button></div>
    <div class="typing-keys" role="group" aria-label="Keys">${KEYS.map(([label, chars]) => html`<button key=${label} type="button" class="button" aria-label=${NAMES[String(label)] ?? label} onClick=${() => void type(String(chars))}>${label}</button>`)}</div></form>`;
}
