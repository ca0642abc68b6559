// The plan, made on request and kept up to date while shown: judgments to the goal, ties that judging will not settle, and alternatives.

import { get, latest, wait } from "../api.js";
import { announce, byId, element } from "../page.js";
import { count, duration, goalInWords, longName, percent, whole } from "../text.js";
import { rowOf } from "./tables.js";

const PATIENCE_MS = 180_000; // the service simulates campaigns, which takes a while
const NEXT_MS = 2000; // until the next request, while a forecast is being computed
const LOOKS = 40;
const look = latest();
let wanted = ""; // number of listeners

/** Wire the form, which plans a collection for a number of listeners; returns a function that renews a shown plan. */
export function planning(path) {
  const listeners = byId("plan-listeners", HTMLInputElement);
  const make = byId("plan-make", HTMLButtonElement);
  byId("plan-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    make.disabled = true;
    byId("plan-trouble").hidden = true;
    byId("plan-said").textContent = "Estimating…";
    try {
      await showLatest(path, (wanted = listeners.value));
      announce("Plan ready");
    } catch (error) {
      byId("plan-said").textContent = "";
      byId("plan-trouble").textContent = `No plan: ${error.message}.`;
      byId("plan-trouble").hidden = false;
    } finally {
      make.disabled = false;
    }
  });
  let renewing = false, again = false;
  return async () => {
    if (make.disabled || byId("plan-found").hidden) return;
    again = true; // also if it is being renewed, for an earlier state
    if (renewing) return;
    renewing = true;
    try {
      while (again) {
        again = false;
        await showLatest(path, wanted);
      }
    } finally {
      renewing = false;
    }
  };
}

/** Show the present plan, and ask again until there is one from the present state or a later one, or another is wanted. */
async function showLatest(path, listeners) {
  const asked = `${path}/plan?listeners=${encodeURIComponent(listeners)}`;
  const campaign = await get(`${path}/campaign`);
  for (let looks = 0, old = true; old && looks <= LOOKS && listeners === wanted; looks++) {
    if (looks) await wait(NEXT_MS);
    await look(get(asked, { patienceMs: PATIENCE_MS }), (plan) => {
      old = plan.state < campaign.state || plan.preliminary;
      if (!plan.preliminary) show(plan, campaign, old ? "; a newer plan is being worked out" : "");
    }, listeners);
  }
}

function show(plan, campaign, more = "") {
  byId("plan-said").textContent = said(plan, campaign);
  byId("plan-about").textContent = `After ${count(plan.judged, "judged pair")}${more}: ${count(plan.campaigns, "campaign")} simulated with grades drawn from ${plan.model}. The interval is widened by the error of such plans in replays.`;
  byId("plan-otherwise-frame").hidden = !plan.otherwise.length;
  byId("plan-unsettled-frame").hidden = !plan.unsettled.length;
  byId("plan-unsettled-about").textContent = plan.unsettled.length ? "" : "None: the order of every pair is probably settled at the goal, or no simulated campaign met it.";
  byId("plan-found").hidden = false;
  byId("plan-further-frame").hidden = !plan.further.length;
  rows("plan-further", plan.further, (one) => [one.what, whole(one.people), percent(one.panel), one.panel_width.toFixed(3), percent(one.listeners), one.listeners_width.toFixed(3)]);
  rows("plan-otherwise", plan.otherwise, (one) => [one.what, whole(one.queries), whole(one.judgments), `${one.separated.toFixed(1)} of ${whole(one.pairs)}`, `${one.low.toFixed(1)}–${one.high.toFixed(1)}`]);
  rows("plan-unsettled", plan.unsettled, (one) => [longName(one.a), longName(one.b), percent(one.confidence), one.queries === null ? "over 10 000" : whole(one.queries)]);
}

function said(plan, { pool, status }) {
  const the = status === "closed" ? "If judging resumes, the" : "The";
  if (plan.judgments === null) return `${the} goal (${goalInWords(plan.goal)}) takes more than ${count(plan.low, "judgment")}: no simulated campaign met it in time.`;
  const goal = goalInWords(plan.goal), high = Math.min(plan.high, pool - plan.judged);
  const who = plan.listeners === 1 ? "for one listener" : `for each of ${whole(plan.listeners)} listeners`;
  return `${the} goal (${goal}) takes about ${count(plan.judgments, "more judgment")} (80 % prediction interval: ${whole(plan.low)}–${whole(high)}): ${duration(plan.hours * 3600)} ${who} at ${duration(plan.seconds_per_judgment)} a judgment.`;
}

/** Fill a table; a column is right-aligned if its head is. */
function rows(id, records, cells) {
  const heads = [...byId(id, HTMLTableElement).tHead.rows[0].cells];
  const cell = (value, column) => element(column ? "td" : "th", { class: heads[column].className || null, scope: column ? null : "row" }, value);
  byId(id, HTMLTableElement).tBodies[0].replaceChildren(...records.map((one) => rowOf(one, ...cells(one).map(cell))));
}
