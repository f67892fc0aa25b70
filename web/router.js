// The address is the fragment, so that no path of a file is ever in a server's log: `#/w/ID/timeline/STEP`.

import { signal, computed } from "./vendor.js";

const fragment = signal(location.hash);
addEventListener("hashchange", () => (fragment.value = location.hash));

/** The parts of the address, decoded: `["w", ID, "timeline", STEP]`. */
export const parts = computed(() => {
  const [path = ""] = fragment.value.startsWith("#/") ? fragment.value.slice(2).split("?") : [];
  return path.split("/").filter((part) => part !== "").map(decode);
});

/** What the address says after a question mark, as the filters of a list: `#/w/ID/timeline?verb=edit`. */
export const query = computed(() => new URLSearchParams(fragment.value.startsWith("#/") ? fragment.value.split("?")[1] ?? "" : ""));

/**
 * The address with values after a question mark; those that are empty are left out.
 * @param {string} to
 * @param {Record<string, string>} values
 */
export function withQuery(to, values) {
  const written = Object.entries(values).filter(([, value]) => value !== "").map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join("&");
  return written === "" ? to : `${to}?${written}`;
}

/** Another address with the values of this one, as another step of a filtered list. @param {string} to */
export const keepQuery = (to) => withQuery(to, Object.fromEntries(query.value));

/** @param {string} part */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * The address of a place, with each part encoded.
 * @param {...(string | null | undefined)} path
 */
export function address(...path) {
  return "#/" + path.filter((part) => part !== null && part !== undefined && part !== "").map((part) => encodeURIComponent(String(part))).join("/");
}

/**
 * Goes to an address.
 * @param {string} to
 * @param {{ replace?: boolean }} [options] `replace` leaves no entry in the browser's history
 */
export function go(to, options = {}) {
  if (to === location.hash) return;
  if (options.replace) {
    history.replaceState(null, "", to);
    fragment.value = location.hash;
  } else {
    location.hash = to;
  }
}
