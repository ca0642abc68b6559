// The end for a person who is done: thanks, a completion code for the platform they came from, and the way back.

import { announce, byId } from "../page.js";
import { t, tn } from "../language.js";
import { showScreen } from "./screens.js";

/** Show that a person is done; `completion` and `return_to` are null for invited people. */
export function showCompleted({ answers, completion, return_to }) {
  byId("completed-text").textContent = tn("Your answer is saved.", "All your {n} answers are saved.", answers);
  show(completion, return_to);
}

/** Show that a person failed the headphone check; `found` is null if the service does not give the next step now. */
export function showScreenedOut(found) {
  byId("completed-title").textContent = t("Thank you for your interest");
  byId("completed-text").textContent = t("This listening test needs headphones, and the check did not find any. You cannot take part; you can close this page.");
  byId("completed-label").textContent = t("Your code");
  show(found?.completion, found?.return_to);
}

function show(completion, back) {
  byId("completed-code", HTMLInputElement).value = completion ?? "";
  byId("completed-code-box").hidden = !completion;
  byId("completed-back-box").hidden = !back;
  if (back) byId("completed-back", HTMLAnchorElement).href = back;
  byId("copy-code").onclick = copyCode;
  byId("open-answers").hidden = false;
  showScreen("completed");
}

async function copyCode() {
  const field = byId("completed-code", HTMLInputElement);
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    announce(t("Code copied"));
  } catch {
    announce(t("Code selected: copy it with the keyboard")); // the clipboard may be forbidden
  }
}
