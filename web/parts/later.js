// "Not now": a request or a question leaves the person's inbox until a time. It goes on waiting for everybody else.

import { api } from "../api.js";
import { loadInbox } from "../state.js";
import { toast, toastProblem } from "./toast.js";

const clock = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const dayAndClock = new Intl.DateTimeFormat(undefined, { weekday: "short", hour: "numeric", minute: "2-digit" });

/** When it is evening, and when the next day begins, by the hour. */
const EVENING = 18;
const MORNING = 9;

/** A time in words, with the day if it is another one than today. @param {Date} date */
export const untilWords = (date) => (date.toDateString() === new Date().toDateString() ? clock : dayAndClock).format(date);

/** The times to choose from. @param {Date} now @returns {{ label: string, until: Date }[]} */
export function laterTimes(now) {
  const at = (/** @type {number} */ days, /** @type {number} */ hour) => new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, hour);
  const times = [{ label: "In an hour", until: new Date(now.getTime() + 3_600_000) }];
  if (now.getHours() < EVENING - 1) times.push({ label: "This evening", until: at(0, EVENING) });
  times.push({ label: "Tomorrow", until: at(1, MORNING) });
  return times;
}

/**
 * Sets or removes the mark.
 * @param {string} workspace
 * @param {string} id of the request or the question
 * @param {Date | null} until
 * @returns {Promise<boolean>} whether it was done
 */
export async function setLater(workspace, id, until) {
  try {
    await api.put("/inbox/later", { workspace_id: workspace, item_id: id, until: until?.toISOString() });
  } catch (problem) {
    toastProblem(problem);
    return false;
  }
  if (until) toast(`It comes back ${untilWords(until)}.`, { action: { label: "Bring it back", run: () => void setLater(workspace, id, null) } });
  else toast("It is in the inbox again.");
  await loadInbox();
  return true;
}
