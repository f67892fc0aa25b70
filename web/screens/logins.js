// The person's password, and where the person is logged in.

import { html, useEffect, useRef, useState } from "../vendor.js";
import { all, api, ApiError } from "../api.js";
import { Icon } from "../parts/icons.js";
import { Loading, Problem } from "../parts/states.js";
import { messageOf, visible, visibleLine } from "../parts/text.js";
import { Time } from "../parts/time.js";
import { toast, toastProblem } from "../parts/toast.js";

/** Characters of a new password, at least. */
const SHORTEST = 12;

/** @param {{ onChanged: () => void }} props */
export function Password({ onChanged }) {
  const [isOpen, setIsOpen] = useState(false);
  const [wrong, setWrong] = useState(/** @type {Record<string, string>} */ ({}));
  const [isBusy, setIsBusy] = useState(false);
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  useEffect(() => {
    if (isOpen) form.current?.querySelector("input")?.focus();
  }, [isOpen]);
  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault();
    const data = new FormData(/** @type {HTMLFormElement} */ (form.current));
    const [current_password, new_password, again] = ["current_password", "new_password", "again"].map((name) => String(data.get(name) ?? ""));
    if (new_password !== again) return setWrong({ again: "The two are not the same." });
    setIsBusy(true);
    setWrong({});
    try {
      await api.post("/auth/password", { current_password, new_password });
      toast("The password is changed. All other logins have ended.");
      setIsOpen(false);
      onChanged();
    } catch (failure) {
      const fields = failure instanceof ApiError ? failure.fields : {};
      setWrong(Object.keys(fields).length > 0 ? fields : { "": messageOf(failure) });
    }
    setIsBusy(false);
  };
  const field = (/** @type {string} */ name, /** @type {string} */ label, /** @type {string} */ complete, /** @type {number} */ shortest) => html`<label class="field ${wrong[name] ? "wrong" : ""}"><span>${label}</span><input name=${name} type="password" required minlength=${shortest} autocomplete=${complete} aria-invalid=${wrong[name] ? "true" : undefined} aria-describedby=${wrong[name] ? `${name}-wrong` : undefined} />
    ${wrong[name] && html`<small id=${`${name}-wrong`} class="argument-wrong" role="alert"><${Icon} name="alert" />${visible(wrong[name]).replace(/^is /, "It is ")}</small>`}</label>`;
  return html`<div class="setting"><div class="grow min"><strong>Password</strong><p class="muted">Changing it ends all other logins.</p></div><button class="button" aria-expanded=${isOpen} onClick=${() => setIsOpen(!isOpen)}>Change it</button>
    ${isOpen && html`<form ref=${form} class="password-form" aria-label="Change the password" onSubmit=${submit}>
      ${field("current_password", "The password now", "current-password", 1)}${field("new_password", `The new one, of at least ${SHORTEST} characters`, "new-password", SHORTEST)}${field("again", "The new one again", "new-password", 1)}
      ${wrong[""] && html`<p class="form-problem" role="alert">${wrong[""]}</p>`}
      <div class="actions"><button type="button" class="button" onClick=${() => setIsOpen(false)}>Cancel</button><button class="button primary" disabled=${isBusy}>Change the password</button></div></form>`}</div>`;
}

/** The browser and the system that a login says it is. @param {string | null} agent */
export function deviceWords(agent) {
  if (!agent) return "Unknown program";
  const browser = /Edg\//.test(agent) ? "Edge" : /Firefox\//.test(agent) ? "Firefox" : /Chrome\/|Chromium\//.test(agent) ? "Chrome" : /Safari\//.test(agent) ? "Safari" : "";
  const system = /iPhone|iPad/.test(agent) ? "iOS" : /Android/.test(agent) ? "Android" : /Windows/.test(agent) ? "Windows" : /Mac OS X/.test(agent) ? "macOS" : /Linux/.test(agent) ? "Linux" : "";
  return browser === "" ? visibleLine(agent).slice(0, 80) : `${browser}${system && ` on ${system}`}`;
}

export function Logins() {
  const [logins, setLogins] = useState(/** @type {any[] | null} */ (null));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const read = () => all("/auth/logins", "logins").then((found) => (setLogins(found), setProblem(null)), setProblem);
  useEffect(() => void read(), []);
  // A server that does not list them.
  if (problem instanceof ApiError && [403, 404, 405].includes(problem.status)) return null;
  const end = async (/** @type {any} */ login) => {
    try {
      await api.delete(`/auth/logins/${login.id}`);
      toast("That login has ended.");
    } catch (failure) {
      toastProblem(failure);
    }
    await read();
  };
  return html`<section class="panel" aria-labelledby="logins-title"><div class="panel-head"><div class="grow"><h2 id="logins-title">Where you are logged in</h2><p>End what you do not know, and change your password then.</p></div></div>
    ${problem ? html`<${Problem} problem=${problem} onRetry=${read} />` : logins === null ? html`<${Loading} lines=${2} label="Loading the logins" />`
      : logins.map((login) => html`<div key=${login.id} class="setting"><span class="kind-mark plain"><${Icon} name="display" /></span><div class="grow min"><strong title=${visibleLine(login.user_agent ?? "")}>${deviceWords(login.user_agent)}</strong><p class="muted small">since <${Time} at=${login.created_at} /> · last used <${Time} at=${login.last_used_at} /></p></div>
        ${login.current ? html`<span class="chip live">this one</span>` : html`<button class="button danger" aria-label=${`End it: the login of ${deviceWords(login.user_agent)}`} onClick=${() => void end(login)}>End it</button>`}</div>`)}
  </section>`;
}
