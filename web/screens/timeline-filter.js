// The filters of the timeline, which are kept in the address: by whom, in which chat, at which path, and what was done.

import { html, useEffect, useState } from "../vendor.js";
import { all } from "../api.js";
import { actorOf, actors, titleOf } from "../state.js";
import { Icon } from "../parts/icons.js";
import { visibleLine } from "../parts/text.js";
import { stepWords } from "../parts/words.js";

/** @typedef {{ by: string, q: string, actor: string, chat: string, path: string, verb: string }} Filter `by` is a kind of actor, `q` words to look for */

/** What is offered before anything of the kind was seen. */
const VERBS = ["write", "edit", "place", "move", "remove", "run", "undo", "redo", "back_to"];

/** @param {URLSearchParams} query @returns {Filter} */
export function filterOf(query) {
  const of = (/** @type {string} */ name) => query.get(name) ?? "";
  return { by: of("by"), q: of("q"), actor: of("actor"), chat: of("chat"), path: of("path"), verb: of("verb") };
}

/** @param {Filter} filter */
export const isFiltered = (filter) => Object.values(filter).some((value) => value !== "");

/** A verb in words. @param {string} verb */
const verbWords = (verb) => stepWords({ verb, author: "agent", files: 1, path: null }).text;

/** The chats of a workspace, for their titles. @param {string} workspace @param {boolean} isWanted */
function useChats(workspace, isWanted) {
  const [chats, setChats] = useState(/** @type {any[]} */ ([]));
  useEffect(() => {
    if (isWanted) all(`/workspaces/${workspace}/chats`, "chats", 400).then(setChats, () => {});
  }, [workspace, isWanted]);
  return chats;
}

/** @param {{ workspace: string, filter: Filter, steps: any[], onChange: (changed: Partial<Filter>) => void }} props */
export function Filters({ workspace, filter, steps, onChange }) {
  const chats = useChats(workspace, true);
  const [path, setPath] = useState(filter.path);
  // A filter that is removed elsewhere leaves the field as well: it would be applied again when the field loses the focus.
  useEffect(() => setPath(filter.path), [filter.path]);
  const seen = (/** @type {string} */ name) => steps.slice(0, 2_000).map((step) => step[name]);
  // Asking for a name has the members and keys read.
  actorOf(workspace, "key:");
  const who = [...new Set([...(actors.value[workspace] ?? []), ...seen("actor"), filter.actor])].filter(Boolean);
  const verbs = [...new Set([...VERBS, ...seen("verb"), filter.verb])].filter(Boolean);
  const known = chats.map((chat) => ({ value: chat.id, label: titleOf(workspace, chat) }));
  if (filter.chat && !known.some((chat) => chat.value === filter.chat)) known.push({ value: filter.chat, label: "A chat" });
  return html`<form class="filters" aria-label="Filters" onSubmit=${(/** @type {Event} */ event) => { event.preventDefault(); onChange({ path: path.trim() }); }}>
    <${Choice} label="By" value=${filter.actor} options=${who.map((actor) => ({ value: actor, label: actorOf(workspace, actor).name }))} onChoose=${(/** @type {string} */ actor) => onChange({ actor })} />
    <${Choice} label="Chat" value=${filter.chat} options=${known} onChoose=${(/** @type {string} */ chat) => onChange({ chat })} />
    <${Choice} label="What" value=${filter.verb} options=${verbs.map((verb) => ({ value: verb, label: verbWords(verb) }))} onChoose=${(/** @type {string} */ verb) => onChange({ verb })} />
    <label><span>Path</span><input class="mono" placeholder="/src or /src/a.py" spellcheck=${false} value=${path} onInput=${(/** @type {any} */ event) => setPath(event.target.value)} onBlur=${() => path.trim() !== filter.path && onChange({ path: path.trim() })} /></label>
  </form>`;
}

/** @param {{ label: string, value: string, options: { value: string, label: string }[], onChoose: (value: string) => void }} props */
function Choice({ label, value, options, onChoose }) {
  return html`<label><span>${label}</span><select value=${value} onChange=${(/** @type {any} */ event) => onChoose(event.target.value)}><option value="">Any</option>
    ${options.map((option) => html`<option key=${option.value} value=${option.value} selected=${option.value === value}>${visibleLine(option.label).slice(0, 80)}</option>`)}</select></label>`;
}

/** What the list is filtered by, each with a way to show the rest again. @param {{ workspace: string, filter: Filter, onChange: (changed: Partial<Filter>) => void }} props */
export function ActiveFilters({ workspace, filter, onChange }) {
  const chats = useChats(workspace, filter.chat !== "");
  const chat = chats.find((one) => one.id === filter.chat);
  const shown = [
    filter.actor && { name: "actor", text: `by ${actorOf(workspace, filter.actor).name}` },
    filter.chat && { name: "chat", text: chat ? `in ${titleOf(workspace, chat)}` : "in a chat" },
    filter.verb && { name: "verb", text: verbWords(filter.verb) },
    filter.path && { name: "path", text: filter.path },
  ].filter((one) => one !== "");
  if (shown.length === 0) return null;
  const chip = (/** @type {{ name: string, text: string }} */ { name, text }) => html`
    <button key=${name} type="button" class="chip-button" aria-label=${`Remove the filter: ${visibleLine(text)}`} onClick=${() => onChange({ [name]: "" })}>
      <span class="ellipsis">${visibleLine(text)}</span><${Icon} name="x" class="tiny" /></button>`;
  return html`<div class="active-filters" role="group" aria-label="The list is filtered">${shown.map(chip)}</div>`;
}
