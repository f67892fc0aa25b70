// Who did something: a mark for the kind, and the name.

import { html } from "../vendor.js";
import { actorOf } from "../state.js";
import { Icon } from "./icons.js";
import { visibleLine } from "./text.js";

const KINDS = /** @type {Record<string, string>} */ ({ agent: "Agent", person: "Person", external: "Outside of Toolyard" });

/** @param {{ workspace: string, actor: string | null | undefined }} props */
export function Actor({ workspace, actor }) {
  const { name, kind } = actorOf(workspace, actor);
  return html`<span class="actor" title=${KINDS[kind]}><span class="actor-mark ${kind}"><${Icon} name=${kind} /></span><span class="actor-name">${visibleLine(name)}</span></span>`;
}
