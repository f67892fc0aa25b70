// The terminals that agents opened: what is on their screens now, typing into them, and ending them.

import { html, useEffect, useRef, useState } from "../vendor.js";
import { api, ApiError } from "../api.js";
import { address, go, parts } from "../router.js";
import { mayChange } from "../state.js";
import { onHappening } from "../stream.js";
import { Actor } from "../parts/actor.js";
import { ChatLink } from "../parts/chat-link.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { useKeys } from "../parts/keys.js";
import { Menu } from "../parts/menu.js";
import { Split } from "../parts/split.js";
import { Empty, Loading, Problem } from "../parts/states.js";
import { beginningOf, pasted, sequenceOf } from "../parts/terminal-keys.js";
import { visible } from "../parts/text.js";
import { Time } from "../parts/time.js";
import { toast, toastProblem } from "../parts/toast.js";
import { VirtualList } from "../parts/virtual.js";

/**
 * @typedef {object} Terminal
 * @property {string} id
 * @property {string} chat_id
 * @property {string} session_id
 * @property {string} opened_by
 * @property {string} opened_at
 * @property {string} command
 * @property {string} folder
 * @property {"running" | "ended" | "interrupted"} state
 * @property {number | null} exit_code
 * @property {string | null} log_path
 * @property {number[]} ports
 * @property {[number, number] | null} [size] rows and columns
 */

const ROW = 64;
/** Escape leaves the screen if it is pressed twice within so many milliseconds. */
const TWICE = 600;
/** Characters in one call, at most. */
const AT_ONCE = 8_000;
/** How often the screen of a running terminal is read, in milliseconds. */
const EVERY = 600;

/** How a program ended that a signal ended, by its exit code. @type {Record<number, string>} */
const SIGNALS = { 129: "hung up", 130: "interrupted", 134: "aborted", 137: "killed", 139: "crashed", 143: "terminated" };

/** @param {Terminal} terminal */
function stateWords({ state, exit_code: code }) {
  if (state === "running" || state === "interrupted") return state;
  if (code === null) return "ended";
  return code === 0 ? "ended well" : SIGNALS[code] ? `ended by a signal: ${SIGNALS[code]} (${code})` : `ended with code ${code}`;
}

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
  const [read, setRead] = useState(/** @type {{ terminal: Terminal, screen: string | null, cursor: [number, number] | null, size?: [number, number] | null } | null} */ (null));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const [isEnding, setIsEnding] = useState(false);
  const [box, setBox] = useState(/** @type {HTMLElement | null} */ (null));
  const isAlive = useRef(true);
  const show = (/** @type {any} */ answer) => isAlive.current && setRead((old) => (JSON.stringify(old) === JSON.stringify(answer) ? old : answer));
  const look = async () => {
    try {
      const answer = await api.get(`/workspaces/${workspace}/terminals/${id}`);
      show(answer);
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
  const type = useTyping(workspace, id, show);
  if (problem && !read) return html`<${Problem} problem=${problem} onRetry=${look} />`;
  if (!read) return html`<div class="pad"><${Loading} label="Loading the terminal" /></div>`;
  const { terminal, screen, cursor } = read;
  const isRunning = terminal.state === "running";
  const may = isRunning && mayChange(workspace);
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
  const key = (/** @type {string[]} */ [label = "", chars = ""]) => html`
    <button key=${label} type="button" class="button" aria-label=${NAMES[label] ?? label} onClick=${() => type(chars)}>${label}</button>`;
  return html`<article class="terminal" aria-label="Terminal">
    <div class="request-head"><div class="request-who"><${Actor} workspace=${workspace} actor=${terminal.opened_by} /><${Time} class="muted" at=${terminal.opened_at} /><span class="chip ${isRunning ? "live" : ""}">${stateWords(terminal)}</span>
        ${terminal.ports.map((port) => html`<span key=${port} class="chip" title="A program listens on this port: toolyard ports opens it for your browser">port ${port}</span>`)}
        <${ChatLink} workspace=${workspace} id=${terminal.chat_id} /><span class="grow"></span>
        ${may && screen !== null && html`<${Size} workspace=${workspace} id=${id} box=${box} now=${read.size ?? terminal.size ?? null} onSized=${look} />`}
        ${may && html`<button class="button danger" onClick=${() => setIsEnding(true)}><${Icon} name="x" />End it</button>`}</div>
      <h2 class="request-title"><code>${visible(terminal.command)}</code></h2></div>
    ${screen === null ? html`<${Empty} icon="terminals" title="Its screen is gone">
        <p>The server keeps the screens of terminals that ended for a while only.</p></${Empty}>`
      : html`<${Screen} text=${screen} cursor=${isRunning ? cursor : null} onType=${may ? type : null} onShown=${setBox} />`}
    ${may && screen !== null && html`<div class="typing"><div class="typing-keys" role="group" aria-label="Keys">${KEYS.map(key)}</div></div>`}
    ${isEnding && html`<${Dialog} title="End this terminal?" onClose=${() => setIsEnding(false)}>
      <p>Everything that it started ends with it. What it changed stays, and can be undone.</p>
      <div class="actions"><button class="button" onClick=${() => setIsEnding(false)}>Cancel</button>
        <button class="button danger" onClick=${end}>End it</button></div></${Dialog}>`}
  </article>`;
}

/**
 * What is on the screen. Where the person may type, the screen takes the keyboard while it has the focus: every key goes to
 * the program, and Escape twice leaves it. The Tab key passes it by, since it would not get out of it: Enter goes into it.
 * @param {{ text: string, cursor: [number, number] | null, onType: ((chars: string) => void) | null, onShown: (box: HTMLElement | null) => void }} props
 */
function Screen({ text, cursor, onType, onShown }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const escapedAt = useRef(0);
  const [hasFocus, setHasFocus] = useState(false);
  useEffect(() => onShown(box.current), []);
  useKeys({ Enter: () => field.current?.focus() });
  const lines = text.split("\n");
  while (cursor && lines.length < cursor[0]) lines.push("");
  const leave = () => {
    field.current?.blur();
    document.getElementById("content")?.focus();
  };
  /** @param {KeyboardEvent} event */
  const keyDown = (event) => {
    // The screen's own shortcuts of the browser: copy, paste and the rest with the command key.
    if (event.isComposing || event.metaKey || !onType) return;
    if (event.ctrlKey && /^[cv]$/i.test(event.key) && (event.shiftKey || event.key.toLowerCase() === "v" || String(getSelection()) !== "")) return;
    event.stopPropagation();
    if (event.key === "Escape") {
      event.preventDefault();
      const isSecond = event.timeStamp - escapedAt.current < TWICE;
      escapedAt.current = isSecond ? 0 : event.timeStamp;
      if (isSecond) return leave();
    }
    const chars = sequenceOf(event);
    if (chars === null) return;
    event.preventDefault();
    onType(chars);
  };
  /** What is written by keys, an input method or a phone's keyboard. @param {any} event */
  const input = (event) => {
    if (event.isComposing) return;
    const typed = event.target.value;
    event.target.value = "";
    if (typed !== "") onType?.(pasted(typed));
  };
  /** @param {ClipboardEvent} event */
  const paste = (event) => {
    event.preventDefault();
    onType?.(pasted(event.clipboardData?.getData("text") ?? ""));
  };
  const select = () => String(getSelection()) === "" && field.current?.focus({ preventScroll: true });
  /** @param {KeyboardEvent} event */
  const enter = (event) => {
    if (event.key !== "Enter" || !onType || event.target !== event.currentTarget) return;
    event.preventDefault();
    field.current?.focus();
  };
  const line = (/** @type {string} */ text, /** @type {number} */ i) => html`<div key=${i} class="screen-line">
    ${cursor && cursor[0] === i + 1 ? withCursor(text, cursor[1] - 1) : visible(text) || " "}</div>`;
  return html`<div class="screen-box ${hasFocus ? "typing-here" : ""}">
    ${onType && html`<textarea ref=${field} class="catcher" tabindex="-1" aria-label="Type into the terminal" aria-describedby="terminal-hint"
      autocomplete="off" autocapitalize="off" autocorrect="off" spellcheck=${false} rows="1"
      onKeyDown=${keyDown} onInput=${input} onCompositionEnd=${input} onPaste=${paste}
      onFocus=${() => setHasFocus(true)} onBlur=${() => setHasFocus(false)}></textarea>`}
    <div ref=${box} class="screen" role="region" aria-label="Screen" tabindex="0" onClick=${onType ? select : undefined} onKeyDown=${enter}>
      ${lines.map(line)}</div>
    ${onType && html`<p id="terminal-hint" class="screen-hint" role="status">${hasFocus ? html`<strong>Every key goes to the program.</strong> Press <kbd>Esc</kbd> twice to leave.` : html`Click the screen or press <kbd>Enter</kbd> to type into it.`}</p>`}
  </div>`;
}

/** @param {string} line @param {number} column */
function withCursor(line, column) {
  const characters = [...line.padEnd(column + 1)];
  return html`${visible(characters.slice(0, column).join(""))}<span class="cursor">${visible(characters[column] ?? " ")}</span>${visible(characters.slice(column + 1).join(""))}`;
}

/** Keys that a phone does not have. */
const KEYS = [["Enter", "\r"], ["Ctrl-C", "\u0003"], ["Ctrl-D", "\u0004"], ["Esc", "\u001b"], ["Tab", "\t"], ["←", "\u001b[D"], ["↑", "\u001b[A"], ["↓", "\u001b[B"], ["→", "\u001b[C"]];
const NAMES = /** @type {Record<string, string>} */ ({ "←": "Left", "↑": "Up", "↓": "Down", "→": "Right" });

/**
 * Sends what is typed, in order: what comes while a call is under way goes with the next one.
 * @param {string} workspace
 * @param {string} id
 * @param {(answer: any) => void} onTyped gets the screen after it
 */
function useTyping(workspace, id, onTyped) {
  const waiting = useRef("");
  const isSending = useRef(false);
  const send = async () => {
    if (isSending.current) return;
    isSending.current = true;
    try {
      while (waiting.current !== "") {
        const text = beginningOf(waiting.current, AT_ONCE);
        waiting.current = waiting.current.slice(text.length);
        onTyped(await api.post(`/workspaces/${workspace}/terminals/${id}/input`, { text }));
      }
    } catch (failure) {
      waiting.current = "";
      toastProblem(failure);
    }
    isSending.current = false;
  };
  return (/** @type {string} */ chars) => {
    waiting.current += chars;
    void send();
  };
}

/** The sizes to choose from, and the one that fits into the box. @param {HTMLElement | null} box */
function sizes(box) {
  const found = [{ rows: 24, columns: 80 }, { rows: 40, columns: 120 }, { rows: 50, columns: 160 }];
  if (!box) return found;
  const style = getComputedStyle(box);
  const probe = document.createElement("span");
  probe.textContent = "0".repeat(100);
  probe.style.cssText = "position:absolute;visibility:hidden;white-space:pre";
  box.append(probe);
  const width = probe.getBoundingClientRect().width / 100;
  probe.remove();
  const [inner, outer] = [box.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight), box.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom)];
  return [{ rows: Math.max(5, Math.floor(outer / parseFloat(style.lineHeight))), columns: Math.max(20, Math.floor(inner / width)) }, ...found];
}

/** The size of a terminal. @param {{ workspace: string, id: string, box: HTMLElement | null, now: [number, number] | null, onSized: () => void }} props */
function Size({ workspace, id, box, now, onSized }) {
  const [isOpen, setIsOpen] = useState(false);
  const set = async (/** @type {{ rows: number, columns: number }} */ size) => {
    try {
      await api.put(`/workspaces/${workspace}/terminals/${id}/size`, size);
      toast(`The terminal has ${size.columns} columns and ${size.rows} rows.`);
      setTimeout(onSized, 120);
    } catch (failure) {
      toastProblem(failure);
    }
  };
  const choice = (/** @type {{ rows: number, columns: number }} */ size, /** @type {number} */ i) => {
    const words = `${size.columns} × ${size.rows}`;
    const fits = i === 0 && box !== null;
    return { label: fits ? "As large as here" : words, hint: fits ? words : "", icon: "display", run: () => void set(size) };
  };
  const label = now ? `Size: ${now[1]} × ${now[0]}` : "Size";
  return html`<${Menu} class="below" label=${label} isOpen=${isOpen} onOpen=${setIsOpen} choices=${isOpen ? sizes(box).map(choice) : []} />`;
}
