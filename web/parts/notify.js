// Notifications of the browser while the tab is in the background, if the person wants them.

import { effect, untracked } from "../vendor.js";
import { inbox } from "../state.js";

const WANTED = "notifications";

/** `granted`, `denied`, `default` or `missing`. */
export const notificationsAllowed = () => ("Notification" in globalThis ? Notification.permission : "missing");

export const wantsNotifications = () => notificationsAllowed() === "granted" && localStorage.getItem(WANTED) === "yes";

/** @param {boolean} wanted */
export async function setNotifications(wanted) {
  if (!wanted) return localStorage.removeItem(WANTED);
  if ((await Notification.requestPermission()) === "granted") localStorage.setItem(WANTED, "yes");
}

/** The entries that were known when the inbox was read last. @type {Set<string> | null} */
let known = null;

effect(() => {
  const entries = inbox.value;
  if (entries === null) return void (known = null);
  untracked(() => {
    const before = known;
    const ids = entries.map((entry) => (entry.approval ?? entry.question).id);
    known = new Set(ids);
    if (!before || document.visibilityState === "visible" || !wantsNotifications()) return;
    const fresh = entries.filter((_, i) => !before.has(/** @type {string} */ (ids[i])));
    const first = fresh[0];
    if (!first) return;
    const text = fresh.length > 1 ? `${fresh.length} requests wait for you` : first.kind === "question" ? "An agent asks a question" : "An agent waits for your approval";
    const note = new Notification(first.workspace_name, { body: text, tag: "toolyard-inbox" });
    note.onclick = () => {
      window.focus();
      location.hash = "#/inbox";
      note.close();
    };
  });
});
