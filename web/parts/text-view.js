// A text with line numbers and colours, as a virtual list.

import { html, useMemo } from "../vendor.js";
import { languageOf, tokens } from "./highlight.js";
import { readable, visible } from "./text.js";
import { VirtualList } from "./virtual.js";

const ROW = 20;
/** With something to click before each line: large enough for a finger. */
const TALL = 24;
const LONGEST = 2_000;

/** @param {{ text: string, path: string, label: string, line?: number, margin?: (line: number) => any }} props `line` is the number of a line to show; `margin` draws what is before a line */
export function TextView({ text, path, label, line: wanted, margin }) {
  const lines = useMemo(() => {
    const all = text.split("\n");
    if (all.at(-1) === "") all.pop();
    return all;
  }, [text]);
  const language = useMemo(() => languageOf(path), [path]);
  const longest = useMemo(() => lines.reduce((most, line) => Math.max(most, line.length), 0), [lines]);
  const row = (/** @type {number} */ i) => {
    const line = lines[i] ?? "";
    return html`<div class="text-row ${i + 1 === wanted ? "wanted" : ""}">${margin?.(i + 1)}<span class="no">${i + 1}</span><span class="code">${tokens(line.slice(0, LONGEST), language).map((token, n) => (token.kind ? html`<span key=${n} class="tok-${token.kind}">${visible(token.text)}</span>` : visible(token.text)))}${line.length > LONGEST && html`<span class="muted"> … ${readable(line.length - LONGEST)} more characters</span>`}</span></div>`;
  };
  if (lines.length === 0) return html`<p class="muted pad">The file is empty.</p>`;
  return html`<div class="text-view ${margin ? "with-margin" : ""}" role="region" aria-label=${label} tabindex="0"><div style=${{ minWidth: `calc(${Math.min(longest, LONGEST) + 4}ch + 4.5rem)` }}>
    <${VirtualList} count=${lines.length} height=${margin ? TALL : ROW} version=${lines} row=${row} scrollTo=${wanted ? wanted - 1 : undefined} /></div></div>`;
}
