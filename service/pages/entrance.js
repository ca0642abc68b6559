// Entrance and exit of a page that needs a token: a form to sign in, and a button to sign out.

import { logIn, logOut } from "./api.js";
import { Store } from "./judge/store.js";
import { byId, element } from "./page.js";

/** Fill `#entrance-form`, show its errors in `#entrance-trouble`, and make `#leave` sign out. */
export function openEntrance() {
  const token = { id: "token", type: "password", autocomplete: "current-password", required: true, spellcheck: "false" };
  const field = element("input", token);
  const name = { type: "text", name: "username", autocomplete: "username", value: "audiosim", hidden: true };
  const form = byId("entrance-form");
  const button = element("button", { class: "primary", type: "submit" }, "Sign in");
  form.append(element("input", name), element("label", { for: "token" }, "Token"), field, element("div", {}, button));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await logIn(field.value.trim());
      location.reload();
    } catch (error) {
      byId("entrance-trouble").textContent = `${error.message}.`;
      byId("entrance-trouble").hidden = false;
    }
  });
  byId("leave").addEventListener("click", async () => {
    byId("leave", HTMLButtonElement).disabled = true;
    try {
      await logOut();
      await Store.forgetAll();
      location.reload();
    } catch (error) {
      byId("trouble").textContent = `You are still signed in: ${error.message}. Try again.`;
      byId("trouble").hidden = false;
      byId("leave", HTMLButtonElement).disabled = false;
    }
  });
}
