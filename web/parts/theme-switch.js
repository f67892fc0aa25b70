// The switch between the system's theme, light and dark.

import { html, signal } from "../vendor.js";
import { Icon } from "./icons.js";

const theme = signal(document.documentElement.dataset.theme ?? "system");

/** @param {string} value */
function choose(value) {
  theme.value = value;
  if (value === "system") {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem("theme");
  } else {
    document.documentElement.dataset.theme = value;
    localStorage.setItem("theme", value);
  }
}

const CHOICES = [
  { value: "system", label: "As the system", icon: "display" },
  { value: "light", label: "Light", icon: "sun" },
  { value: "dark", label: "Dark", icon: "moon" },
];

export function ThemeSwitch() {
  return html`<div class="segmented" role="group" aria-label="Theme">
    ${CHOICES.map(({ value, label, icon }) => html`<button key=${value} aria-pressed=${theme.value === value} aria-label=${label} title=${label} onClick=${() => choose(value)}><${Icon} name=${icon} /></button>`)}
  </div>`;
}
