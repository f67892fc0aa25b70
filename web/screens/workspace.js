// One workspace: which of its screens the address names.

import { html } from "../vendor.js";
import { address, go, parts } from "../router.js";
import { workspaceOf } from "../state.js";
import { Empty } from "../parts/states.js";
import { Timeline } from "./timeline.js";
import { Chats } from "./chats.js";
import { Files, Trash } from "./files.js";
import { Terminals } from "./terminals.js";
import { WorkspaceSettings } from "./settings.js";

const SCREENS = /** @type {Record<string, (props: any) => any>} */ ({ timeline: Timeline, chats: Chats, files: Files, trash: Trash, terminals: Terminals, settings: WorkspaceSettings });

export function WorkspaceScreen() {
  const [, id, tab] = parts.value;
  if (!id || !workspaceOf(id)) {
    return html`<${Empty} isPage icon="workspaces" title="This workspace is not among yours"><p>Ask an owner of it to add you, or choose one of <a href="#/workspaces">your workspaces</a>.</p></${Empty}>`;
  }
  const Shown = SCREENS[tab ?? ""];
  if (!Shown) {
    go(address("w", id, "timeline"), { replace: true });
    return null;
  }
  return html`<${Shown} key=${id} workspace=${id} />`;
}
