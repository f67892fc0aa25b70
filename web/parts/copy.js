// A text with a button that copies it.

import { html, useState } from "../vendor.js";
import { Icon } from "./icons.js";
import { toast } from "./toast.js";

/** @param {{ text: string, label: string }} props */
export function Copyable({ text, label }) {
  const [isCopied, setIsCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setIsCopied(true);
      setTimeout(() => setIsCopied(false), 2_000);
    } catch {
      toast("The browser does not let the page copy: select the text instead.", { kind: "bad" });
    }
  };
  return html`<div class="copyable"><pre class="block" tabindex="0" role="group" aria-label=${label}>${text}</pre><button class="button" onClick=${copy}><${Icon} name=${isCopied ? "check" : "copy"} />${isCopied ? "Copied" : "Copy"}</button></div>`;
}
