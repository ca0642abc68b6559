// People who join by an open link: their identifier on another platform, and the mark that recognises their browser.

import { get, post } from "../api.js";
import { accept } from "../invitation.js";
import { m, t } from "../language.js";
import { byId } from "../page.js";
import { clicked, showScreen, trouble } from "./screens.js";
import { readSettings } from "./settings.js";
import { assessorName, deviceKey, drawnName } from "./store.js";

const JOIN = /^\/join\/[^/]+\/([^/]+)$/;
const OF_PAGE = ["ask", "batch", "break", "lang", "listen"];
// The service's reasons for admitting nobody, listed here for translation.
const SHUT = new Map([
  ["this link is closed", m("This link is closed: nobody new can take part.")],
  ["this link has ended", m("This link has ended: nobody new can take part.")],
  ["all places are taken", m("All places are taken. Thank you for your interest.")],
  ["judging has ended", m("This listening test has ended. Thank you for your interest.")],
]);

/** True if the page was opened by an open link. */
export const joins = () => JOIN.test(location.pathname);

/** The page's own settings in the address; an open link may have other parameters for other programs. */
export function pageSettings() {
  if (!joins()) return readSettings(location.search);
  return readSettings(String(ownParameters()));
}

function ownParameters() {
  return new URLSearchParams([...new URLSearchParams(location.search)].filter(([name]) => OF_PAGE.includes(name)));
}

/** Join the campaign, and remove the code and the identifier from the address; resolves when the person may judge. */
export async function join(collection) {
  const code = decodeURIComponent(JOIN.exec(location.pathname)[1]);
  const path = `/v1/collections/${encodeURIComponent(collection)}/join`;
  for (;;) {
    try {
      const { parameter } = await get(`${path}?${new URLSearchParams({ code })}`);
      const reference = parameter ? (new URLSearchParams(location.search).get(parameter) ?? "").trim() : "";
      if (parameter && !reference) {
        await shut(t("This link's address lacks your identifier, {parameter}. Please open it from where you found it.", { parameter }));
        continue;
      }
      const { name, token } = await post(path, { code, reference, device: deviceKey() }, { repeatable: true });
      const own = ownParameters();
      history.replaceState(null, "", `/judge/${encodeURIComponent(collection)}${own.size ? `?${own}` : ""}`);
      drawnName.write(name);
      if (token === null) assessorName.write(name);
      else await accept(token);
      return;
    } catch (error) {
      await sayWhy(error);
    }
  }
}

function sayWhy(error) {
  if (error.passing || ![404, 409, 422].includes(error.status)) return trouble(`${error.message}.`);
  return shut(SHUT.has(error.message) ? t(SHUT.get(error.message)) : t("That did not work: {why}.", { why: error.message }));
}

async function shut(why) {
  byId("shut").textContent = why;
  showScreen("shut");
  await clicked("shut-again");
  showScreen("loading");
}
