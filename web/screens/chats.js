import { html } from "../vendor.js";
export function Chats() { return html`<p>chats</p>`; }
