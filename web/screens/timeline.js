import { html } from "../vendor.js";
export function Timeline() { return html`<p>timeline</p>`; }
