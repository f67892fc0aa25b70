// The address is the fragment, so that no path of a file is ever in a server's log: `#/w/ID/timeline/STEP`.

import { signal, computed } from "./vendor.js";

const fragment = signal(location.hash);
addEventListener("hashchange", () => (fragment.value = location.hash));

/** The parts of the address, decoded: `["w", ID, "timeline", STEP]`. */
export const parts = computed(() => {
  const path = fragment.value.startsWith("#/") ? fragment.value.slice(2) : "";
  return path.split("/").filter((part) => part !== "").map(decode);
});

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
