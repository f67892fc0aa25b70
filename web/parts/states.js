// What a screen shows while there is nothing to show: loading, empty, or a problem.

import { html } from "../vendor.js";
import { Icon } from "./icons.js";
import { ApiError } from "../api.js";
import { messageOf } from "./text.js";

/** @param {{ lines?: number, label?: string }} props */
export function Loading({ lines = 5, label = "Loading" }) {
  return html`<div class="loading" role="status" aria-label=${label}>
    ${Array.from({ length: lines }, (_, i) => html`<div key=${i} class="bone" style=${{ width: `${92 - ((i * 37) % 45)}%` }}></div>`)}
  </div>`;
}

/** @param {{ icon: string, title: string, children?: any, isPage?: boolean }} props `isPage` where there is no other heading */
export function Empty({ icon, title, children, isPage }) {
  return html`<div class="empty"><div class="empty-icon"><${Icon} name=${icon} /></div>${isPage ? html`<h1>${title}</h1>` : html`<h2>${title}</h2>`}<div class="empty-text">${children}</div></div>`;
}

/** @param {{ problem: unknown, onRetry?: () => void }} props */
export function Problem({ problem, onRetry }) {
  const { title, text } = words(problem);
  return html`<div class="empty problem" role="alert"><div class="empty-icon"><${Icon} name="alert" /></div><h2>${title}</h2><div class="empty-text"><p>${text}</p>
    ${onRetry && html`<p><button class="button" onClick=${onRetry}>Try again</button></p>`}</div></div>`;
}

/** @param {unknown} problem */
function words(problem) {
  if (problem instanceof ApiError) {
    if (problem.status === 0 || problem.status === 502) return { title: "The server cannot be reached", text: "It may be restarting. The page tries again by itself." };
    if (problem.status === 404) return { title: "Nothing is here", text: "It was removed, or it is in a workspace that you do not belong to." };
    if (problem.status === 403) return { title: "Not for your role", text: messageOf(problem) };
    return { title: "That did not work", text: messageOf(problem) };
  }
  return { title: "Something went wrong", text: messageOf(problem) };
}
