// The person's own settings: the theme, notifications, the keyboard, and logging out.

import { html, useState } from "../vendor.js";
import { logOut } from "../api.js";
import { me } from "../state.js";
import { notificationsAllowed, setNotifications, wantsNotifications } from "../parts/notify.js";
import { isHelpShown } from "../parts/keys.js";
import { Icon } from "../parts/icons.js";
import { ThemeSwitch } from "../parts/theme-switch.js";
import { visibleLine } from "../parts/text.js";
import { Logins, Password } from "./logins.js";

export function Account() {
  const [, redraw] = useState(0);
  const toggle = async () => {
    await setNotifications(!wantsNotifications());
    redraw((n) => n + 1);
  };
  const [changes, setChanges] = useState(0);
  const isDenied = notificationsAllowed() === "denied";
  return html`<div class="column">
    <div class="page-head"><h1>You</h1></div>
    <section class="panel">
      <div class="setting"><div class="grow min"><strong>${me.value?.is_local ? "This machine" : visibleLine(me.value?.full_name || me.value?.email || "You")}</strong><p class="muted">${me.value?.is_local ? "No account: toolyard ui opens the page again after a logout." : visibleLine(me.value?.email ?? "")}</p></div>
        <button class="button" title=${me.value?.is_local ? "toolyard ui opens the page again" : ""} onClick=${() => void logOut()}><${Icon} name="out" />Log out</button></div>
      ${!me.value?.is_local && html`<${Password} onChanged=${() => setChanges(changes + 1)} />`}
      <div class="setting"><div class="grow min"><strong>Theme</strong><p class="muted">Light or dark, or as your system has it.</p></div><${ThemeSwitch} /></div>
      ${notificationsAllowed() !== "missing" && html`<div class="setting"><div class="grow min"><strong>Notifications</strong><p class="muted">${isDenied ? "Your browser refuses them for this page: allow them in its settings first." : "When an agent waits for you while this tab is in the background. They name the workspace only, never a file."}</p></div>
        <button class="switch" role="switch" aria-checked=${wantsNotifications()} aria-label="Notifications" disabled=${isDenied} onClick=${toggle}></button></div>`}
      <div class="setting"><div class="grow min"><strong>Keyboard</strong><p class="muted">Everything can be done with it. Press <kbd>?</kbd> on any screen.</p></div><button class="button" onClick=${() => (isHelpShown.value = true)}><${Icon} name="keyboard" />Show the keys</button></div>
    </section>
    <${Logins} key=${changes} />
  </div>`;
}
