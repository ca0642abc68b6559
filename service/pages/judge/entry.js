// Who judges: by an invitation, a token, or a name where the service is open.

import { logIn, logOut, session, takeInvitation } from "../api.js";
import { byId } from "../page.js";
import { showScreen, submitted, trouble } from "./screens.js";

const NAME = "audiosim-name";

/** The assessor's name, and whether they can leave and let another in. */
export async function enter() {
  const { token, name } = takeInvitation();
  if (token) await patiently(() => present(token));
  for (;;) {
    const who = await patiently(session);
    if (who === null) await askForToken();
    else if (who.role === "assessor") return { assessor: who.name, leave: leaveSession };
    else return { assessor: await askForName(who.name, name?.trim()), leave: forgetName };
  }
}

/** Show a token again while the page is at work, as the last one has ended; whether it is the same assessor's. */
export async function enterAgain(assessor) {
  await askForToken();
  const who = await patiently(session);
  return who !== null && (who.role !== "assessor" || who.name === assessor);
}

async function patiently(ask) {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      await trouble(error.message);
    }
  }
}

async function askForToken() {
  for (;;) {
    showScreen("token");
    if (await patiently(async () => present(await submitted("token-form", "token")))) return;
  }
}

/** Show a token to the service; whether it took it. */
async function present(token) {
  const wrong = byId("token-wrong");
  try {
    await logIn(token);
    wrong.hidden = true;
    byId("token").value = "";
    return true;
  } catch (error) {
    if (![401, 422, 429].includes(error.status)) throw error;
    wrong.textContent = `That did not work: ${error.message}.`;
    wrong.hidden = false;
    return false;
  }
}

/** The name that an invitation gave, that was given on this device before, or that is given now. */
async function askForName(known, invited) {
  if (invited) return write(invited);
  const stored = read();
  if (stored) return stored;
  showScreen("name");
  byId("name").value = known;
  for (;;) {
    const name = await submitted("name-form", "name");
    if (name) return write(name);
  }
}

async function leaveSession() {
  await logOut();
  location.reload();
}

function forgetName() {
  write("");
  location.reload();
}

function read() {
  try {
    return localStorage.getItem(NAME);
  } catch {
    return null;
  }
}

function write(name) {
  try {
    localStorage.setItem(NAME, name);
  } catch {
    // storage may be forbidden: then the name is asked for again
  }
  return name;
}
