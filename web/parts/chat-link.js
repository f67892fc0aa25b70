// The chat that something belongs to, by its title.

import { html } from "../vendor.js";
import { address } from "../router.js";
import { chatOf, titleOf } from "../state.js";
import { Icon } from "./icons.js";
import { visibleLine } from "./text.js";

/** @param {{ workspace: string, id: string }} props */
export function ChatLink({ workspace, id }) {
  const chat = chatOf(workspace, id);
  return html`<a class="muted chat-link" href=${address("w", workspace, "chats", id)} title="The chat that it belongs to"><${Icon} name="chats" /><span class="ellipsis">${chat ? visibleLine(titleOf(workspace, chat)) : "chat"}</span></a>`;
}
