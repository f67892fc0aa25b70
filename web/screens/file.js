// One file: its text, and its history with each version's diff.

import { html, useEffect, useMemo, useRef, useState } from "../vendor.js";
import { all, api, ApiError, callTool, request } from "../api.js";
import { address, go, withQuery } from "../router.js";
import { mayChange } from "../state.js";
import { onHappening } from "../stream.js";
import { Actor } from "../parts/actor.js";
import { parseDiff } from "../parts/diff.js";
import { DiffView } from "../parts/diff-view.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icons.js";
import { useKeys } from "../parts/keys.js";
import { useReview } from "../parts/review.js";
import { Empty, isUnreachable, Loading, Problem } from "../parts/states.js";
import { baseName, folderOf, messageOf, sizeInWords, visibleLine } from "../parts/text.js";
import { TextView } from "../parts/text-view.js";
import { Time } from "../parts/time.js";
import { toast, toastProblem } from "../parts/toast.js";
import { VirtualList } from "../parts/virtual.js";
import { stepWords } from "../parts/words.js";
import { Blame } from "./blame.js";
import { fileAddress, foundLine, listFolder, uploadOne } from "./files.js";

/** The largest file whose text is shown, in bytes. */
const LARGEST = 4 << 20;

/** @param {{ workspace: string, path: string }} props */
export function FileDetail({ workspace, path }) {
  const [info, setInfo] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const [shows, setShows] = useState("text");
  const [asks, setAsks] = useState("");
  const read = async () => {
    try {
      setInfo(await callTool(workspace, "file_info", { path }));
      setProblem(null);
    } catch (failure) {
      setProblem(failure);
    }
  };
  useEffect(() => {
    void read();
    return onHappening(({ workspace: where, kind }) => {
      if (kind === "reset" || (where === workspace && (kind === "step" || kind === "files.changed"))) void read();
    });
  }, [workspace, path]);
  const may = mayChange(workspace) && info !== null;
  useKeys({ w: () => info?.id && setShows(shows === "blame" ? "text" : "blame"), h: () => info?.id && setShows(shows === "history" ? "text" : "history"), r: () => may && setAsks("move"), Delete: () => may && setAsks("remove") });
  if (problem instanceof ApiError && problem.code === "PENDING") return html`<${Problem} problem=${problem} onRetry=${read} />`;
  if (isUnreachable(problem) && !info) return html`<${Problem} problem=${problem} onRetry=${read} />`;
  if (problem && !isUnreachable(problem)) return html`<${NoFile} workspace=${workspace} path=${path} />`;
  if (!info) return html`<div class="pad"><${Loading} lines=${9} label="Loading the file" /></div>`;
  const isFolder = info.file_type === "folder";
  const size = info.size !== undefined && !isFolder ? sizeInWords(info.size) : "";
  const history = withQuery(address("w", workspace, "timeline"), { path });
  const body = isFolder ? html`<p class="folder-actions"><a class="button" href=${history}><${Icon} name="timeline" />What changed in it</a>
        ${may && html`<${UploadInto} workspace=${workspace} folder=${path} />`}</p>
      <${Folder} key=${path} workspace=${workspace} path=${path} />`
    : shows === "history" ? html`<${History} workspace=${workspace} id=${info.id} hash=${info.hash ?? ""} />`
    : html`<${FileText} workspace=${workspace} id=${info.id ?? null} hash=${info.hash ?? ""} size=${info.size ?? 0} path=${path} isBlamed=${shows === "blame"} />`;
  return html`<article class="file" aria-label="File">
    <div class="request-head file-head"><${PathTitle} path=${path} />
      <div class="file-tools">
        ${!isFolder && info.id && html`<${Views} views=${["text", "blame", "history"]} shown=${shows} onShow=${setShows} />`}
        <span class="muted small file-size">${size}${info.updated_at && html`${size && " · "}<${Time} at=${info.updated_at} />`}</span>
        <div class="file-actions">
          ${!isFolder && info.id && html`<${Download} href=${`/api/v1/workspaces/${workspace}/files/${info.id}/content`} path=${path} />`}
          ${may && html`<button class="button" aria-label="Rename" title="Rename or move it (r)" onClick=${() => setAsks("move")}>
              <${Icon} name="edit" /><span class="hide-narrow">Rename</span></button>
            <button class="button danger" aria-label="Remove" title="Remove it (Del)" onClick=${() => setAsks("remove")}>
              <${Icon} name="trash" /><span class="hide-narrow">Remove</span></button>`}
        </div>
      </div></div>
    ${body}
    ${asks === "move" && html`<${Move} workspace=${workspace} path=${path} onClose=${() => setAsks("")} />`}
    ${asks === "remove" && html`<${Remove} workspace=${workspace} path=${path} isFolder=${isFolder} onClose=${() => setAsks("")} />`}
  </article>`;
}

/** @param {{ workspace: string, path: string }} props */
function NoFile({ workspace, path }) {
  const trash = html`<a href=${address("w", workspace, "trash")}>trash</a>`;
  const timeline = html`<a href=${address("w", workspace, "timeline")}>timeline</a>`;
  return html`<${Empty} icon="file" title="No file is here">
    <p><span class="path">${visibleLine(path)}</span> was removed or moved.
      It may be in the ${trash}, and the ${timeline} says what happened.</p></${Empty}>`;
}

/** The path as a title, with the name in it stressed. @param {{ path: string }} props */
function PathTitle({ path }) {
  return html`<h2 class="request-title"><span class="path"><span class="muted">${visibleLine(folderOf(path))}</span>${visibleLine(baseName(path))}</span></h2>`;
}

/** @param {{ href: string, path: string }} props */
function Download({ href, path }) {
  return html`<a class="button" href=${href} download=${baseName(path)} aria-label="Download" title="Download it">
    <${Icon} name="download" /><span class="hide-narrow">Download</span></a>`;
}

/** Uploads files into a folder: what dropping them on it does, by keyboard. @param {{ workspace: string, folder: string }} props */
function UploadInto({ workspace, folder }) {
  const picker = useRef(/** @type {HTMLInputElement | null} */ (null));
  const upload = async (/** @type {any} */ event) => {
    for (const file of event.target.files) await uploadOne(workspace, `${folder}/${file.name}`, file);
    event.target.value = "";
  };
  return html`<button class="button" onClick=${() => picker.current?.click()}><${Icon} name="upload" />Upload into it</button>
    <input ref=${picker} type="file" multiple hidden aria-label="Files to upload into this folder" onChange=${upload} />`;
}

/** @type {Record<string, { label: string, icon: string, hint: string }>} */
const VIEWS = {
  text: { label: "Text", icon: "file", hint: "" },
  blame: { label: "Who wrote it", icon: "people", hint: "For each line the step and the actor that it comes from (w)" },
  history: { label: "History", icon: "timeline", hint: "Every version that the file had (h)" },
};

/** @param {{ views: string[], shown: string, onShow: (view: string) => void }} props */
function Views({ views, shown, onShow }) {
  const button = (/** @type {string} */ view) => html`
    <button key=${view} aria-pressed=${shown === view} title=${VIEWS[view]?.hint} onClick=${() => onShow(view)}>
      <${Icon} name=${VIEWS[view]?.icon ?? ""} />${VIEWS[view]?.label}</button>`;
  return html`<div class="segmented" role="group" aria-label="What is shown">${views.map(button)}</div>`;
}

/** What is in a folder. @param {{ workspace: string, path: string }} props */
function Folder({ workspace, path }) {
  const [entries, setEntries] = useState(/** @type {import("./files.js").Entry[] | null} */ (null));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const read = () => void listFolder(workspace, path).then((found) => (setEntries(found), setProblem(null)), setProblem);
  useEffect(() => {
    read();
    return onHappening(({ workspace: where, kind }) => {
      if (kind === "reset" || (where === workspace && (kind === "step" || kind === "files.changed"))) read();
    });
  }, [workspace, path]);
  if (problem && !entries) return html`<${Problem} problem=${problem} onRetry=${read} />`;
  if (!entries) return html`<div class="pad"><${Loading} lines=${5} label="Loading the folder" /></div>`;
  if (entries.length === 0) return html`<${Empty} icon="files" title="This folder is empty" />`;
  const row = (/** @type {number} */ i) => {
    const entry = /** @type {import("./files.js").Entry} */ (entries[i]);
    const isFolder = entry.file_type === "folder";
    return html`<a class="folder-row" href=${fileAddress(workspace, entry.path)}><${Icon} name=${isFolder ? "files" : "file"} /><span class="ellipsis grow">${visibleLine(entry.name)}</span>
      <span class="muted small">${!isFolder && entry.size !== undefined ? sizeInWords(entry.size) : ""}</span>${entry.updated_at && html`<${Time} class="muted small" at=${entry.updated_at} />`}</a>`;
  };
  return html`<${VirtualList} role="list" label="In this folder" count=${entries.length} height=${40} version=${entries} keyOf=${(/** @type {number} */ i) => entries[i]?.path ?? i} row=${row} />`;
}

/**
 * A file as it was after a step.
 * @param {{ workspace: string, path: string, at: string, entry: { id: string | null, hash?: string | null, size?: number, file_type: string } | null }} props `entry` is what the tree at the step says of it
 */
export function PastFile({ workspace, path, at, entry }) {
  const [shows, setShows] = useState("text");
  const [read, setRead] = useState(/** @type {{ text: string, isText: boolean, size: number } | null} */ (null));
  const [version, setVersion] = useState(/** @type {string | null} */ (null));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const source = `/api/v1/workspaces/${workspace}/steps/${at}/content?path=${encodeURIComponent(path)}`;
  const load = () => {
    const abort = new AbortController();
    request(source, { signal: abort.signal }).then(async (answer) => {
      if (answer.status === 404) throw new ApiError(404, "NOT_FOUND", "");
      if (!answer.ok) throw new Error("The file cannot be read.");
      const bytes = new Uint8Array(await answer.arrayBuffer());
      setRead({ isText: !bytes.subarray(0, 8_000).includes(0) && bytes.length <= LARGEST, text: bytes.length <= LARGEST ? new TextDecoder().decode(bytes) : "", size: bytes.length });
      setProblem(null);
    }).catch((failure) => abort.signal.aborted || (setProblem(failure), setRead(null)));
    return () => abort.abort();
  };
  useEffect(load, [workspace, path, at]);
  /** The version that the file had then. */
  const findVersion = async () => {
    const versions = await all(`/workspaces/${workspace}/files/${entry?.id}/versions`, "versions");
    const found = versions.find((one) => one.hash === entry?.hash && one.step_id <= at) ?? versions.find((one) => one.hash === entry?.hash);
    if (!found) throw new Error("This version is not in the file's history.");
    return found.id;
  };
  // Where the lines come from is known by version.
  useEffect(() => {
    setVersion(null);
    if (shows === "blame" && entry?.id) findVersion().then(setVersion, setProblem);
  }, [shows, entry?.id, entry?.hash, at]);
  const bringBack = async () => {
    try {
      const answer = await api.post(`/workspaces/${workspace}/files/${entry?.id}/revert`, { version_id: await findVersion() });
      toast("This version is the newest one again.", { action: { label: "See the step", run: () => go(address("w", workspace, "timeline", answer.step_id)) } });
      go(fileAddress(workspace, path));
    } catch (failure) {
      toastProblem(failure);
    }
  };
  useKeys({ w: () => entry?.id && setShows(shows === "blame" ? "text" : "blame") });
  const now = html`<a class="button" href=${fileAddress(workspace, path)}><${Icon} name="file" />As it is now</a>`;
  if (problem instanceof ApiError && problem.status === 404) return html`<${Empty} icon="timeline" title="It was not there at this moment"><p><span class="path">${visibleLine(path)}</span> was made later, was removed before, or had another name.</p><p>${now}</p></${Empty}>`;
  if (problem) return html`<${Problem} problem=${problem} onRetry=${load} />`;
  return html`<article class="file" aria-label="File">
    <div class="request-head file-head"><${PathTitle} path=${path} />
      <div class="file-tools">
        ${entry?.id && html`<${Views} views=${["text", "blame"]} shown=${shows} onShow=${setShows} />`}
        <span class="muted small file-size">${read ? sizeInWords(read.size) : ""}</span>
        <div class="file-actions"><${Download} href=${source} path=${path} />
          ${entry?.id && mayChange(workspace) && html`<button class="button" aria-label="Make it the newest" title="Makes this version the newest, as a new step, which can be undone" onClick=${bringBack}>
            <${Icon} name="undo" /><span class="hide-narrow">Make it the newest</span></button>`}${now}</div></div></div>
    ${!read ? html`<div class="pad"><${Loading} lines=${9} label="Loading the text" /></div>`
      : !read.isText ? html`<${Empty} icon="file" title=${read.size > LARGEST ? "A large file" : "Not a text"}><p>Its ${sizeInWords(read.size)} can be downloaded.</p></${Empty}>`
      : shows === "blame" && entry?.id ? (version ? html`<${Blame} workspace=${workspace} file=${entry.id} version=${version} hash=${entry.hash ?? ""} text=${read.text} path=${path} />` : html`<div class="pad"><${Loading} lines=${9} label="Finding where the lines come from" /></div>`)
      : html`<${TextView} text=${read.text} path=${path} label="Text of the file at this moment" />`}
  </article>`;
}

/**
 * The text of a file that another program made, and that no step knows yet: it has no id.
 * @param {string} workspace
 * @param {string} path
 */
async function readUnknown(workspace, path) {
  let text = "";
  for (let cursor; cursor !== null; ) {
    const page = await callTool(workspace, "read", { path, limit: 0, ...(cursor !== undefined ? { cursor } : {}) });
    if (typeof page.content !== "string") return JSON.stringify(page.content, null, 2);
    text += page.content;
    cursor = page.cursor ?? null;
  }
  return text;
}

/** @param {{ workspace: string, id: string | null, hash: string, size: number, path: string, isBlamed: boolean }} props */
function FileText({ workspace, id, hash, size, path, isBlamed }) {
  const [text, setText] = useState(/** @type {string | null} */ (null));
  const [isText, setIsText] = useState(true);
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  useEffect(() => {
    if (size > LARGEST) return;
    const abort = new AbortController();
    const read = async () => {
      if (!id) return setText(await readUnknown(workspace, path));
      const answer = await request(`/api/v1/workspaces/${workspace}/files/${id}/content`, { signal: abort.signal });
      if (!answer.ok) throw new Error("The file cannot be read.");
      const bytes = new Uint8Array(await answer.arrayBuffer());
      setIsText(!bytes.subarray(0, 8_000).includes(0));
      setText(new TextDecoder().decode(bytes));
    };
    read().catch((failure) => abort.signal.aborted || setProblem(failure));
    return () => abort.abort();
  }, [id, hash]);
  if (size > LARGEST) return html`<${Empty} icon="file" title="A large file"><p>It has ${sizeInWords(size)}: download it to see it whole.</p></${Empty}>`;
  if (problem) return html`<${Problem} problem=${problem} />`;
  if (text === null) return html`<div class="pad"><${Loading} lines=${9} label="Loading the text" /></div>`;
  if (!isText) return html`<${Empty} icon="file" title="Not a text"><p>Its ${sizeInWords(size)} are not text: download it to open it.</p></${Empty}>`;
  if (isBlamed && id) return html`<${Blame} workspace=${workspace} file=${id} hash=${hash} text=${text} path=${path} />`;
  return html`<${TextView} text=${text} path=${path} label="Text of the file" line=${foundLine.value?.path === path ? foundLine.value.line : undefined} />`;
}

/** @param {{ workspace: string, id: string, hash: string }} props */
function History({ workspace, id, hash }) {
  const [versions, setVersions] = useState(/** @type {any[] | null} */ (null));
  const [next, setNext] = useState(/** @type {string | null} */ (null));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const [open, setOpen] = useState(/** @type {string | null} */ (null));
  const read = async (/** @type {string} */ cursor = "") => {
    try {
      const page = await api.get(`/workspaces/${workspace}/files/${id}/versions?limit=50${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
      setVersions((old) => (cursor ? [...(old ?? []), ...page.versions] : page.versions));
      setNext(page.next);
      if (!cursor) setOpen(page.versions[0]?.id ?? null);
    } catch (failure) {
      setProblem(failure);
    }
  };
  useEffect(() => void read(), [id, hash]);
  if (problem) return html`<${Problem} problem=${problem} onRetry=${() => void read()} />`;
  if (!versions) return html`<div class="pad"><${Loading} label="Loading the versions" /></div>`;
  return html`<ol class="versions">${versions.map((version, i) => html`<li key=${version.id} class="version">
      <div class="version-head"><button class="icon-button small" aria-expanded=${open === version.id} aria-label="Show what this version changed" onClick=${() => setOpen(open === version.id ? null : version.id)}><${Icon} name=${open === version.id ? "down" : "right"} /></button>
        <strong>${stepWords({ verb: version.verb, author: version.author, files: 1, path: null }).text}</strong><${Actor} workspace=${workspace} actor=${version.actor} /><${Time} class="muted" at=${version.at} /><span class="muted small">${sizeInWords(version.size ?? 0)}</span><span class="grow"></span>
        ${i === 0 ? html`<span class="chip live">now</span>` : mayChange(workspace) && html`<${Revert} workspace=${workspace} file=${id} version=${version} />`}
        <a class="button" href=${address("w", workspace, "timeline", version.step_id)}>Step</a></div>
      ${open === version.id && html`<${VersionDiff} workspace=${workspace} file=${id} version=${version.id} />`}
    </li>`)}</ol>
    ${next && html`<p class="pad"><button class="button" onClick=${() => void read(next)}>Show older versions</button></p>`}`;
}

/** @param {{ workspace: string, file: string, version: any }} props */
function Revert({ workspace, file, version }) {
  const [isBusy, setIsBusy] = useState(false);
  const revert = async () => {
    setIsBusy(true);
    try {
      const answer = await api.post(`/workspaces/${workspace}/files/${file}/revert`, { version_id: version.id });
      toast("This version is the newest one again.", { action: { label: "See the step", run: () => go(address("w", workspace, "timeline", answer.step_id)) } });
    } catch (failure) {
      toastProblem(failure);
    }
    setIsBusy(false);
  };
  return html`<button class="button" disabled=${isBusy} title="As a new step, which can be undone" onClick=${revert}><${Icon} name="undo" />Make it the newest</button>`;
}

/** @param {{ workspace: string, file: string, version: string }} props */
function VersionDiff({ workspace, file, version }) {
  const [read, setRead] = useState(/** @type {any} */ (null));
  useEffect(() => {
    api.get(`/workspaces/${workspace}/files/${file}/versions/${version}`).then((answer) => setRead(answer.version), toastProblem);
  }, [version]);
  const files = useMemo(() => (read?.diff ? parseDiff(read.diff).map((file) => ({ ...file, hash: read.hash ?? undefined })) : []), [read]);
  const { review, dialog } = useReview(workspace, { step_id: read?.step_id ?? "" });
  if (!read) return html`<${Loading} lines=${2} label="Loading the diff" />`;
  if (files.length === 0) return html`<p class="muted pad-x">${read.purged ? "Its content was removed for good." : "Its text did not change, or it is not text."}</p>`;
  return html`<${DiffView} files=${files} label="What this version changed" review=${review} />${dialog}${read.diff_truncated && html`<p class="muted pad-x">The diff is longer than what is shown here.</p>`}`;
}

/** @param {{ workspace: string, path: string, onClose: () => void }} props */
function Move({ workspace, path, onClose }) {
  const [problem, setProblem] = useState("");
  /** @param {SubmitEvent} event */
  const submit = async (event) => {
    event.preventDefault();
    const destination = String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get("to") ?? "");
    try {
      await callTool(workspace, "mv", { source: path, destination });
      onClose();
      toast("Moved. It is a step: you can undo it in the timeline.");
      go(fileAddress(workspace, destination.endsWith("/") ? destination + baseName(path) : destination), { replace: true });
    } catch (failure) {
      setProblem(messageOf(failure));
    }
  };
  return html`<${Dialog} title="Rename or move" onClose=${onClose}><form onSubmit=${submit}>
    <label class="field"><span>New path</span><input class="mono" name="to" required value=${path} autofocus /></label>
    ${problem && html`<p class="form-problem" role="alert">${problem}</p>`}
    <div class="actions"><button type="button" class="button" onClick=${onClose}>Cancel</button><button class="button primary">Move it</button></div></form></${Dialog}>`;
}

/** @param {{ workspace: string, path: string, isFolder: boolean, onClose: () => void }} props */
function Remove({ workspace, path, isFolder, onClose }) {
  const [problem, setProblem] = useState("");
  const remove = async () => {
    try {
      // A folder is removed with everything in it.
      if (isFolder) await callTool(workspace, "delete_file", { path: path.slice(1), recursive: true }, "assistant");
      else await callTool(workspace, "rm", { path });
      onClose();
      toast("Removed. It is in the trash.", { action: { label: "Trash", run: () => go(address("w", workspace, "trash")) } });
      go(address("w", workspace, "files"), { replace: true });
    } catch (failure) {
      setProblem(messageOf(failure));
    }
  };
  return html`<${Dialog} title=${isFolder ? "Remove this folder?" : "Remove this file?"} onClose=${onClose}>
    <p><span class="path">${visibleLine(path)}</span> ${isFolder ? "and everything in it " : ""}goes to the trash, from where it can be brought back.</p>
    ${problem && html`<p class="form-problem" role="alert">${problem}</p>`}
    <div class="actions"><button class="button" onClick=${onClose}>Cancel</button><button class="button danger" onClick=${remove}>Remove it</button></div></${Dialog}>`;
}
