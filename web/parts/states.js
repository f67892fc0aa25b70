// What a screen shows while there is nothing to show: loading, empty, or a problem.

import { Component, html, useEffect } from "../vendor.js";
import { Icon } from "./icons.js";
import { ApiError } from "../api.js";
import { useRefOf } from "./keys.js";
import { messageOf } from "./text.js";

/** After how many milliseconds a server that could not be reached is asked again. */
const RETRY = 3_000;

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
  const retry = useRefOf(onRetry);
  const isAway = isUnreachable(problem);
  useEffect(() => {
    if (!isAway) return;
    const timer = setInterval(() => retry.current?.(), RETRY);
    return () => clearInterval(timer);
  }, [isAway]);
  return html`<div class="empty problem" role="alert"><div class="empty-icon"><${Icon} name="alert" /></div><h2>${title}</h2><div class="empty-text"><p>${text}</p>
    ${onRetry && html`<p><button class="button" onClick=${onRetry}>Try again</button></p>`}</div></div>`;
}

/** @param {unknown} problem */
export const isUnreachable = (problem) => problem instanceof ApiError && [0, 502, 503, 504].includes(problem.status);

/** @param {unknown} problem */
function words(problem) {
  if (problem instanceof ApiError) {
    if (isUnreachable(problem)) return { title: "The server cannot be reached", text: "It may be restarting. The page tries again by itself." };
    if (problem.status === 404) return { title: "Nothing is here", text: "It was removed, or it is in a workspace that you do not belong to." };
    if (problem.status === 403) return { title: "Not for your role", text: messageOf(problem) };
    return { title: "That did not work", text: messageOf(problem) };
  }
  return { title: "Something went wrong", text: messageOf(problem) };
}

/**
 * What is shown in place of a screen that failed, so that the rest of the page goes on. Another place is tried anew.
 * @extends {Component<{ place: string, children?: any }, { problem: unknown }>}
 */
export class Boundary extends Component {
  constructor() {
    super();
    this.state = { problem: null };
  }

  /** @param {unknown} problem */
  static getDerivedStateFromError(problem) {
    return { problem };
  }

  /** @param {unknown} problem */
  componentDidCatch(problem) {
    console.error(problem);
  }

  /** @param {{ place: string }} before */
  componentDidUpdate(before) {
    if (before.place !== this.props.place && this.state.problem !== null) this.setState({ problem: null });
  }

  render() {
    return this.state.problem === null ? this.props.children : html`<${Problem} problem=${this.state.problem} onRetry=${() => this.setState({ problem: null })} />`;
  }
}
