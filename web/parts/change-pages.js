// Changes with their diffs come in pages, and all of them are read.

/** Most changes that are shown at once. */
const MOST = 20_000;
/** How often a preview that changes while it is read begins again; then it is shown as far as it was read. */
const RESTARTS = 5;

/** @typedef {{ changes: any[], next: string | null, truncated: boolean, state_hash?: string | null, [name: string]: any }} Changes */

/**
 * Reads all pages, and joins them. What is left of more changes than can be shown is its `next`.
 * @param {(cursor: string) => Promise<Changes>} page reads the page at a cursor; that of the first page is ""
 * @param {(read: Changes) => boolean} onPage gets what was read so far, and says whether it is still wanted
 * @returns {Promise<Changes | null>} null if it is not wanted any more
 */
export async function readChanges(page, onPage) {
  let read = await page("");
  for (let restarts = 0; restarts <= RESTARTS && onPage(read) && read.next && read.changes.length < MOST; ) {
    const more = await page(read.next);
    if (more.state_hash === read.state_hash) {
      read = { ...more, changes: [...read.changes, ...more.changes], truncated: read.truncated || more.truncated };
    } else {
      read = await page("");
      restarts++;
    }
  }
  return onPage(read) ? read : null;
}
