// Stored data about the assessor: shown to them as a file, and deleted on request.

import { get, logOut, post } from "../api.js";
import { m, t, tnodes } from "../language.js";
import { byId } from "../page.js";
import { showScreen } from "./screens.js";
import { Store } from "./store.js";

const DRAWN = /^p-[a-z0-9]{12}$/; // names of people who joined by an open link

/** A day in the local format. */
const dayOf = (said) => new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "long", timeZone: "UTC" }).format(new Date(said));

/** Show how long answers can be traced to a person, if the organiser set a limit: before consent, at the start, and
with their data. */
export function showRetention({ kept_until: until }, assessor) {
  const words = DRAWN.test(assessor) ? m("Your data are kept until {day}. After that nobody can tell which answers are yours.") : m("The organiser keeps your data until {day}.");
  for (const id of ["consent-kept", "start-kept", "own-kept"]) {
    byId(id).hidden = !until;
    if (until) byId(id).replaceChildren(...tnodes(words, { day: dayOf(until) }));
  }
}

/** Wire the part of “My answers” about the person's data. */
export function ownData({ root, assessor, outbox }) {
  const trouble = (error) => {
    byId("own-trouble").textContent = t("That did not work: {why}.", { why: error.message });
    byId("own-trouble").hidden = false;
  };
  const attempt = (work) => () => {
    byId("own-trouble").hidden = true;
    work().catch(trouble);
  };
  byId("delete-data").hidden = !DRAWN.test(assessor);
  byId("ask-organiser").hidden = DRAWN.test(assessor);
  byId("download-data").addEventListener("click", attempt(() => download(root, assessor)));
  byId("delete-yes").addEventListener("click", attempt(async () => {
    await outbox.flush();
    await post(`${root}/forget`, { assessor });
    await logOut();
    await Store.forgetAll();
    byId("answers", HTMLDialogElement).close();
    showScreen("deleted");
  }));
}

async function download(root, assessor) {
  const found = await get(`${root}/personal-data?${new URLSearchParams({ assessor })}`);
  const address = URL.createObjectURL(new Blob([JSON.stringify(found, null, 1)], { type: "application/json" }));
  const link = Object.assign(document.createElement("a"), { href: address, download: `${assessor}.json` });
  link.click();
  URL.revokeObjectURL(address);
}
