// "Why would this ask?": what the policy says to a call, without making it.

import { html, useEffect, useState } from "../vendor.js";
import { api } from "../api.js";
import { argsOf, ArgumentField, kindOf, wrongFields } from "../parts/args-form.js";
import { Icon } from "../parts/icons.js";
import { RuleTable, VERDICTS } from "../parts/rules.js";
import { count, visible, visibleLine } from "../parts/text.js";
import { effectsByRisk, effectWords } from "../parts/words.js";

const TOOLSETS = ["workspace", "filesystem", "codex", "coder", "assistant"];

/** So many arguments are shown at once, required or not. */
const AT_ONCE = 3;

/** @param {{ workspace: string }} props */
export function Explain({ workspace }) {
  const [toolset, setToolset] = useState("workspace");
  const [tools, setTools] = useState(/** @type {any[]} */ ([]));
  const [name, setName] = useState("write");
  const [texts, setTexts] = useState(/** @type {Record<string, string>} */ ({}));
  const [wrong, setWrong] = useState(/** @type {Record<string, string>} */ ({}));
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  const [isBusy, setIsBusy] = useState(false);
  useEffect(() => {
    let isOver = false;
    api.get(`/workspaces/${workspace}/tools?toolset=${toolset}`).then(({ tools: found }) => {
      if (isOver) return;
      setTools(found);
      setName((old) => (found.some((/** @type {any} */ tool) => tool.name === old) ? old : found[0]?.name ?? ""));
    }, (failure) => setWrong(wrongFields(failure, {})));
    return () => void (isOver = true);
  }, [workspace, toolset]);
  const schema = tools.find((tool) => tool.name === name)?.input_schema ?? {};
  const properties = schema.properties ?? {};
  const required = Object.keys(properties).filter((one, i) => (schema.required ?? []).includes(one) || one in texts || i < AT_ONCE);
  const others = Object.keys(properties).filter((one) => !required.includes(one));
  const change = (/** @type {() => void} */ set) => {
    set();
    setAnswer(null);
    setWrong({});
  };
  /** @param {Event} event */
  const ask = async (event) => {
    event.preventDefault();
    const written = Object.fromEntries(Object.entries(texts).filter(([field, text]) => field in properties && text !== ""));
    const { args, wrong: malformed } = argsOf({ texts: written, json: null }, {}, properties);
    if (Object.keys(malformed).length > 0) return setWrong(malformed);
    setIsBusy(true);
    setWrong({});
    try {
      setAnswer((await api.post(`/workspaces/${workspace}/policy/explain`, { toolset, tool: name, args })).explanation);
    } catch (failure) {
      setAnswer(null);
      setWrong(wrongFields(failure, args));
    }
    setIsBusy(false);
  };
  const field = (/** @type {string} */ one) => html`<${ArgumentField} key=${`${toolset}.${name}.${one}`} name=${one} schema=${properties[one]} kind=${kindOf(properties[one], undefined)} text=${texts[one] ?? ""} wrong=${wrong[one] ?? ""} isChanged=${false}
    onText=${(/** @type {string} */ text) => change(() => setTexts({ ...texts, [one]: text }))} onLeaveOut=${null} />`;
  return html`<details class="explain" id="explain"><summary>Why would this ask?</summary>
    <p class="muted">Describe a call, and see what the policy says to it. Nothing is done.</p>
    <form class="edit-args" aria-label="Why would this ask?" onSubmit=${ask}>
      <div class="two"><label class="field"><span>Toolset</span><select value=${toolset} onChange=${(/** @type {any} */ event) => change(() => setToolset(event.target.value))}>${TOOLSETS.map((one) => html`<option key=${one} value=${one} selected=${one === toolset}>${one}</option>`)}</select></label>
        <label class="field"><span>Tool</span><select value=${name} onChange=${(/** @type {any} */ event) => change(() => setName(event.target.value))}>${tools.map((tool) => html`<option key=${tool.name} value=${tool.name} selected=${tool.name === name}>${visibleLine(tool.name)}</option>`)}</select></label></div>
      ${required.map(field)}
      ${others.length > 0 && html`<details class="arguments more-args" open=${others.some((one) => wrong[one])}><summary>${count(others.length, "more argument")}</summary>${others.map(field)}</details>`}
      ${Object.entries(wrong).filter(([one]) => !(one in properties)).map(([one, text]) => html`<p key=${one} class="form-problem" role="alert">${one && html`<strong>${visibleLine(one)}:</strong> `}${visible(text)}</p>`)}
      <button class="button" disabled=${isBusy || name === ""}><${Icon} name="question" />${isBusy ? "One moment…" : "What would happen?"}</button>
    </form>
    <div role="status">${answer && html`<${Answer} answer=${answer} />`}</div>
  </details>`;
}

const SENTENCES = /** @type {Record<string, string>} */ ({ allow: "It would be done at once.", ask: "A person would be asked first.", deny: "It would be refused." });

/** @param {{ answer: any }} props */
function Answer({ answer }) {
  const verdict = VERDICTS[answer.decision] ?? { text: visibleLine(answer.decision), tone: "plain" };
  const effects = effectsByRisk([...(Array.isArray(answer.effect) ? answer.effect : [...(answer.effect?.paths ?? []), ...(answer.effect?.dials ?? [])])]);
  return html`<div class="explained"><p><span class="verdict ${verdict.tone}">${verdict.text}</span> <strong>${SENTENCES[answer.decision] ?? ""}</strong></p>
    <p>${visible(answer.why ?? "")}</p>
    ${effects.length > 0 && html`<ul class="effects" aria-label="What it would do">${effects.slice(0, 30).map((effect, i) => { const words = effectWords(effect); return html`<li key=${i} class="effect ${words.tone}"><${Icon} name=${words.icon} /><span>${words.one}${words.isFolder ? " the folder" : ""}</span> <span class="path">${visibleLine(words.target)}</span></li>`; })}</ul>`}
    ${answer.rule && typeof answer.rule === "object" && html`<${RuleTable} rules=${[answer.rule]} title=${answer.rule_number ? `The rule that decides: number ${answer.rule_number}` : "The rule that decides"} />`}
    ${answer.message && html`<p class="small"><strong>What the agent would be told:</strong> ${visible(answer.message)}</p>`}</div>`;
}
