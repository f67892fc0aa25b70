// The files of a workspace: the tree, and the chosen file beside it. Adding, renaming and removing are steps.

import { html, signal, useEffect, useMemo, useRef, useState } from "../vendor.js";
import { all, api, callTool, request } from "../api.js";
import { address, go, keepQuery, parts, query, withQuery } from "../router.js";
import { mayChange } from "../state.js";
import { onHappening } from "../stream.js";
import { Icon } from "../parts/icons.js";
import { treeKeys, useKeys } from "../parts/keys.js";
import { Split } from "../parts/split.js";
import { Empty, Loading, Problem } from "../parts/states.js";
import { count, visible, visibleLine } from "../parts/text.js";
import { toast, toastProblem } from "../parts/toast.js";
import { VirtualList } from "../parts/virtual.js";
import { FileDetail, PastFile } from "./file.js";
import { Moment } from "./moment.js";

/** @typedef {{ id: string | null, name: string, path: string, file_type: string, is_virtual?: boolean, size?: number, updated_at?: string, hash?: string | null }} Entry */
/** @typedef {{ entry: Entry, depth: number, isOpen: boolean, isFolder: boolean }} Item */

const ROW = 32;
/** The height of a row with a line that was found. */
const FOUND = 52;

/** The line of a file that was found, and is shown when the file is. */
export const foundLine = signal(/** @type {{ path: string, line: number } | null} */ (null));

/** The entries of a folder, from all pages. @param {string} workspace @param {string} path @returns {Promise<Entry[]>} */
export async function listFolder(workspace, path) {
  /** @type {Entry[]} */
  const entries = [];
  let cursor;
  do {
    const page = await callTool(workspace, "ls", { path, limit: 0, ...(cursor !== undefined ? { cursor } : {}) });
    entries.push(...page.entries);
    cursor = page.truncated ? page.next : undefined;
  } while (cursor !== undefined && cursor !== null);
  // Transcripts of chats are shown as chats.
  return entries.filter((entry) => !entry.is_virtual);
}

/** The entries of a folder as they were after a step. @param {string} workspace @param {string} step @param {string} path @returns {Promise<Entry[]>} */
async function listFolderAt(workspace, step, path) {
  const entries = await all(`/workspaces/${workspace}/steps/${step}/tree?path=${encodeURIComponent(path)}`, "entries", 100_000, 1_000);
  return entries.map((entry) => ({ id: entry.file_id, name: entry.name, path: entry.path, file_type: entry.kind === "folder" ? "folder" : entry.kind, size: entry.size ?? undefined, hash: entry.hash }));
}

/** @param {{ workspace: string }} props */
export function Files({ workspace }) {
  const [folders, setFolders] = useState(/** @type {Record<string, Entry[]>} */ ({}));
  const [open, setOpen] = useState(/** @type {Set<string>} */ (new Set(["/"])));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const [words, setWords] = useState("");
  const [found, setFound] = useState(/** @type {Entry[] | null} */ (null));
  const [searchesText, setSearchesText] = useState(false);
  const [lines, setLines] = useState(/** @type {{ path: string, line_number: number, line_text: string }[] | null} */ (null));
  const [isOver, setIsOver] = useState(false);
  const picker = useRef(/** @type {HTMLInputElement | null} */ (null));
  /** The folder that a dragged file would be put into. */
  const [target, setTarget] = useState("/");
  const path = parts.value.length > 3 ? "/" + parts.value.slice(3).join("/") : "";
  /** The step after which the files are shown, or "" for now. */
  const at = query.value.get("at") ?? "";
  const atNow = useRef(at);
  atNow.current = at;

  const readFolder = async (/** @type {string} */ folder) => {
    try {
      const entries = await (at ? listFolderAt(workspace, at, folder) : listFolder(workspace, folder));
      // Another moment was chosen meanwhile.
      if (at !== atNow.current) return;
      setFolders((old) => ({ ...old, [folder]: entries }));
      setProblem(null);
      return entries;
    } catch (failure) {
      if (at !== atNow.current) return;
      if (folder === "/") setProblem(failure);
      // A folder that was not there yet stays open for other moments.
      else if (at) setFolders((old) => ({ ...old, [folder]: [] }));
      else setOpen((old) => new Set([...old].filter((other) => other !== folder)));
    }
  };
  /** Reads a folder, and those in it that are open: at another moment some of them were not there. @param {string} folder */
  const readBelow = async (folder) => {
    const entries = (await readFolder(folder)) ?? [];
    for (const entry of entries) if (entry.file_type === "folder" && open.has(entry.path)) await readBelow(entry.path);
  };
  const readOpen = () => (at ? readBelow("/") : Promise.all([...open].map(readFolder)));
  const readOpenNow = useRef(readOpen);
  readOpenNow.current = readOpen;
  useEffect(() => {
    void readOpen();
    let timer = 0;
    const stop = onHappening(({ workspace: where, kind }) => {
      if (kind !== "reset" && (where !== workspace || (kind !== "step" && kind !== "files.changed"))) return;
      clearTimeout(timer);
      timer = setTimeout(() => void readOpenNow.current(), 300);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [workspace, at]);
  // The folders around the chosen file are open.
  useEffect(() => {
    const around = path.split("/").slice(1, -1).map((_, i, names) => "/" + names.slice(0, i + 1).join("/"));
    const missing = around.filter((folder) => !open.has(folder));
    if (missing.length === 0) return;
    setOpen(new Set([...open, ...missing]));
    missing.forEach((folder) => void readFolder(folder));
  }, [path]);
  // Names and texts are searched by the server, in the whole workspace.
  useEffect(() => {
    setLines(null);
    if (words.trim() === "" || searchesText) setFound(null);
    if (words.trim() === "") return;
    // What an older search finds later than a newer one is not shown.
    let isOver = false;
    const search = async (/** @type {string} */ tool, /** @type {string} */ pattern, /** @type {(matches: any[]) => void} */ show) => {
      try {
        const { matches } = await callTool(workspace, tool, { pattern, limit: 500 });
        if (!isOver) show(matches);
      } catch (failure) {
        if (isOver) return;
        show([]);
        toastProblem(failure);
      }
    };
    const timer = setTimeout(() => {
      if (searchesText) void search("grep", words.trim().replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), setLines);
      else void search("glob", `**/*${words.trim().replace(/[[\]{}?*\\]/g, "?")}*`, (matches) => setFound(matches.filter((entry) => !entry.is_virtual)));
    }, 200);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [words, searchesText]);

  const items = useMemo(() => (found ? found.map((entry) => ({ entry, depth: 0, isOpen: false, isFolder: entry.file_type === "folder" })) : treeItems(folders, open)), [folders, open, found]);
  const toggle = (/** @type {string} */ folder) => {
    const next = new Set(open);
    if (!next.delete(folder)) {
      next.add(folder);
      void readFolder(folder);
    }
    setOpen(next);
  };
  const place = items.findIndex((item) => item.entry.path === path);
  const move = (/** @type {number} */ by) => {
    for (let i = place + by; i >= 0 && i < items.length; i += by) {
      const item = items[i];
      if (item && !item.isFolder) return go(keepQuery(fileAddress(workspace, item.entry.path)), { replace: path !== "" });
    }
  };
  /** @param {string | null} step */
  const showAt = (step) => go(withQuery(fileAddress(workspace, path), { at: step ?? "" }), { replace: at !== "" });
  const showPast = async () => {
    try {
      const { steps } = await api.get(`/workspaces/${workspace}/steps?limit=2`);
      const before = steps[1] ?? steps[0];
      if (before) showAt(before.id);
      else toast("Nothing has happened here yet: there is no earlier time to show.");
    } catch (failure) {
      toastProblem(failure);
    }
  };
  useKeys({ j: () => move(1), k: () => move(-1), Escape: () => go(keepQuery(address("w", workspace, "files"))), t: () => !at && void showPast() });

  /** @param {FileList | null | undefined} list */
  const upload = async (list) => {
    setIsOver(false);
    for (const file of list ?? []) await uploadOne(workspace, `${target === "/" ? "" : target}/${file.name}`, file);
    void readFolder(target);
    setTarget("/");
  };
  const row = (/** @type {number} */ i) => html`<${Row} workspace=${workspace} item=${items[i]} isChosen=${i === place} isPast=${at !== ""} isTarget=${isOver && target === items[i]?.entry.path} showsPath=${found !== null} onToggle=${toggle} />`;
  const may = mayChange(workspace) && !at;
  /** @param {DragEvent} event */
  const dragOver = (event) => {
    if (!may || !event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    setIsOver(true);
    setTarget(decodeURIComponent(/** @type {HTMLElement} */ (event.target).closest("[data-folder]")?.getAttribute("data-folder") ?? "/"));
  };
  const list = html`<div class="drop ${isOver ? "over" : ""}" onDragOver=${dragOver}
      onDragLeave=${() => setIsOver(false)} onDrop=${(/** @type {DragEvent} */ event) => { event.preventDefault(); if (may) void upload(event.dataTransfer?.files); }}>
    ${at ? html`<div class="list-tools"><p class="muted small">As they were at this moment. What was removed since can be seen and downloaded here.</p></div>` : html`<div class="list-tools"><div class="row-line"><label class="search grow"><${Icon} name="search" /><input type="search" placeholder="Find in the files" aria-label="Find a file by its name or its text" value=${words} onInput=${(/** @type {any} */ event) => setWords(event.target.value)}
        onKeyDown=${(/** @type {any} */ event) => event.key === "Escape" && (setWords(""), event.target.blur())} /></label>
      ${may && html`<button class="icon-button" aria-label="Upload files" title="Upload files, or drop them here" onClick=${() => picker.current?.click()}><${Icon} name="upload" /></button><input ref=${picker} type="file" multiple hidden aria-label="Files to upload" onChange=${(/** @type {any} */ event) => void upload(event.target.files)} />`}
      <button class="icon-button" aria-label="The files at an earlier time" title="The files at an earlier time (t)" onClick=${() => void showPast()}><${Icon} name="timeline" /></button>
      <a class="icon-button" href=${address("w", workspace, "trash")} aria-label="Trash" title="Trash"><${Icon} name="trash" /></a></div>
      ${words.trim() !== "" && html`<div class="segmented wide" role="group" aria-label="Where to search"><button aria-pressed=${!searchesText} onClick=${() => setSearchesText(false)}>Names</button><button aria-pressed=${searchesText} onClick=${() => setSearchesText(true)}>Texts</button></div>`}
      ${isOver && html`<p class="small drop-note"><${Icon} name="upload" />Into <span class="path">${visibleLine(target)}</span></p>`}</div>`}
    ${problem ? html`<${Problem} problem=${problem} onRetry=${() => void readFolder("/")} />`
      : !folders["/"] ? html`<${Loading} lines=${9} label="Loading the files" />`
      : lines ? (lines.length === 0 ? html`<${Empty} icon="search" title="No text has this" />` : html`<div class="tree"><${VirtualList} role="list" label="Lines that were found" count=${lines.length} height=${FOUND} version=${lines} row=${(/** @type {number} */ i) => html`<${FoundRow} workspace=${workspace} found=${lines[i]} />`} /></div>`)
      : items.length === 0 ? html`<${Empty} icon="files" title=${found ? "No file has this name" : at ? "No files at this moment" : "No files yet"}>${!found && !at && html`<p>What agents and people make appears here. You can drop files here, too.</p>`}</${Empty}>`
      : html`<div class="tree" onKeyDown=${treeKeys}><${VirtualList} role="list" label="Files" count=${items.length} height=${ROW} version=${items} keyOf=${(/** @type {number} */ i) => items[i]?.entry.path ?? i} scrollTo=${place} row=${row} /></div>`}
  </div>`;
  const detail = path && at ? html`<${PastFile} key=${path} workspace=${workspace} path=${path} at=${at} entry=${items.find((item) => item.entry.path === path)?.entry ?? null} />`
    : path ? html`<${FileDetail} key=${path} workspace=${workspace} path=${path} />`
    : folders["/"]?.length ? html`<${Empty} icon="file" title="Choose a file"><p>You see its text, and every version that it ever had.</p></${Empty}>` : null;
  const split = html`<${Split} label="Files" list=${list} detail=${detail} hasDetail=${path !== ""} back=${keepQuery(address("w", workspace, "files"))} backLabel="Files" />`;
  return at ? html`<div class="with-moment"><${Moment} key=${workspace} workspace=${workspace} at=${at} onAt=${showAt} />${split}</div>` : split;
}

/** The address of a file. @param {string} workspace @param {string} path */
export const fileAddress = (workspace, path) => address("w", workspace, "files", ...path.split("/"));

/**
 * The rows of the tree: the entries of each open folder below it.
 * @param {Record<string, Entry[]>} folders
 * @param {Set<string>} open
 */
function treeItems(folders, open) {
  /** @type {Item[]} */
  const items = [];
  const add = (/** @type {string} */ folder, /** @type {number} */ depth) => {
    for (const entry of folders[folder] ?? []) {
      const isFolder = entry.file_type === "folder";
      const isOpen = isFolder && open.has(entry.path);
      items.push({ entry, depth, isOpen, isFolder });
      if (isOpen) add(entry.path, depth + 1);
    }
  };
  add("/", 0);
  return items;
}

/** @param {{ workspace: string, item: Item, isChosen: boolean, isPast: boolean, isTarget: boolean, showsPath: boolean, onToggle: (path: string) => void }} props `isTarget`: a dragged file would be put into this folder */
function Row({ workspace, item, isChosen, isPast, isTarget, showsPath, onToggle }) {
  const { entry, depth, isOpen, isFolder } = item;
  const style = { paddingLeft: `${14 + Math.min(depth, 12) * 16}px` };
  const name = visibleLine(showsPath ? entry.path : entry.name);
  if (isFolder && !showsPath) return html`<div class="tree-folder ${isTarget ? "target" : ""} ${isChosen ? "chosen" : ""}" data-folder=${encodeURIComponent(entry.path)}><button class="tree-row" style=${style} aria-expanded=${isOpen} onClick=${() => onToggle(entry.path)}><${Icon} name=${isOpen ? "down" : "right"} class="tiny" /><${Icon} name="files" /><span class="ellipsis">${name}</span></button>
    ${!isPast && html`<a class="icon-button small" href=${fileAddress(workspace, entry.path)} aria-current=${isChosen ? "true" : undefined} aria-label=${`The folder ${visibleLine(entry.path)}`} title="Rename it, remove it, or see what changed in it"><${Icon} name="more" /></a>`}</div>`;
  return html`<a class="tree-row" style=${style} href=${keepQuery(fileAddress(workspace, entry.path))} aria-current=${isChosen ? "true" : undefined} title=${visibleLine(entry.path)}><span class="icon tiny"></span><${Icon} name=${isFolder ? "files" : "file"} /><span class="ellipsis">${name}</span></a>`;
}

/** @param {{ workspace: string, found: { path: string, line_number: number, line_text: string } }} props */
function FoundRow({ workspace, found }) {
  return html`<a class="found-row" href=${fileAddress(workspace, found.path)} onClick=${() => (foundLine.value = { path: found.path, line: found.line_number })}>
    <span class="small muted ellipsis">${visibleLine(found.path)}:${found.line_number}</span><span class="mono ellipsis">${visible(found.line_text.trim().slice(0, 300))}</span></a>`;
}

/**
 * Uploads a file as a new one, or as a new version of the one that is there.
 * @param {string} workspace
 * @param {string} path
 * @param {Blob} file
 */
export async function uploadOne(workspace, path, file) {
  const options = { headers: { "content-type": "application/octet-stream" }, body: file };
  try {
    let answer = await request(`/api/v1/workspaces/${workspace}/files?path=${encodeURIComponent(path)}`, { ...options, method: "POST" });
    if (answer.status === 409) {
      const { id } = await callTool(workspace, "file_info", { path });
      answer = await request(`/api/v1/workspaces/${workspace}/files/${id}/content`, { ...options, method: "PUT" });
      if (answer.ok) return toast(`${visibleLine(path)} has a new version.`);
    }
    if (!answer.ok) throw new Error((await answer.json()).error);
    toast(`Uploaded ${visibleLine(path)}.`);
  } catch (failure) {
    toastProblem(failure);
  }
}

/** What was removed, and bringing it back. @param {{ workspace: string }} props */
export function Trash({ workspace }) {
  const [files, setFiles] = useState(/** @type {any[] | null} */ (null));
  const [next, setNext] = useState(/** @type {string | null} */ (null));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const read = async (/** @type {string} */ cursor = "") => {
    try {
      const page = await api.get(`/workspaces/${workspace}/files/trash?limit=200${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
      setFiles((old) => (cursor ? [...(old ?? []), ...page.files] : page.files));
      setNext(page.next);
      setProblem(null);
    } catch (failure) {
      setProblem(failure);
      if (cursor) setNext(cursor);
    }
  };
  const readOlder = () => {
    if (!next) return;
    // The list asks again before the answer is there.
    setNext(null);
    void read(next);
  };
  useEffect(() => {
    void read();
    return onHappening(({ workspace: where, kind }) => {
      if (kind === "reset" || (where === workspace && kind === "step")) void read();
    });
  }, [workspace]);
  const restore = async (/** @type {any} */ file) => {
    try {
      const answer = await api.post(`/workspaces/${workspace}/files/${file.id}/restore`);
      toast(`${visibleLine(answer.path)} is back.`, { action: { label: "See the step", run: () => go(address("w", workspace, "timeline", answer.step_id)) } });
      void read();
    } catch (failure) {
      toastProblem(failure);
    }
  };
  const row = (/** @type {number} */ i) => {
    const file = files?.[i];
    return html`<div class="trash-row"><${Icon} name=${file.kind === "folder" ? "files" : "file"} /><span class="path ellipsis grow" title=${visibleLine(file.path)}>${visibleLine(file.path)}</span>
      ${file.step_id ? html`<a class="icon-button" href=${address("w", workspace, "timeline", file.step_id)} aria-label=${`The step that removed ${visibleLine(file.path)}`} title="The step that removed it"><${Icon} name="timeline" /></a>`
        : html`<span class="muted small" title="No step removed it: it was gone when the workspace was opened">removed outside</span>`}
      ${mayChange(workspace) && html`<button class="button" onClick=${() => void restore(file)}><${Icon} name="undo" />Restore</button>`}</div>`;
  };
  return html`<div class="column"><a class="back always" href=${address("w", workspace, "files")}><${Icon} name="left" />Files</a>
    <div class="page-head"><h1>Trash</h1>${files && files.length > 0 && html`<span class="muted">${count(files.length, "entry", "entries")}${next ? " and more" : ""}</span>`}</div>
    ${problem && !files ? html`<${Problem} problem=${problem} onRetry=${() => void read()} />` : files === null ? html`<${Loading} />`
      : files.length === 0 ? html`<${Empty} icon="trash" title="The trash is empty"><p>What agents and people remove comes here, and can be brought back.</p></${Empty}>`
      : html`<div class="panel"><${VirtualList} role="list" label="Removed files" count=${files.length} height=${52} version=${files} keyOf=${(/** @type {number} */ i) => files[i].id} onEnd=${readOlder} row=${row} /></div>`}</div>`;
}
