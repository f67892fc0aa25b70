// Where in the inbox the address leads: `#/inbox/WORKSPACE/approval/ID/edit`, and `#/inbox/later/...` for what was put off.

import { address, parts } from "../router.js";

/** The parts of the address. */
export function inboxPlace() {
  const isLater = parts.value[1] === "later";
  const [workspace, kind, id, more] = parts.value.slice(isLater ? 2 : 1);
  return { isLater, workspace, kind, id, more };
}

/** An address in the list that is shown now. @param {...string} path */
export const inboxAddress = (...path) => address("inbox", ...(inboxPlace().isLater ? ["later"] : []), ...path);
