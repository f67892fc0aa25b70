// The settings of a workspace: keys for agents, people, the policy, its name.

import { html, useEffect, useState } from "../vendor.js";
import { all, api } from "../api.js";
import { go } from "../router.js";
import { forgetNames, isOwner, loadWorkspaces, me, workspaceOf } from "../state.js";
import { clientConfigs } from "../parts/clients.js";
import { Copyable } from "../parts/copy.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { RuleTable, VERDICTS } from "../parts/rules.js";
import { Loading, Problem } from "../parts/states.js";
import { messageOf, visible, visibleLine } from "../parts/text.js";
import { Time } from "../parts/time.js";
import { toast, toastProblem } from "../parts/toast.js";
import { Explain } from "./explain.js";
import { Machine, Storage } from "./machine.js";

/** @param {{ workspace: string }} props */
export function WorkspaceSettings({ workspace }) {
  // The person of this machine has neither accounts nor keys: agents start `toolyard mcp` in the folder.
  if (me.value?.is_local) return html`<div class="column settings"><${Connect} /><${Policy} workspace=${workspace} /><${Storage} workspace=${workspace} /><${Machine} /></div>`;
  return html`<div class="column settings">
    ${isOwner(workspace) && html`<${Keys} workspace=${workspace} />`}
    <${Policy} workspace=${workspace} />
    <${Members} workspace=${workspace} />
    ${isOwner(workspace) && html`<${Storage} workspace=${workspace} />`}
    <${Machine} />
    ${isOwner(workspace) && html`<${Naming} workspace=${workspace} />`}
  </div>`;
}

const LOCAL_CLIENTS = [
  { name: "Claude Code", text: "claude mcp add toolyard -- toolyard mcp ." },
  { name: "Codex", text: "toolyard mcp --toolset codex --print-config codex" },
  { name: "Cursor", text: "toolyard mcp --print-config cursor" },
  { name: "VS Code", text: "toolyard mcp --print-config vscode" },
  { name: "Gemini CLI", text: "toolyard mcp --print-config gemini" },
  { name: "Zed", text: "toolyard mcp --print-config zed" },
  { name: "goose", text: "toolyard mcp --print-config goose" },
];

/** How an agent on this machine is connected. */
function Connect() {
  const [chosen, setChosen] = useState(0);
  const client = LOCAL_CLIENTS[chosen];
  return html`<section class="panel" aria-labelledby="connect-title"><div class="panel-head"><div class="grow"><h2 id="connect-title">Connect an agent</h2><p>Run this in the project's folder. What the agent may not do by itself waits for you here.</p></div></div>
    <div class="pad"><div class="client-tabs" role="group" aria-label="Client">${LOCAL_CLIENTS.map(({ name }, i) => html`<button key=${name} class="chip-button" aria-pressed=${i === chosen} onClick=${() => setChosen(i)}>${name}</button>`)}</div>
      <div class="spaced"><${Copyable} text=${client?.text ?? ""} label="Command" /></div></div></section>`;
}

/**
 * A list that is read when the component appears.
 * @template T
 * @param {() => Promise<T>} read
 * @param {unknown[]} on
 * @returns {[T | null, unknown, () => Promise<void>]}
 */
function useRead(read, on) {
  const [value, setValue] = useState(/** @type {T | null} */ (null));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const again = async () => {
    try {
      setValue(await read());
      setProblem(null);
    } catch (failure) {
      setProblem(failure);
    }
  };
  useEffect(() => void again(), on);
  return [value, problem, again];
}

/** The toolsets that a key can be made for, and what they are. */
const TOOLSETS = [
  ["filesystem", "Files", "The tools of the MCP project's server for files. Most clients get on with them at once."],
  ["codex", "Coding, with a shell", "A shell in a sandbox, patches and terminals, as Codex knows them."],
  ["coder", "Coding", "Reading, editing and searching, as coding agents know them."],
  ["assistant", "Assistant", "Files, the web, git, tests and packages."],
  ["workspace", "Workspace", "Toolyard's own tools, with questions and plans."],
];

/** The toolsets that a key is for; one of an old version is for all of them. @param {{ toolsets?: string[] | null }} key */
function toolsetsOf({ toolsets }) {
  if (!toolsets?.length) return "all toolsets";
  return `${toolsets.length === 1 ? "toolset" : "toolsets"} ${toolsets.map(visible).join(", ")}`;
}

/** @param {{ workspace: string }} props */
function Keys({ workspace }) {
  const [keys, problem, again] = useRead(() => all(`/workspaces/${workspace}/keys`, "keys"), [workspace]);
  const [isNew, setIsNew] = useState(false);
  const [revoking, setRevoking] = useState(/** @type {any} */ (null));
  const revoke = async () => {
    try {
      await api.delete(`/workspaces/${workspace}/keys/${revoking.id}`);
      toast(`The key ${visibleLine(revoking.name)} is revoked.`);
      setRevoking(null);
      void again();
    } catch (failure) {
      toastProblem(failure);
    }
  };
  return html`<section class="panel" aria-labelledby="keys-title"><div class="panel-head"><div class="grow"><h2 id="keys-title">Keys for agents</h2><p>An agent with a key reads and writes here. It can never approve, answer or manage.</p></div><button class="button primary" onClick=${() => setIsNew(true)}><${Icon} name="key" />New key</button></div>
    ${problem ? html`<${Problem} problem=${problem} onRetry=${again} />` : keys === null ? html`<${Loading} lines=${2} />` : keys.length === 0 ? html`<p class="setting muted">No agent has a key yet.</p>`
      : keys.map((key) => html`<div key=${key.id} class="setting"><span class="actor-mark agent"><${Icon} name="agent" /></span><div class="grow min"><strong>${visibleLine(key.name)}</strong><p class="muted small">${key.role === "viewer" ? "may only look" : "may change files"} · ${toolsetsOf(key)}${key.chat_id ? " · one chat only" : ""} · made <${Time} at=${key.created_at} /></p></div><button class="button danger" onClick=${() => setRevoking(key)}>Revoke</button></div>`)}
    ${isNew && html`<${NewKey} workspace=${workspace} onClose=${() => { setIsNew(false); forgetNames(workspace); void again(); }} />`}
    ${revoking && html`<${Dialog} title="Revoke this key?" onClose=${() => setRevoking(null)}><p>The agent with the key <strong>${visibleLine(revoking.name)}</strong> gets no further answer. What it did stays in the timeline.</p><div class="actions"><button class="button" onClick=${() => setRevoking(null)}>Cancel</button><button class="button danger" onClick=${revoke}>Revoke it</button></div></${Dialog}>`}
  </section>`;
}

/** @param {{ workspace: string, onClose: () => void }} props */
function NewKey({ workspace, onClose }) {
  const [made, setMade] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState("");
  /** @param {SubmitEvent} event */
  const submit = async (event) => {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.target));
    try {
      setMade(await api.post(`/workspaces/${workspace}/keys`, { name: String(form.get("name") ?? "").trim(), role: form.get("role"), toolsets: [...new Set([String(form.get("toolset")), "workspace"])] }));
    } catch (failure) {
      setProblem(messageOf(failure));
    }
  };
  if (made) return html`<${MadeKey} workspace=${workspace} made=${made} onClose=${onClose} />`;
  return html`<${Dialog} title="New key for an agent" onClose=${onClose}><form onSubmit=${submit}>
    <label class="field"><span>Name</span><input name="name" required maxlength="200" autofocus placeholder="Claude on my laptop" /><small class="muted">It is shown with everything that the agent does.</small></label>
    <fieldset class="field"><legend>Which tools</legend><div class="choices stacked">${TOOLSETS.map(([value, label, text], i) => html`<label key=${value} class="choice"><input type="radio" name="toolset" value=${value} checked=${i === 0} /><span><strong>${label}</strong><small class="muted">${text}</small></span></label>`)}</div></fieldset>
    <fieldset class="field"><legend>What it may do</legend><div class="choices"><label class="choice"><input type="radio" name="role" value="member" checked /><span>Change files</span></label><label class="choice"><input type="radio" name="role" value="viewer" /><span>Only look</span></label></div></fieldset>
    ${problem && html`<p class="form-problem" role="alert">${problem}</p>`}
    <div class="actions"><button type="button" class="button" onClick=${onClose}>Cancel</button><button class="button primary">Make the key</button></div></form></${Dialog}>`;
}

/** The key, which is shown this once, with the configuration of each client. @param {{ workspace: string, made: any, onClose: () => void }} props */
function MadeKey({ workspace, made, onClose }) {
  const toolset = made.toolsets?.[0] ?? "filesystem";
  const url = `${location.origin}/mcp/${workspace}${toolset === "filesystem" ? "" : `?toolset=${toolset}`}`;
  const configs = clientConfigs(url, made.key);
  const [chosen, setChosen] = useState(0);
  const config = configs[chosen] ?? configs[0];
  return html`<${Dialog} title="The key is made" wide onClose=${onClose}>
    <div class="banner warn"><${Icon} name="key" /><span>This is the only time that the key is shown. Whoever has it is this agent.</span></div>
    <${Copyable} text=${made.key} label="The key" />
    <h3 class="spaced">Connect your client</h3>
    <div class="client-tabs" role="group" aria-label="Client">${configs.map(({ name }, i) => html`<button key=${name} class="chip-button" aria-pressed=${i === chosen} onClick=${() => setChosen(i)}>${name}</button>`)}</div>
    <p class="muted small spaced">${config?.place}</p><${Copyable} text=${config?.text ?? ""} label=${`Configuration of ${config?.name}`} />
    <div class="actions"><button class="button primary" onClick=${onClose}>Done</button></div></${Dialog}>`;
}

const PRESETS = [
  ["open", "Open", "Everything inside the workspace is allowed. Every change can still be undone."],
  ["guarded", "Guarded", "Asks before what others made is removed, replaced or moved, and before what affects programs later."],
  ["strict", "Strict", "Asks before everything, reading included."],
];
/** What a rule can be about, in words. */
const EFFECTS = /** @type {Record<string, string>} */ ({
  change: "Change (create, edit, move or remove)", create: "Create", modify: "Edit or replace", move: "Move", remove: "Remove", read: "Read", list: "List a folder",
  run: "Run a command", fetch: "Read from the web", send: "Send data to the web", connect: "Connect to a host", any: "Anything",
});

/** @param {{ workspace: string }} props */
function Policy({ workspace }) {
  const [policy, problem, again] = useRead(() => api.get(`/workspaces/${workspace}/policy`), [workspace]);
  const [isNew, setIsNew] = useState(false);
  const may = isOwner(workspace);
  /** @param {Record<string, unknown>} changed */
  const save = async (changed) => {
    try {
      // Only what changes is sent: another person may have changed the rest meanwhile.
      await api.put(`/workspaces/${workspace}/policy`, changed);
      toast("The policy is saved.");
      await again();
      return true;
    } catch (failure) {
      toastProblem(failure);
      return false;
    }
  };
  return html`<section class="panel" aria-labelledby="policy-title"><div class="panel-head"><div class="grow"><h2 id="policy-title">Policy</h2><p>What agents may do by themselves. It is about effects, not about command lines.</p></div>${may && policy && html`<button class="button" onClick=${() => setIsNew(true)}><${Icon} name="plus" />New rule</button>`}</div>
    ${problem ? html`<${Problem} problem=${problem} onRetry=${again} />` : policy === null ? html`<${Loading} lines=${3} />` : html`
      <div class="presets" role="group" aria-label="Where no rule says otherwise">${PRESETS.map(([value, label, text]) => html`<button key=${value} class="preset" aria-pressed=${policy.effective_preset === value} disabled=${!may} onClick=${() => policy.effective_preset !== value && void save({ preset: value })}><strong>${label}</strong><span>${text}</span></button>`)}</div>
      ${policy.rules.length > 0 ? html`<${RuleTable} rules=${policy.rules} title="Rules" onRemove=${may ? (/** @type {number} */ i) => void save({ rules: policy.rules.filter((/** @type {any} */ _, /** @type {number} */ n) => n !== i) }) : undefined} />` : html`<p class="setting muted">No rule: the preset alone decides.</p>`}
      ${policy.saved.length > 0 && html`<${RuleTable} rules=${policy.saved} title="Allowed always" onRemove=${may ? (/** @type {number} */ i) => void save({ saved: policy.saved.filter((/** @type {any} */ _, /** @type {number} */ n) => n !== i) }) : undefined} />`}
      <${Explain} workspace=${workspace} />`}
    ${isNew && html`<${NewRule} onClose=${() => setIsNew(false)} onMake=${async (/** @type {any} */ rule) => { if (await save({ rules: [...policy.rules, rule] })) setIsNew(false); }} />`}
  </section>`;
}

/** @param {{ onClose: () => void, onMake: (rule: any) => Promise<void> }} props */
function NewRule({ onClose, onMake }) {
  /** @param {SubmitEvent} event */
  const submit = (event) => {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.target));
    /** @type {Record<string, unknown>} */
    const rule = { effect: form.get("effect"), then: form.get("then") };
    const on = String(form.get("on") ?? "").trim();
    if (on) rule[["connect", "fetch", "send"].includes(String(rule.effect)) ? "host" : "path"] = on;
    for (const name of ["tool", "why"]) if (String(form.get(name) ?? "").trim()) rule[name] = String(form.get(name)).trim();
    void onMake(rule);
  };
  return html`<${Dialog} title="New rule" onClose=${onClose}><form onSubmit=${submit}>
    <fieldset class="field"><legend>What happens</legend><div class="choices">${Object.entries(VERDICTS).map(([value, { text }]) => html`<label key=${value} class="choice"><input type="radio" name="then" value=${value} checked=${value === "ask"} /><span>${text}</span></label>`)}</div></fieldset>
    <label class="field"><span>Effect</span><select name="effect">${Object.entries(EFFECTS).map(([effect, label]) => html`<option key=${effect} value=${effect}>${label}</option>`)}</select></label>
    <label class="field"><span>On which paths or hosts</span><input class="mono" name="on" placeholder="infra/**" /><small class="muted">Left out: on everything.</small></label>
    <label class="field"><span>By which tool</span><input class="mono" name="tool" placeholder="codex.*" /><small class="muted">Left out: by any.</small></label>
    <label class="field"><span>Why</span><input name="why" maxlength="500" placeholder="Shown to whoever is asked" /></label>
    <div class="actions"><button type="button" class="button" onClick=${onClose}>Cancel</button><button class="button primary">Add the rule</button></div></form></${Dialog}>`;
}

const ROLES = [["owner", "Owner"], ["member", "Member"], ["viewer", "Viewer"]];

/** @param {{ workspace: string }} props */
function Members({ workspace }) {
  const [members, problem, again] = useRead(() => all(`/workspaces/${workspace}/members`, "members"), [workspace]);
  const [isNew, setIsNew] = useState(false);
  const [failed, setFailed] = useState("");
  const may = isOwner(workspace);
  /** @param {() => Promise<unknown>} work @param {string} said */
  const change = async (work, said) => {
    try {
      await work();
      toast(said);
    } catch (failure) {
      toastProblem(failure);
    }
    await again();
    await loadWorkspaces();
  };
  /** @param {SubmitEvent} event */
  const add = async (event) => {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.target));
    try {
      await api.post(`/workspaces/${workspace}/members`, { email: String(form.get("email")).trim(), role: form.get("role") });
      setIsNew(false);
      forgetNames(workspace);
      void again();
    } catch (failure) {
      setFailed(messageOf(failure));
    }
  };
  return html`<section class="panel" aria-labelledby="members-title"><div class="panel-head"><div class="grow"><h2 id="members-title">People</h2><p>Owners manage, members change and decide, viewers look.</p></div>${may && html`<button class="button" onClick=${() => { setFailed(""); setIsNew(true); }}><${Icon} name="plus" />Add a person</button>`}</div>
    ${problem ? html`<${Problem} problem=${problem} onRetry=${again} />` : members === null ? html`<${Loading} lines=${2} />` : members.map((member) => html`<div key=${member.user_id} class="setting"><span class="actor-mark person"><${Icon} name="person" /></span><div class="grow min"><strong>${visibleLine(member.full_name || member.email)}${member.user_id === me.value?.id ? " (you)" : ""}</strong><p class="muted small">${visibleLine(member.email)} · since <${Time} at=${member.since} /></p></div>
      ${may && member.user_id !== me.value?.id ? html`<select class="role" aria-label=${`Role of ${visibleLine(member.email)}`} value=${member.role} onChange=${(/** @type {any} */ event) => void change(() => api.patch(`/workspaces/${workspace}/members/${member.user_id}`, { role: event.target.value }), "The role is changed.")}>${ROLES.map(([value, label]) => html`<option key=${value} value=${value}>${label}</option>`)}</select>
        <button class="icon-button" aria-label=${`Remove ${visibleLine(member.email)}`} title="Remove from the workspace" onClick=${() => void change(() => api.delete(`/workspaces/${workspace}/members/${member.user_id}`), "Removed from the workspace.")}><${Icon} name="x" /></button>`
        : html`<span class="chip">${member.role}</span>`}</div>`)}
    ${isNew && html`<${Dialog} title="Add a person" onClose=${() => setIsNew(false)}><form onSubmit=${add}><label class="field"><span>Email of the account</span><input name="email" type="email" required autofocus /></label>
      <fieldset class="field"><legend>Role</legend><div class="choices">${ROLES.map(([value, label]) => html`<label key=${value} class="choice"><input type="radio" name="role" value=${value} checked=${value === "member"} /><span>${label}</span></label>`)}</div></fieldset>
      ${failed && html`<p class="form-problem" role="alert">${failed}</p>`}<div class="actions"><button type="button" class="button" onClick=${() => setIsNew(false)}>Cancel</button><button class="button primary">Add</button></div></form></${Dialog}>`}
  </section>`;
}

/** @param {{ workspace: string }} props */
function Naming({ workspace }) {
  const name = workspaceOf(workspace)?.name ?? "";
  const [isDeleting, setIsDeleting] = useState(false);
  const [typed, setTyped] = useState("");
  /** @param {SubmitEvent} event */
  const rename = async (event) => {
    event.preventDefault();
    try {
      await api.patch(`/workspaces/${workspace}`, { name: String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get("name")).trim() });
      await loadWorkspaces();
      toast("Renamed.");
    } catch (failure) {
      toastProblem(failure);
    }
  };
  const remove = async () => {
    try {
      await api.delete(`/workspaces/${workspace}`);
      go("#/workspaces", { replace: true });
      await loadWorkspaces();
      toast("The workspace is deleted.");
    } catch (failure) {
      toastProblem(failure);
    }
  };
  return html`<section class="panel" aria-labelledby="naming-title"><div class="panel-head"><h2 id="naming-title">This workspace</h2></div>
    <form class="setting" onSubmit=${rename}><label class="grow min"><span class="sr-only">Name of the workspace</span><input name="name" required maxlength="200" defaultValue=${name} /></label><button class="button">Rename</button></form>
    <div class="setting"><div class="grow min"><strong>Delete it</strong><p class="muted">It goes away for everyone. Its files stay in the data folder, for the operator of the server.</p></div><button class="button danger" onClick=${() => setIsDeleting(true)}>Delete…</button></div>
    ${isDeleting && html`<${Dialog} title="Delete this workspace?" onClose=${() => setIsDeleting(false)}><label class="field"><span>Type its name to go on: ${visibleLine(name)}</span><input autofocus value=${typed} onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} /></label><div class="actions"><button class="button" onClick=${() => setIsDeleting(false)}>Cancel</button><button class="button danger" disabled=${typed !== name} onClick=${remove}>Delete it</button></div></${Dialog}>`}
  </section>`;
}
