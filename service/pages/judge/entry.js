// Identity of the assessor: by an invitation, a token, or a name if the service is open.

import { logIn, logOut, session, takeInvitation } from "../api.js";
import { accept } from "../invitation.js";
import { t, tnodes } from "../language.js";
import { byId } from "../page.js";
import { named } from "../text.js";
import { join, joins } from "./joining.js";
import { showScreen, submitted, trouble } from "./screens.js";
import { assessorName, Store } from "./store.js";

/**
 * The assessor's name, and how they leave the page to another person; `naming` is awaited before anybody is asked for
 * their name.
 */
export async function enter(collection, naming) {
  if (joins()) await join(collection);
  const { token, name } = takeInvitation();
  if (token) await patiently(() => present(token, accept));
  for (;;) {
    const who = await patiently(session);
    if (who === null) await askForToken();
    else if (who.role === "client") await askForAnother(...tnodes("You are signed in as {name}, with a token for programs, which cannot judge.", { name: named(who.name) }));
    else if (who.role === "assessor") return { assessor: who.name, leave: leaveSession };
    else return { assessor: await askForName(who.name, name?.trim(), naming), leave: forgetName };
  }
}

/** Renew a token that has ended while the page is in use; returns true if it belongs to the same assessor. */
export async function enterAgain(assessor) {
  await askForToken();
  const who = await patiently(session);
  return who !== null && (who.role !== "assessor" || who.name === assessor);
}

async function patiently(ask, before = "") {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      await trouble(`${before}${error.message}.`);
    }
  }
}

/** Explain why the present token cannot be used, and ask for another one. */
export async function askForAnother(...why) {
  byId("token-wrong").replaceChildren(...why, ` ${t("Open an assessor's link, or paste its token here.")}`);
  byId("token-wrong").hidden = false;
  await askForToken();
}

async function askForToken() {
  for (;;) {
    showScreen("token");
    if (await patiently(async () => present(await submitted("token-form", "token")))) return;
  }
}

/** Send a token to the service; returns true if it is accepted. */
async function present(token, show = logIn) {
  const wrong = byId("token-wrong");
  try {
    await show(token);
    wrong.hidden = true;
    byId("token", HTMLInputElement).value = "";
    return true;
  } catch (error) {
    if (![401, 422, 429].includes(error.status)) throw error;
    wrong.textContent = t("That did not work: {why}.", { why: error.message });
    wrong.hidden = false;
    return false;
  }
}

/** The name from an invitation, from an earlier visit on this device, or entered now. */
async function askForName(known, invited, naming) {
  if (invited) return assessorName.write(invited);
  const stored = assessorName.read();
  if (stored) return stored;
  await naming();
  showScreen("name");
  byId("name", HTMLInputElement).value = known;
  for (;;) {
    const name = await submitted("name-form", "name");
    if (name) return assessorName.write(name);
  }
}

async function leaveSession() {
  await patiently(logOut, `${t("You are still signed in:")} `);
  await Store.forgetAll();
  location.reload();
}

async function forgetName() {
  await Store.forgetAll();
  location.reload();
}
