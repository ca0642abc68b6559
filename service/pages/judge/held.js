// A paused or closed campaign: who paused or closed it, the safety of answers, and its resumption.

import { get, wait } from "../api.js";
import { m, moment, t, tn, tnodes } from "../language.js";
import { byId } from "../page.js";
import { named, unopened } from "../text.js";
import { showCompleted } from "./completed.js";
import { showScreen } from "./screens.js";

const LOOK_MS = 3_000;
const SAID = {
  paused: [m("{who} paused this listening test at {time}"), m("{who} paused this listening test on {time}")],
  closed: [m("{who} closed this listening test at {time}"), m("{who} closed this listening test on {time}")],
};

/** Show that there is nothing to judge for now; resolves when the campaign is open again. */
export async function untilOpen(work) {
  for (let shown = null; ; await wait(LOOK_MS)) {
    const now = await get(`${work.root}/status`).catch(() => null); // unreachable: try again later
    if (now?.status === "open") break;
    if (now) say(now, work.given, work.outbox.waiting);
    const status = now?.status ?? shown ?? "unknown";
    if (status !== shown) await showHeld(work, status);
    shown = status;
  }
  showScreen("loading");
}

/** Show the code and the way back that a person with answers is owed once the campaign is closed, or why they wait. */
async function showHeld(work, status) {
  const due = status === "closed" && work.given ? await work.completion() : null;
  if (due?.done && !due.screened && (due.completion || due.return_to)) showCompleted(due);
  else showScreen("held");
}

/** Resolves with true once the campaign is paused or closed, or with false once `stands` is no longer true. */
export async function untilHeld({ root }, stands) {
  for (;;) {
    await wait(LOOK_MS);
    if (!stands()) return false;
    const now = document.hidden ? null : await get(`${root}/status`).catch(() => null);
    if (now && now.status !== "open") return stands();
  }
}

function say(now, count, waiting) {
  const closed = now.status === "closed";
  byId("held-title").textContent = closed ? t("Judging has ended") : unopened(now) ? t("Not open yet") : t("Paused");
  byId("held-who").replaceChildren(...whoDid(now));
  byId("held-safe").hidden = !count;
  const unsent = closed ? t("They are sent if judging opens again.") : t("{waiting} on this device will be sent as soon as possible.", { waiting });
  const safe = closed && waiting ? t("Your answers are safe on this device.") : tn("Your answer is safe.", "All your {n} answers are safe.", count);
  byId("held-safe").textContent = `${safe}${waiting ? ` ${unsent}` : ""}`;
  const thanks = count ? t("Thank you for taking part. You can close this page.") : t("This listening test has ended. Thank you for your interest.");
  byId("held-then").textContent = closed ? thanks : t("You do not need to do anything: this page checks every few seconds and continues by itself.");
}

/** Person who paused or closed the campaign, the time and the reason, as far as known: as nodes. */
export function whoDid({ status, by, since, reason }) {
  if (unopened({ status, reason })) return [t("This listening test is not open yet.")];
  const when = new Date(since);
  const today = when.toDateString() === new Date().toDateString();
  const nodes = { who: by ? named(by) : t("The organiser"), time: moment(when, today) };
  return [...tnodes(SAID[status][today ? 0 : 1], nodes), ...(reason ? [": “", named(reason), "”."] : ["."])];
}
