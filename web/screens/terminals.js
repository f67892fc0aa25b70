import { html } from "../vendor.js";
export function Terminals() { return html`<p>terminals</p>`; }
