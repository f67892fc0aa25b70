// A list that only has the nodes of what is on the screen, whatever its length. The height of each row is known.

import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor.js";

/** Rows that are drawn above and below the screen, in pixels. */
const MARGIN = 400;

/**
 * @param {object} props
 * @param {number} props.count
 * @param {number | ((index: number) => number)} props.height of a row, in pixels
 * @param {(index: number) => any} props.row
 * @param {(index: number) => string | number} [props.keyOf]
 * @param {() => void} [props.onEnd] called when the end comes near
 * @param {number} [props.version] changes when heights change
 * @param {string} [props.class]
 * @param {string} [props.label]
 * @param {string} [props.role]
 * @param {number} [props.scrollTo] a row that is to be on the screen
 */
export function VirtualList({ count, height, row, keyOf = (i) => i, onEnd, version = 0, class: name = "", label, role, scrollTo }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [range, setRange] = useState({ start: 0, end: Math.min(count, 40) });
  const tops = useMemo(() => offsets(count, height), [count, typeof height === "number" ? height : 0, version]);

  const measure = useRef(() => {});
  measure.current = () => {
    if (!box.current) return;
    const top = box.current.getBoundingClientRect().top;
    const start = Math.max(0, rowAt(tops, count, -top - MARGIN));
    const end = Math.min(count, rowAt(tops, count, innerHeight - top + MARGIN) + 1);
    setRange((old) => (old.start === start && old.end === end ? old : { start, end }));
    if (onEnd && end >= count - 5) onEnd();
  };
  useLayoutEffect(() => measure.current(), [count, version]);
  useEffect(() => {
    const run = () => measure.current();
    document.addEventListener("scroll", run, { capture: true, passive: true });
    addEventListener("resize", run);
    const observer = new ResizeObserver(run);
    if (box.current?.parentElement) observer.observe(box.current.parentElement);
    return () => {
      document.removeEventListener("scroll", run, { capture: true });
      removeEventListener("resize", run);
      observer.disconnect();
    };
  }, []);
  useEffect(() => {
    if (scrollTo === undefined || scrollTo < 0 || !box.current) return;
    const frame = scrollFrame(box.current);
    const top = box.current.getBoundingClientRect().top + (tops[scrollTo] ?? 0);
    const bottom = box.current.getBoundingClientRect().top + (tops[scrollTo + 1] ?? 0);
    if (top < frame.top + 60) frame.by(top - frame.top - 60);
    else if (bottom > frame.bottom - 60) frame.by(bottom - frame.bottom + 60);
  }, [scrollTo]);

  const shown = [];
  for (let i = range.start; i < Math.min(range.end, count); i++) {
    const style = { position: "absolute", top: `${tops[i]}px`, left: "0", right: "0", height: `${(tops[i + 1] ?? 0) - (tops[i] ?? 0)}px` };
    shown.push(html`<div key=${keyOf(i)} role=${role === "list" ? "listitem" : undefined} style=${style}>${row(i)}</div>`);
  }
  return html`<div ref=${box} class="virtual ${name}" role=${role} aria-label=${label} style=${{ position: "relative", height: `${tops[count]}px` }}>${shown}</div>`;
}

/**
 * Where each row begins, and where the last one ends.
 * @param {number} count
 * @param {number | ((index: number) => number)} height
 */
function offsets(count, height) {
  const tops = new Float64Array(count + 1);
  for (let i = 0; i < count; i++) tops[i + 1] = /** @type {number} */ (tops[i]) + (typeof height === "number" ? height : height(i));
  return tops;
}

/**
 * The row at a distance from the top.
 * @param {Float64Array} tops
 * @param {number} count
 * @param {number} y
 */
function rowAt(tops, count, y) {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (/** @type {number} */ (tops[middle]) <= y) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * What scrolls around an element.
 * @param {HTMLElement} element
 */
function scrollFrame(element) {
  for (let parent = element.parentElement; parent; parent = parent.parentElement) {
    const { overflowY } = getComputedStyle(parent);
    if ((overflowY === "auto" || overflowY === "scroll") && parent.scrollHeight > parent.clientHeight) {
      const { top, bottom } = parent.getBoundingClientRect();
      return { top, bottom, by: (/** @type {number} */ y) => parent.scrollBy(0, y) };
    }
  }
  return { top: 0, bottom: innerHeight, by: (/** @type {number} */ y) => scrollBy(0, y) };
}
