// The login, and making the first account. The address stays as it is, so that a link leads where it says after it.

import { html, useState } from "../vendor.js";
import { logIn, register } from "../api.js";
import { Logo } from "../parts/icons.js";
import { messageOf } from "../parts/text.js";
import { ThemeSwitch } from "../parts/theme-switch.js";

/** For the person of this machine: there is no password, `toolyard ui` makes another code. @param {{ isCodeRefused: boolean, onOther: () => void }} props */
function LocalLogin({ isCodeRefused, onOther }) {
  return html`<main class="login"><div class="login-card">
    <div class="login-head"><${Logo} /><h1>Toolyard</h1></div>
    <p>${isCodeRefused ? "The code in this address is not good any more: each works once, and for a minute." : "This page is closed: its login has ended."}</p>
    <p class="spaced">Run <code>toolyard ui</code> in a terminal. It opens the page again.</p>
    <p class="login-foot"><button class="link" onClick=${onOther}>I have an account</button><${ThemeSwitch} /></p>
  </div></main>`;
}

/** @param {{ onDone: () => Promise<void>, isLocal: boolean, isCodeRefused: boolean }} props */
export function Login({ onDone, isLocal, isCodeRefused }) {
  const [hasAccount, setHasAccount] = useState(false);
  if (isLocal && !hasAccount) return html`<${LocalLogin} isCodeRefused=${isCodeRefused} onOther=${() => setHasAccount(true)} />`;
  return html`<${PasswordLogin} onDone=${onDone} />`;
}

/** @param {{ onDone: () => Promise<void> }} props */
function PasswordLogin({ onDone }) {
  const [isNew, setIsNew] = useState(false);
  const [problem, setProblem] = useState("");
  const [isBusy, setIsBusy] = useState(false);

  /** @param {SubmitEvent} event */
  const submit = async (event) => {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.target));
    const [email, password, name] = ["email", "password", "name"].map((field) => String(form.get(field) ?? "").trim());
    setIsBusy(true);
    setProblem("");
    try {
      if (isNew) await register({ email: email ?? "", password: password ?? "", ...(name ? { full_name: name } : {}) });
      await logIn(email ?? "", password ?? "");
      await onDone();
    } catch (failure) {
      const fields = /** @type {any} */ (failure).fields ?? {};
      const details = Object.entries(fields).map(([field, text]) => `${field}: ${text}`).join("; ");
      setProblem(details || messageOf(failure));
      setIsBusy(false);
    }
  };

  return html`<main class="login">
    <div class="login-card">
      <div class="login-head"><${Logo} /><h1>Toolyard</h1></div>
      <p class="muted">See what agents do, decide with the diff in front of you, and take anything back.</p>
      <form onSubmit=${submit}>
        ${isNew && html`<label class="field"><span>Your name</span><input name="name" autocomplete="name" maxlength="200" /></label>`}
        <label class="field"><span>Email</span><input name="email" type="email" required autocomplete="username" autofocus /></label>
        <label class="field"><span>Password</span><input name="password" type="password" required minlength=${isNew ? 12 : 1} autocomplete=${isNew ? "new-password" : "current-password"} />
          ${isNew && html`<small class="muted">At least 12 characters.</small>`}</label>
        ${problem && html`<p class="form-problem" role="alert">${problem}</p>`}
        <button class="button primary wide" disabled=${isBusy}>${isBusy ? "One moment…" : isNew ? "Make the account" : "Log in"}</button>
      </form>
      <p class="login-foot"><button class="link" onClick=${() => { setIsNew(!isNew); setProblem(""); }}>${isNew ? "I have an account" : "Make an account"}</button><${ThemeSwitch} /></p>
    </div>
  </main>`;
}
