// Who judges: by an invitation, a token, or a name where the service is open.

import { logIn, logOut, session, takeInvitation } from "../api.js";
import { byId } from "../page.js";
import { showScreen, submitted, trouble } from "./screens.js";

const NAME = "audiosim-name";

/** The assessor's name, and whether he can leave and let another in. */
export async function enter() {
  const invitation = takeInvitation();
  if (invitation) await patiently(() => present(invitation));
  for (;;) {
    const who = await patiently(session);
    if (who === null) await askForToken();
    else if (who.role === "assessor") return { assessor: who.name, leave: leaveSession };
    else return { assessor: await askForName(who.name), leave: forgetName };
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

async function askForName(known) {
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
