// The entry of the page: who is logged in, and which screen the address names.

import { html, render, signal, effect } from "./vendor.js";
import { ApiError, isLoggedIn, useCode } from "./api.js";
import { go, parts } from "./router.js";
import { forgetNotes } from "./notes.js";
import { forget, me, start, wasLocal } from "./state.js";
import { Boundary, Loading, Problem } from "./parts/states.js";
import { Login } from "./screens/login.js";
import { Shell } from "./screens/shell.js";
import { Inbox } from "./screens/inbox.js";
import { Account } from "./screens/account.js";
import { WorkspaceScreen } from "./screens/workspace.js";
import { Workspaces } from "./screens/workspaces.js";

/** Whether the address had a one-time code that was not good, or not good any more. */
const codeProblem = signal(false);
const startProblem = signal(/** @type {unknown} */ (null));

async function begin() {
  startProblem.value = null;
  try {
    codeProblem.value = await takeCode();
    await start();
  } catch (problem) {
    if (problem instanceof ApiError && problem.status === 401) {
      isLoggedIn.value = false;
      return;
    }
    startProblem.value = problem;
    setTimeout(begin, 3_000);
  }
}

/** `toolyard ui` opens the page with a one-time code in the fragment, which no server sees: it is exchanged for a login. @returns {Promise<boolean>} whether it was refused */
async function takeCode() {
  const match = /^#code=([^&/]+)(?:&to=(.*))?$/.exec(location.hash);
  if (!match) return codeProblem.value;
  go(match[2] ? `#${decodeURIComponent(match[2])}` : "#/inbox", { replace: true });
  try {
    await useCode(decodeURIComponent(match[1] ?? ""));
    return false;
  } catch (problem) {
    if (problem instanceof ApiError && problem.status >= 400 && problem.status < 500) return true;
    throw problem;
  }
}

effect(() => {
  if (isLoggedIn.value !== false) return;
  forget();
  forgetNotes();
});

function Screen() {
  const [place] = parts.value;
  if (place === "w") return html`<${WorkspaceScreen} />`;
  if (place === "workspaces") return html`<${Workspaces} />`;
  if (place === "settings") return html`<${Account} />`;
  return html`<${Inbox} />`;
}

function Page() {
  if (isLoggedIn.value === false) return html`<${Login} onDone=${begin} isLocal=${codeProblem.value || wasLocal()} isCodeRefused=${codeProblem.value} />`;
  if (startProblem.value && !me.value) return html`<main class="alone"><h1 class="sr-only">Toolyard</h1><${Problem} problem=${startProblem.value} onRetry=${begin} /></main>`;
  if (!me.value) return html`<main class="alone"><h1 class="sr-only">Toolyard</h1><${Loading} label="Loading the page" /></main>`;
  return html`<${Shell}><${Boundary} place=${parts.value.join("/")}><${Screen} /></${Boundary}></${Shell}>`;
}

const root = /** @type {HTMLElement} */ (document.getElementById("page"));
root.replaceChildren();
render(html`<${Page} />`, root);
void begin();
