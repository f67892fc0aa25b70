// The icons, drawn with lines on a grid of 24.

import { html } from "../vendor.js";

/** @type {Record<string, string>} */
const PATHS = {
  inbox: "M3 13l3-8h12l3 8v5a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2zM3 13h5l1.5 3h5L16 13h5",
  timeline: "M12 8v4l3 2M3.5 12a8.5 8.5 0 1 0 2.6-6.1L3 9M3 4v5h5",
  files: "M3 7a2 2 0 0 1 2-2h4l2 2.5h8a2 2 0 0 1 2 2V17a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2z",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  chats: "M4 5h16v11H9l-5 4z",
  terminals: "M3 5h18v14H3zM7 10l3 2.5L7 15M12.5 15.5H17",
  settings: "M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4",
  workspaces: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20.5c1-4 4-5.5 7.5-5.5s6.5 1.5 7.5 5.5",
  agent: "M12 3v3M6 8h12a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2H6a2 2 0 0 1-2-2v-7a2 2 0 0 1 2-2zM9 12.5v1.5M15 12.5v1.5",
  external: "M14 4h6v6M20 4l-9 9M18 14v5H5V6h5",
  check: "M5 12.5l4.5 4.5L19 7.5",
  select: "M4 4h7v7H4zM4 15l2.5 3L11 13M15 6h6M15 16h6",
  swap: "M4 9h14M14 5l4 4-4 4M20 16H6M10 12l-4 4 4 4",
  compare: "M9 4v16M15 4v16M9 8H4M9 12H4M15 8h5M15 12h5",
  filter: "M4 6h16M7 12h10M10 18h4",
  more: "M5 12h.1M12 12h.1M19 12h.1",
  x: "M6 6l12 12M18 6L6 18",
  alert: "M12 4l9 16H3zM12 10v4M12 17v.5",
  undo: "M8 5L4 9l4 4M4 9h10a6 6 0 0 1 0 12h-3",
  redo: "M16 5l4 4-4 4M20 9H10a6 6 0 0 0 0 12h3",
  rewind: "M11 6l-7 6 7 6zM20 6l-7 6 7 6z",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5",
  move: "M4 12h15M13 6l6 6-6 6",
  run: "M7 5l11 7-11 7z",
  globe: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM3 12h18M12 3c3 3 3.5 6 3.5 9s-.5 6-3.5 9c-3-3-3.5-6-3.5-9s.5-6 3.5-9",
  eye: "M2.5 12C5 7.5 8.5 5.5 12 5.5S19 7.5 21.5 12C19 16.5 15.5 18.5 12 18.5S5 16.5 2.5 12zM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6z",
  question: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM9.5 9.5a2.5 2.5 0 1 1 3.5 2.3c-.8.4-1 .9-1 1.7M12 16.8v.2",
  left: "M15 5l-7 7 7 7",
  right: "M9 5l7 7-7 7",
  down: "M5 9l7 7 7-7",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z",
  display: "M3 5h18v11H3zM9 20h6M12 16v4",
  keyboard: "M3 7h18v10H3zM6.5 10.5h.1M10 10.5h.1M13.5 10.5h.1M17 10.5h.1M8 13.8h8",
  out: "M14 4H5v16h9M10 12h11M17 8l4 4-4 4",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l5 5",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  key: "M8 19a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM11.3 11.3L20 3M16.5 6.5l3 3",
  shield: "M12 3l8 3v6c0 5-3.5 8-8 9.5C7.5 20 4 17 4 12V6z",
  plan: "M6 4h12v16H6zM9 9h6M9 13h6M9 17h3",
  download: "M12 4v11M7 11l5 5 5-5M4 20h16",
  upload: "M12 16V5M7 9l5-5 5 5M4 20h16",
  link: "M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 6 6l1-1",
  people: "M9 12a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 19.5c.7-3.5 3.3-5 6.5-5s5.8 1.5 6.5 5M16 5.5a3.5 3.5 0 0 1 0 6.5M18 14.8c2 .6 3.2 2.2 3.7 4.7",
};

/** @param {{ name: string, class?: string }} props */
export function Icon({ name, class: className = "" }) {
  return html`<svg class="icon ${className}" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d=${PATHS[name] ?? PATHS.file} /></svg>`;
}

/** The mark of Toolyard. */
export function Logo() {
  return html`<svg class="logo" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" /><path d="M8 9.5h16M16 9.5V17" /><path d="M21.5 19.2a5.6 5.6 0 1 1-10.2-2.3" /><path d="M8.6 17.6l2.9-1.3 1.2 3" /></svg>`;
}
