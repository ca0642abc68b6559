// The organiser's page: asks the service how the campaign stands, again at every change, and shows it.

import { get, logIn, session, takeInvitation, wait } from "../api.js";
import { openEntrance } from "../entrance.js";
import { announce, byId, switchThemes } from "../page.js";
import { controls, showStatus } from "./control.js";
import { courseChart, courseOf } from "./course.js";
import { fileImports } from "./imports.js";
import { follow } from "./live.js";
import { eventLog } from "./log.js";
import { showNow } from "./now.js";
import { invitations, showAssessors, showCannot } from "./people.js";
import { planning } from "./plan.js";
import { showProgress } from "./progress.js";
import { showRanking } from "./ranking.js";
import { scoresChart } from "./scores.js";
import { line, svg } from "./svg.js";
import { makeTabs } from "./tabs.js";
import { count, duration, percent, target, when, whole } from "../text.js";

const COLLECTION = document.body.dataset.collection;
const PATH = `/v1/collections/${encodeURIComponent(COLLECTION)}`;
const STATUS = { open: ["Open", "good"], paused: ["Paused", "warn"], closed: ["Closed", "bad"] };
const LIVE = { live: ["Live", "good"], reconnecting: ["Reconnecting…", "warn"] };
const REST_MS = 500; // between two rounds of questions
const ESTIMATE_MS = 10_000; // between two estimates of what remains, each of which costs the service seconds

const known = { campaign: null, ranking: null, leanings: null, history: null, remaining: null, status: null, reached: null, state: null };
const drawCourse = courseChart();
const drawScores = scoresChart();
const showLog = eventLog(`${PATH}/log`);
const showImports = fileImports(PATH);

function badge(id, [said, kind]) {
  byId(id).textContent = said;
  byId(id).className = `badge ${kind}`;
  byId(id).hidden = false;
}

/** Make a function that runs one round at a time, and one more after it where it was called meanwhile. */
function rounds(work, restMs) {
  let running = false;
  let wanted = false;
  return async function round() {
    wanted = true;
    if (running) return;
    running = true;
    while (wanted) {
      wanted = false;
      try {
        await work();
        byId("trouble").hidden = true;
      } catch (error) {
        showTrouble(error);
        wanted ||= Boolean(error.passing);
      }
      await wait(restMs);
    }
    running = false;
  };
}

function showTrouble(error) {
  if (error.status === 401) {
    showEntrance();
    return;
  }
  byId("trouble").textContent = `Not up to date: ${error.message}.`;
  byId("trouble").hidden = false;
}

const refresh = rounds(async () => {
  const [campaign, ranking, leanings, progress] = await Promise.all(["campaign", "ranking", "assessors", "progress"].map((what) => get(`${PATH}/${what}`)));
  Object.assign(known, { campaign, ranking, leanings });
  showFigures(campaign);
  showNow(known);
  showRanking(ranking);
  showProgress(progress);
  showAssessors(campaign, leanings);
  showCannot(campaign);
  byId("campaign").hidden = false;
  await showLog();
  showImports().catch(showTrouble);
  known.history = await get(`${PATH}/history`);
  showCourse();
  if (!known.history.complete) refresh();
}, REST_MS);

const estimate = rounds(async () => {
  known.remaining = await get(`${PATH}/remaining`, { patienceMs: 60_000 });
  showCourse();
}, ESTIMATE_MS);

function showCourse() {
  if (!known.campaign || !known.history) return;
  showNow(known);
  showRemaining();
  showMet();
  drawScores(known.history);
  if (known.history.moments.length) drawCourse(courseOf(known.history, known.campaign, known.remaining));
}

function showFigures(campaign) {
  const { pace, goal } = campaign;
  byId("about").textContent = `${campaign.measure} · ${campaign.model}`;
  showChange({ ...campaign, reached: goal.reached });
  byId("goal").textContent = target(goal.goal) === null ? "" : `goal ${percent(target(goal.goal), 0)}`;
  showMeter(campaign.confidence, target(goal.goal));
  byId("pace").textContent = pace.per_hour === null ? "–" : `${whole(Math.round(pace.per_hour))} an hour`;
  byId("pace-more").textContent = pace.median_s === null ? "of one assessor's work; not known yet" : `of one assessor's work, ${duration(pace.median_s)} for one at the median`;
}

/** What every event says. */
function showChange(change) {
  byId("confidence").textContent = percent(change.confidence);
  byId("judged").textContent = percent(change.judged / change.pool);
  byId("pool").textContent = `${whole(change.judged)} of ${count(change.pool, "pair")}, ${count(change.judgments, "judgment")}`;
  byId("met").textContent = change.reached ? "Met" : "Not met yet";
  badge("status", STATUS[change.status]);
  showStatus(change.status);
  if (known.status && known.status !== change.status) announce(`The campaign is ${change.status}`);
  if (known.reached === false && change.reached) announce("The goal is met");
  known.status = change.status;
  known.reached = change.reached;
}

function showMeter(confidence, goal) {
  const marks = [svg("rect", { class: "track", x: 0.5, y: 2.5, width: "99.5%", height: 7, rx: 3.5 }), svg("rect", { class: "fill", x: 0, y: 2, width: `${confidence * 100}%`, height: 8, rx: 4 })];
  if (goal !== null) marks.push(line([`${goal * 100}%`, 0], [`${goal * 100}%`, 12], { class: "goal" }));
  byId("meter").replaceChildren(...marks);
}

function showMet() {
  const { met, goal } = known.history;
  const asked = target(goal) === null ? goal : `mean confidence of ${percent(target(goal), 0)}`;
  const first = met && (met.time ? `first met after ${count(met.judged, "judged pair")}, ${when(met.time)}` : "met before the first judgment");
  if (met && !known.reached) byId("met").textContent = "Not met now";
  byId("met-when").textContent = met ? `${asked}: ${first}` : `${asked}${counting(known.campaign)}`;
}

/** What a stopping rule goes by: less than the confidence, so that it keeps its word though it looks again and again. */
function counting({ goal, judged, confidence }) {
  if (!judged || target(goal.goal) === null || known.reached || percent(goal.level) === percent(confidence)) return "";
  return `; counts as ${percent(goal.level)} so far: more cautious while few pairs are judged`;
}

function showRemaining() {
  const left = known.remaining;
  if (!left) {
    byId("remaining").textContent = "…";
    return;
  }
  const hours = known.campaign.pace.per_hour && left.median ? `; some ${duration((left.median / known.campaign.pace.per_hour) * 3600)} of listening` : "";
  if (left.median === null) {
    byId("remaining").textContent = `more than ${whole(left.more_than)}`;
    byId("remaining-range").textContent = "there was no time to simulate all of it";
  } else if (left.high === 0) {
    byId("remaining").textContent = "0";
    byId("remaining-range").textContent = "the goal is met";
  } else {
    byId("remaining").textContent = `about ${whole(left.median)}`;
    byId("remaining-range").textContent = `${whole(left.low)} to ${whole(left.high)} with 80 %, in the opinion of the model ${left.model}${hours}`;
  }
}

function showEntrance(reason) {
  byId("campaign").hidden = true;
  byId("trouble").hidden = true;
  byId("live").hidden = true;
  byId("entrance").hidden = false;
  if (reason) byId("entrance-reason").textContent = reason;
}

function changed(change) {
  if (known.campaign) showChange(change);
  if (change.state === known.state) return;
  known.state = change.state;
  refresh();
  estimate();
}

function start(caller) {
  makeTabs();
  byId("leave").hidden = caller.open;
  controls(PATH, refresh);
  invitations(`${PATH}/invitations`);
  planning(PATH);
  nameIt().catch(showTrouble);
  follow(`${PATH}/events`, {
    change: changed,
    state: (state) => {
      if (byId("live").textContent !== LIVE[state][0] && state === "reconnecting") announce("The connection is lost; trying again");
      badge("live", LIVE[state]);
    },
    stopped: () => showEntrance("Your token is no longer good."),
  });
}

/** The heading is what people call the collection, not its folder. */
async function nameIt() {
  const { name } = await get(PATH);
  byId("title").textContent = name;
  document.title = `${name}: organiser`;
}

async function enter() {
  const { token } = takeInvitation();
  let caller;
  try {
    caller = token ? await logIn(token) : await session();
  } catch (error) {
    showEntrance(`${error.message}.`);
    return;
  }
  if (!caller) showEntrance();
  else if (caller.role !== "organiser") showEntrance(`You are signed in as ${caller.name}, who judges: the ranking would bias that. An organiser's token opens this page.`);
  else start(caller);
}

openEntrance();
switchThemes(byId("theme"));
enter();
