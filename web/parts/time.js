// Times that people read, with the exact one as the title.

import { html, signal } from "../vendor.js";

const now = signal(Date.now());
setInterval(() => (now.value = Date.now()), 20_000);

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const shortDay = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const longDay = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const dayOfYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });

/** The whole date and time. @param {string} at */
export const exactTime = (at) => exact.format(new Date(at));

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
  if (dayNumber(date) === dayNumber(new Date(at)) - 1) return "yesterday";
  return (date.getFullYear() === new Date(at).getFullYear() ? shortDay : dayOfYear).format(date);
}

/** The names of days, by the number of the day; they hold for one day. @type {{ today: number, names: Map<number, string> }} */
const days = { today: 0, names: new Map() };

/** The number of a day where the person is. @param {Date} date */
const dayNumber = (date) => Math.floor((date.getTime() - date.getTimezoneOffset() * 60_000) / 86_400_000);

/** The day as a heading: `Today`, `Yesterday`, `Tuesday, 4 November`. @param {string} at */
export function dayName(at) {
  const today = dayNumber(new Date(now.value));
  if (days.today !== today) {
    days.today = today;
    days.names.clear();
  }
  const date = new Date(at);
  const day = dayNumber(date);
  let name = days.names.get(day);
  if (name === undefined) {
    name = day === today ? "Today" : day === today - 1 ? "Yesterday" : (date.getFullYear() === new Date(now.value).getFullYear() ? longDay : dayOfYear).format(date);
    days.names.set(day, name);
  }
  return name;
}

/** @param {{ at: string, clock?: boolean, class?: string }} props */
export function Time({ at, clock: asClock, class: name }) {
  const date = new Date(at);
  return html`<time class=${name} datetime=${at} title=${exact.format(date)}>${asClock ? clock.format(date) : relative(date, now.value)}</time>`;
}
