// What is around every screen: the way to the inbox and the workspaces, the state of the connection, the shortcuts.

import { html, effect, useEffect } from "../vendor.js";
import { isReachable } from "../api.js";
import { address, go, parts } from "../router.js";
import { me, waiting, workspaceOf, workspaces } from "../state.js";
import { connection } from "../stream.js";
import { Dialog } from "../parts/dialog.js";
import { Icon, Logo } from "../parts/icons.js";
import { isHelpShown, useKeys } from "../parts/keys.js";
import { visibleLine } from "../parts/text.js";
import { ThemeSwitch } from "../parts/theme-switch.js";
import { Toasts } from "../parts/toast.js";
import { CommentBar } from "./comment-bar.js";
import { inboxPlace } from "./inbox-place.js";

/** The screens of a workspace. */
export const TABS = [
  { name: "timeline", label: "Timeline", icon: "timeline" },
  { name: "chats", label: "Chats", icon: "chats" },
  { name: "files", label: "Files", icon: "files" },
  { name: "terminals", label: "Terminals", icon: "terminals" },
  { name: "settings", label: "Settings", icon: "settings" },
];

/** @param {{ children?: any }} props */
export function Shell({ children }) {
  const [place, id, tab] = parts.value;
  const workspace = place === "w" && id ? workspaceOf(id) : null;
  const commented = workspace?.id ?? (place === "inbox" ? inboxPlace().workspace : undefined);
  useEffect(() => document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [id, tab]);
  useKeys({
    "?": () => (isHelpShown.value = true),
    i: () => go("#/inbox"),
    Enter: () => /** @type {HTMLElement | null} */ (document.querySelector(".split-detail :is(input:not(.diff *), textarea:not(.catcher), .decide button:enabled, .head-actions button, .call-head)"))?.focus(),
    "/": () => document.querySelector(/** @type {any} */ ("input[type=search]"))?.focus(),
    ...Object.fromEntries(TABS.map(({ name }, i) => [String(i + 1), () => workspace && go(address("w", workspace.id, name))])),
  });
  return html`<a class="skip" href="#content" onClick=${(/** @type {Event} */ event) => { event.preventDefault(); document.getElementById("content")?.focus(); }}>Skip to the content</a>
    <div class="app">
      <nav class="sidebar" aria-label="Places">
        <a class="brand" href="#/inbox"><${Logo} /><span>Toolyard</span></a>
        <${SideLinks} place=${place} id=${id} />
        <div class="grow"></div>
        <div class="side-state"><${Connection} /><${ThemeSwitch} /></div>
        <div class="side-foot">
          <a class="side-link" href="#/settings" aria-current=${place === "settings" ? "page" : undefined}><span class="avatar" aria-hidden="true">${initials()}</span><span class="ellipsis">${visibleLine(me.value?.full_name || me.value?.email || "You")}</span></a>
        </div>
      </nav>
      <div class="main">
        ${workspace && html`<header class="workspace-head">
          <div class="workspace-title"><h1 class="ellipsis" title=${visibleLine(workspace.name)}>${visibleLine(workspace.name)}</h1>${workspace.role === "viewer" && html`<span class="chip">You can look, not change</span>`}</div>
          <nav class="tabs" aria-label="Screens of the workspace">${TABS.map(({ name, label, icon }) => html`<a key=${name} href=${address("w", workspace.id, name)} aria-current=${tab === name || (tab === "trash" && name === "files") ? "page" : undefined}><${Icon} name=${icon} /><span>${label}</span></a>`)}</nav>
        </header>`}
        ${!isReachable.value && html`<div class="offline" role="status"><${Icon} name="alert" />The server cannot be reached. What you see may be old; the page tries again by itself.</div>`}
        <main id="content" tabindex="-1">${children}</main>
        ${commented && html`<${CommentBar} key=${commented} workspace=${commented} />`}
      </div>
      <${BottomBar} place=${place} />
    </div>
    <${Toasts} />
    ${isHelpShown.value && html`<${Help} />`}`;
}

function initials() {
  const name = me.value?.full_name || me.value?.email || "You";
  return name.split(/[\s@.]+/).slice(0, 2).map((word) => word.charAt(0).toUpperCase()).join("");
}

/** @param {{ place?: string, id?: string }} props */
function SideLinks({ place, id }) {
  return html`
    <a class="side-link" href="#/inbox" aria-current=${!place || place === "inbox" ? "page" : undefined}><${Icon} name="inbox" /><span class="grow">Inbox</span><${Badge} /></a>
    <div class="side-title"><span>Workspaces</span><a class="icon-button small" href="#/workspaces" aria-label="All workspaces" title="All workspaces"><${Icon} name=${me.value?.is_local ? "right" : "plus"} /></a></div>
    <div class="side-list">${(workspaces.value ?? []).slice(0, 50).map((workspace) => html`<a key=${workspace.id} class="side-link" href=${address("w", workspace.id, "timeline")} aria-current=${place === "w" && id === workspace.id ? "page" : undefined} title=${visibleLine(workspace.name)}>
      <span class="workspace-dot" style=${{ "--hue": hue(workspace.id) }} aria-hidden="true"></span><span class="ellipsis">${visibleLine(workspace.name)}</span></a>`)}
      ${(workspaces.value?.length ?? 0) > 50 && html`<a class="side-link muted" href="#/workspaces">All ${workspaces.value?.length}</a>`}</div>`;
}

/** A colour for a workspace, the same each time. @param {string} id */
export function hue(id) {
  let sum = 0;
  for (const character of id) sum = (sum * 31 + character.charCodeAt(0)) % 360;
  return String(sum);
}

function Badge() {
  return waiting.value > 0 ? html`<span class="badge" aria-label=${`${waiting.value} waiting`}>${waiting.value > 99 ? "99+" : waiting.value}</span>` : null;
}

const STATES = /** @type {Record<string, string>} */ ({ live: "Live", connecting: "Connecting…", offline: "Offline: trying again" });

function Connection() {
  return html`<div class="connection ${connection.value}" role="status" title="Whether changes are shown as they happen"><span class="dot" aria-hidden="true"></span>${STATES[connection.value]}</div>`;
}

/** @param {{ place?: string }} props */
function BottomBar({ place }) {
  return html`<nav class="bottom-bar" aria-label="Places">
    <a href="#/inbox" aria-current=${!place || place === "inbox" ? "page" : undefined}><span class="with-badge"><${Icon} name="inbox" /><${Badge} /></span>Inbox</a>
    <a href="#/workspaces" aria-current=${place === "workspaces" || place === "w" ? "page" : undefined}><${Icon} name="workspaces" />Workspaces</a>
    <a href="#/settings" aria-current=${place === "settings" ? "page" : undefined}><${Icon} name="person" />You</a>
  </nav>`;
}

const SHORTCUTS = [
  { title: "Everywhere", keys: [
    ["j / k", "Next and previous in a list"],
    ["Enter", "Go into what is chosen; in a preview: do it"],
    ["/", "Search or filter"],
    ["i", "Inbox"],
    ["1 to 5", "The screens of the workspace"],
    ["Shift+s", "Send your comments to a chat"],
    ["Esc", "Close, or go back"],
    ["?", "This list"],
  ] },
  { title: "Inbox", keys: [
    ["y", "Approve what is shown, or the part that is ticked"],
    ["n", "Deny it, with a word to the agent"],
    ["e", "Edit its arguments, and see what it would do then"],
    ["l", "Later: not now, without a no"],
    ["Shift+l", "What you put off"],
    ["s", "Select the request, to decide several together"],
    ["Shift+y", "Approve all that are selected, after a look at them"],
  ] },
  { title: "Diffs", keys: [
    ["d", "Go into the diff: arrows move by line"],
    ["[ / ]", "The change before and after"],
    ["x", "Tick or untick the file or change that you are on"],
    ["c", "Comment on the line that you are on"],
    ["v", "Mark the file that you are on as viewed"],
  ] },
  { title: "Timeline", keys: [
    ["f", "Filters"],
    ["u", "Undo the step that is shown, or redo it, with a preview"],
    ["b", "Go back to the step that is shown, with a preview"],
    ["m", "Compare the step that is shown with another"],
    ["t", "The files as they were after it"],
  ] },
  { title: "Files", keys: [
    ["t", "The files at an earlier time, and now again"],
    [", / .", "One step back and on, at an earlier time"],
    ["w", "Who wrote each line of the file"],
    ["h", "The history of the file"],
    ["↑ / ↓", "In the tree: from row to row"],
    ["→ / ←", "In the tree: open and close the folder"],
    ["r", "Rename the file or folder"],
    ["Del", "Remove the file or folder"],
  ] },
  { title: "Terminals", keys: [
    ["Enter", "Type into the terminal: every key goes to its program"],
    ["Esc Esc", "Leave it"],
  ] },
];

function Help() {
  return html`<${Dialog} title="Keyboard" wide onClose=${() => (isHelpShown.value = false)}>
    <div class="shortcut-groups" tabindex="0" role="region" aria-label="All keys">${SHORTCUTS.map(({ title, keys }) => html`<section key=${title}><h3>${title}</h3>
      <dl class="shortcuts">${keys.map(([names, text]) => html`<div key=${names}><dt>${String(names).split(" ").map((key) => (key === "/" && names !== "/") || key === "to" ? html`<span class="muted">${key}</span>` : html`<kbd>${key}</kbd>`)}</dt><dd>${text}</dd></div>`)}</dl></section>`)}</div>
  </${Dialog}>`;
}

// The number of what waits, in the title and in the tab's icon.
effect(() => {
  const number = waiting.value;
  document.title = number > 0 ? `(${number}) Toolyard` : "Toolyard";
  drawIcon(number);
});

/** @param {number} number */
function drawIcon(number) {
  const link = /** @type {HTMLLinkElement | null} */ (document.getElementById("icon"));
  if (!link) return;
  if (number === 0) {
    link.href = "/web/icon.svg";
    return;
  }
  const text = number > 99 ? "99+" : String(number);
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#3457d5"/><path d="M7 8h12M13 8v12" stroke="#fff" stroke-width="3.2" stroke-linecap="round"/><circle cx="21.5" cy="21.5" r="10.5" fill="#d13438"/><text x="21.5" y="${text.length > 2 ? 25 : 26.5}" font-family="sans-serif" font-weight="700" font-size="${text.length > 2 ? 10 : 14}" text-anchor="middle" fill="#fff">${text}</text></svg>`;
  link.href = `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
