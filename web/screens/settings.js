import { html } from "../vendor.js";
export function WorkspaceSettings() { return html`<p>settings</p>`; }
