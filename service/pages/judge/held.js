// A campaign that is paused or closed: who did it, that answers are safe, and when it goes on.

import { get, wait } from "../api.js";
import { byId } from "../page.js";
import { named } from "../text.js";
import { showScreen } from "./screens.js";

const LOOK_MS = 3_000;

/** Show that there is nothing to judge for now; done when the campaign is open again. */
export async function untilOpen({ root, answers, outbox }) {
  for (let shown = false; ; shown = true) {
    const now = await get(`${root}/status`).catch(() => null); // not reached: another time
    if (now?.status === "open") break;
    if (now) say(now, answers.size, outbox.waiting);
    if (!shown) showScreen("held");
    await wait(LOOK_MS);
  }
  showScreen("loading");
}

function say(now, count, waiting) {
  byId("held-title").textContent = now.status === "closed" ? "Judging has ended" : "Paused";
  byId("held-who").replaceChildren(...whoDid(now));
  byId("held-safe").hidden = !count;
  const kept = count === 1 ? "Your answer is" : `All your ${count} answers are`;
  byId("held-safe").textContent = `${kept} safe${waiting ? `; ${waiting} on this device will be sent as soon as possible` : ""}.`;
}

/** Who paused or closed the campaign, when, and why, as far as it is known: as nodes. */
export function whoDid({ status, by, since, reason }) {
  const when = new Date(since);
  const today = when.toDateString() === new Date().toDateString();
  const time = new Intl.DateTimeFormat(undefined, today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" }).format(when);
  return [by ? named(by) : "The organiser", ` ${status} this listening test ${today ? "at" : "on"} ${time}`, ...(reason ? [": “", named(reason), "”."] : ["."])];
}
