// A list beside what is chosen in it; on a narrow screen one of the two, with a way back.

import { html } from "../vendor.js";
import { Icon } from "./icons.js";

/** @param {{ list: any, detail: any, hasDetail: boolean, back: string, backLabel: string, label: string }} props */
export function Split({ list, detail, hasDetail, back, backLabel, label }) {
  return html`<div class="split ${hasDetail ? "has-detail" : ""}">
    <section class="split-list" aria-label=${label}>${list}</section>
    <section class="split-detail" aria-label="Details">
      ${hasDetail && html`<a class="back" href=${back}><${Icon} name="left" />${backLabel}</a>`}
      ${detail}
    </section>
  </div>`;
}
