// Times that people read, with the exact one as the title.

import { html, signal } from "../vendor.js";

const now = signal(Date.now());
setInterval(() => (now.value = Date.now()), 20_000);

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const shortDay = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const longDay = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const dayOfYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });

/**
 * `just now`, `5 min ago`, `3 h ago`, `yesterday`, `4 Nov`.
 * @param {Date} date
 * @param {number} at
 */
export function relative(date, at) {
  const seconds = (at - date.getTime()) / 1000;
  if (seconds < 45) return "just now";
  if (seconds < 3_600) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  if (seconds < 79_200) return `${Math.round(seconds / 3_600)} h ago`;
  if (daysBetween(date, new Date(at)) === 1) return "yesterday";
  return (date.getFullYear() === new Date(at).getFullYear() ? shortDay : dayOfYear).format(date);
}

/** @param {Date} from @param {Date} to */
function daysBetween(from, to) {
  const midnight = (/** @type {Date} */ date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
  return Math.round((midnight(to) - midnight(from)) / 86_400_000);
}

/** The day as a heading: `Today`, `Yesterday`, `Tuesday, 4 November`. @param {string} at */
export function dayName(at) {
  const date = new Date(at);
  const days = daysBetween(date, new Date(now.value));
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  return (date.getFullYear() === new Date().getFullYear() ? longDay : dayOfYear).format(date);
}

/** @param {string} at */
export const clockTime = (at) => clock.format(new Date(at));

/** @param {{ at: string, clock?: boolean, class?: string }} props */
export function Time({ at, clock: asClock, class: name }) {
  const date = new Date(at);
  return html`<time class=${name} datetime=${at} title=${exact.format(date)}>${asClock ? clock.format(date) : relative(date, now.value)}</time>`;
}
