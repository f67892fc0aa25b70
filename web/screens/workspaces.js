// All workspaces of the person, and a new one.

import { html, useEffect, useState } from "../vendor.js";
import { all, api } from "../api.js";
import { address, go } from "../router.js";
import { inbox, loadWorkspaces, me, workspaces } from "../state.js";
import { Copyable } from "../parts/copy.js";
import { followed } from "../stream.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { Empty, Loading } from "../parts/states.js";
import { messageOf, readable, visibleLine } from "../parts/text.js";
import { Time } from "../parts/time.js";
import { hue } from "./shell.js";

const ROLES = /** @type {Record<string, string>} */ ({ owner: "Owner", member: "Member", viewer: "Viewer" });

export function Workspaces() {
  const [isNew, setIsNew] = useState(false);
  const list = workspaces.value;
  const isLocal = me.value?.is_local === true;
  return html`<div class="column">
    <div class="page-head"><h1>Workspaces</h1><div class="grow"></div>${!isLocal && html`<button class="button primary" onClick=${() => setIsNew(true)}><${Icon} name="plus" />New workspace</button>`}</div>
    ${followed.value !== null && html`<div class="banner warn slim" role="status"><${Icon} name="alert" /><span>You are in more workspaces than can be followed:
      only the newest ${readable(followed.value)} show at once what happens in them. Reload the page to see what happened in the others.</span></div>`}
    ${list === null ? html`<${Loading} />` : list.length === 0
      ? html`<${Empty} icon="workspaces" title="No workspace yet"><p>A workspace is a folder in which agents work and nothing is lost. ${isLocal ? html`Run <code>toolyard mcp</code> or <code>toolyard call</code> in a folder, and it appears here.` : "Make one, give an agent a key to it, and watch."}</p></${Empty}>`
      : html`<ul class="cards">${list.map((workspace) => {
          const waits = inbox.value?.filter((entry) => entry.workspace_id === workspace.id).length ?? 0;
          return html`<li key=${workspace.id}><a class="card-link" href=${address("w", workspace.id, "timeline")}>
            <span class="workspace-dot large" style=${{ "--hue": hue(workspace.id) }} aria-hidden="true"></span>
            <span class="grow min"><strong class="ellipsis">${visibleLine(workspace.name)}</strong><small class="muted">${ROLES[workspace.role] ?? workspace.role} · made <${Time} at=${workspace.created_at} /></small></span>
            ${waits > 0 && html`<span class="badge">${waits} waiting</span>`}<${Icon} name="right" /></a></li>`;
        })}</ul>`}
    ${isLocal && html`<${MissingFolders} />`}
    ${isNew && html`<${NewWorkspace} onClose=${() => setIsNew(false)} />`}
  </div>`;
}

/** Folders of this machine that were moved or removed. Their history is kept. */
function MissingFolders() {
  const [folders, setFolders] = useState(/** @type {{ workspace_id: string, folder: string, changed_at: string }[]} */ ([]));
  useEffect(() => void all("/missing-folders", "folders").then(setFolders, () => {}), [workspaces.value]);
  if (folders.length === 0) return null;
  return html`<section aria-labelledby="missing-folders"><h2 id="missing-folders">Moved or removed</h2>
    <p class="muted">These folders are not where they were. Their history is kept: run <code>toolyard adopt --from</code> with the old path in the folder where it is now, and the history goes on there.</p>
    <ul class="cards">${folders.map((one) => html`<li key=${one.workspace_id} class="missing-folder">
      <div class="row-line"><strong class="path ellipsis grow" title=${visibleLine(one.folder)}>${visibleLine(one.folder)}</strong><small class="muted">last changed <${Time} at=${one.changed_at} /></small></div>
      <${Copyable} text=${adoptCommand(one.folder)} label="The command" /></li>`)}</ul></section>`;
}

/** The command that takes the history of a folder along. @param {string} folder */
const adoptCommand = (folder) => `toolyard adopt --from '${folder.replaceAll("'", "'\\''")}'`;

/** @param {{ onClose: () => void }} props */
function NewWorkspace({ onClose }) {
  const [problem, setProblem] = useState("");
  /** @param {SubmitEvent} event */
  const submit = async (event) => {
    event.preventDefault();
    const name = String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get("name") ?? "").trim();
    try {
      const { workspace } = await api.post("/workspaces", { name });
      await loadWorkspaces();
      onClose();
      go(address("w", workspace.id, "settings"));
    } catch (failure) {
      setProblem(messageOf(failure));
    }
  };
  return html`<${Dialog} title="New workspace" onClose=${onClose}><form onSubmit=${submit}>
    <label class="field"><span>Name</span><input name="name" required maxlength="200" autofocus placeholder="Website" /></label>
    ${problem && html`<p class="form-problem" role="alert">${problem}</p>`}
    <div class="actions"><button type="button" class="button" onClick=${onClose}>Cancel</button><button class="button primary">Make it</button></div>
  </form></${Dialog}>`;
}
