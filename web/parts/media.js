// Whether a media query holds, as it changes.

import { useEffect, useState } from "../vendor.js";

/** Wide enough for a list beside what is chosen in it. */
export const WIDE = "(min-width: 900px)";

/** @param {string} query */
export function useMedia(query) {
  const [holds, setHolds] = useState(matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const change = () => setHolds(list.matches);
    list.addEventListener("change", change);
    return () => list.removeEventListener("change", change);
  }, [query]);
  return holds;
}
