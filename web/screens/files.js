import { html } from "../vendor.js";
export function Files() { return html`<p>files</p>`; }
