// The organiser's page: requests the campaign's state from the service, again at every change, and shows it.

import { get, latest, session, takeInvitation, wait } from "../api.js";
import { openEntrance } from "../entrance.js";
import { accept } from "../invitation.js";
import { announce, byId, switchThemes } from "../page.js";
import { addingFiles } from "./add_files.js";
import { asideDialog } from "./aside.js";
import { choice, choosing, linkTo, showAspects, showChosen } from "./chosen.js";
import { controls, showStatus } from "./control.js";
import { answered, answersOf } from "./chart.js";
import { courseChart, courseOf } from "./course.js";
import { fileImports } from "./imports.js";
import { adjudicating } from "./disputed.js";
import { showGiven } from "./given.js";
import { follow } from "./live.js";
import { drillDown, refreshDetail } from "./drill.js";
import { keepFocus } from "./focus.js";
import { eventLog } from "./log.js";
import { SURE, showNow } from "./now.js";
import { resultLinks } from "./links.js";
import { choosingModel } from "./model.js";
import { openLinks } from "./open_links.js";
import { invitations, showAssessors, showCannot } from "./people.js";
import { allowPictures, pictureDialog } from "./pictures.js";
import { planning } from "./plan.js";
import { publishing } from "./publish.js";
import { showProgress } from "./progress.js";
import { leadFurther, showRanking } from "./ranking.js";
import { changingTexts } from "./texts.js";
import { trainingModels } from "./train.js";
import { scoresChart } from "./scores.js";
import { recentChanges, showChanges } from "./since.js";
import { line, svg } from "./svg.js";
import { readAddress } from "./address.js";
import { equipAll } from "./tables.js";
import { goToPart, makeTabs, shownTab } from "./tabs.js";
import { asOf, apart, comparesOnly, count, duration, equalInWords, exhausted, givenOf, goalInWords, goesOnComparing, named, ordered, percent, secondsOf, statusOf, target, unopened, unordered, when, whole } from "../text.js";

const COLLECTION = document.body.dataset.collection;
const PATH = `/v1/collections/${encodeURIComponent(COLLECTION)}`;
const LIVE = { live: ["Live", "good"], reconnecting: ["Reconnecting…", "warn"] };
const REST_MS = 2000; // between two rounds of requests; the content of an event is shown at once
const HISTORY_MS = 6000; // between two requests for the history, which is long; the latest moment is known without it
const ESTIMATE_MS = 10_000; // between two forecasts of the remaining judgments, which take the service seconds
const NEXT_MS = 2000; // until the next request, while a forecast is being computed

const known = { campaign: null, ranking: null, leanings: null, judges: null, orderEffects: [], history: null, remaining: null, status: null, reached: null, state: null };
const [showingSystems, showingProgress] = [latest(), latest()];
const drawCourse = courseChart();
const drawScores = scoresChart();
const showLog = eventLog(`${PATH}/log`, showTrouble);
const showImports = fileImports(PATH);
const showPlan = planning(PATH);
const showPublications = publishing(PATH, () => refresh());
const showModel = choosingModel(PATH, () => {
  refresh();
  recall();
});
const showTrainings = trainingModels(PATH, () => showModel());
const showTexts = changingTexts(PATH);
const turnAside = asideDialog(PATH, () => refresh());
const showDisputed = adjudicating(PATH, () => ({ names: Object.keys(known.campaign.assessors), aside: known.leanings.aside, shared: known.campaign.agreement.pairs }), () => refresh());

function badge(id, [said, kind]) {
  byId(id).textContent = said;
  byId(id).className = `badge ${kind}`;
  byId(id).hidden = false;
}

/** A function that runs one round at a time, and once more if called meanwhile; the work may return how long to rest.
*/
function rounds(work, restMs) {
  let running = false;
  let wanted = false;
  return async function round() {
    wanted = true;
    if (running) return;
    running = true;
    while (wanted) {
      wanted = false;
      let rest;
      try {
        rest = await work();
        byId("trouble").hidden = true;
      } catch (error) {
        showTrouble(error);
        wanted ||= Boolean(error.passing);
      }
      await wait(rest ?? restMs);
    }
    running = false;
  };
}

function showTrouble(error) {
  if (error.status === 401) {
    showEntrance();
    return;
  }
  byId("trouble").textContent = `This page is out of date: ${error.message}.`;
  byId("trouble").hidden = false;
}

const refresh = rounds(async () => {
  const [campaign, ranking, leanings] = await Promise.all(["campaign", "ranking", "assessors"].map((what) => get(`${PATH}/${what}`)));
  Object.assign(known, { campaign, ranking, leanings });
  allowPictures(campaign);
  showFigures(campaign, ranking);
  showNow(known);
  showAspects(campaign.aspects);
  showSystemsNow().catch(showTrouble);
  showAssessors(known, turnAside);
  showCannot(campaign);
  const first = byId("campaign").hidden;
  byId("campaign").hidden = false;
  showCourse();
  await refreshTab();
  if (first) goToPart();
}, REST_MS);

/** The table of the systems, by the aspect in the address if it exists. */
async function showSystemsNow() {
  const { aspect } = readAddress();
  const { ranking, campaign } = known;
  const byOne = campaign.aspects.includes(aspect);
  if (byOne && byId("campaign").hidden) showTable(ranking, ranking); // the model of an aspect may take a while to learn
  await showingSystems(byOne ? get(`${PATH}/ranking?${new URLSearchParams({ aspect })}`, { patienceMs: 60_000 }) : ranking, (shown) => showTable(ranking, shown), byOne ? aspect : null);
}

function showTable(ranking, shown) {
  showRanking(ranking, shown);
  showChosen(ranking.systems.map((one) => one.system));
}

/** Fetch the content of a tab while it is open. */
const OF_TABS = {
  ranking: refreshDetail,
  progress: async () => {
    showChanges().catch(showTrouble);
    showPlan().catch(showTrouble); // it may wait for a forecast
    await showingProgress(get(`${PATH}/progress`), showProgress);
  },
  people: () => showDisputed(),
  settings: () => Promise.all([showGiven(PATH, () => known.campaign), showModel(), showTrainings(), showTexts()]),
  results: async () => {
    await Promise.all([showPublications(), showLog()]);
    showImports().catch(showTrouble);
  },
};

async function refreshTab(tab = shownTab()) {
  if (known.campaign) await OF_TABS[tab]?.();
}

const recall = rounds(async () => {
  known.history = await get(`${PATH}/course`);
  showCourse();
  if (known.history.complete) return HISTORY_MS;
  recall();
  return REST_MS;
}, HISTORY_MS);

const estimate = rounds(async () => {
  known.remaining = withinPool(await get(`${PATH}/remaining`));
  showCourse();
  if (!known.remaining.preliminary && (!known.campaign || known.remaining.state >= known.campaign.state)) return ESTIMATE_MS;
  estimate(); // the answer is the last forecast, while the next is being computed
  return NEXT_MS;
}, ESTIMATE_MS);

const watch = rounds(async () => {
  const found = await get(`${PATH}/judges?machines=false`, { patienceMs: 60_000 });
  [known.judges, known.orderEffects] = [found.judges, found.order_effects];
  if (!known.campaign) return;
  showNow(known);
  showAssessors(known, turnAside);
}, ESTIMATE_MS);

/** A forecast whose interval ends with the last pair: replays make it wider than there are pairs. */
const withinPool = (found) => ({ ...found, high: found.high && Math.min(found.high, found.unjudged) });

function showCourse() {
  if (!known.campaign || !known.history) return;
  showNow(known);
  showRemaining();
  showMet();
  drawScores(known.history);
  const course = courseOf(known.history, known.campaign, known.remaining);
  if (course.moments.length) drawCourse(course);
  else if (known.campaign.confidence === null) byId("course-about").textContent = "No two systems have an order, so there is no confidence to show.";
}

function showFigures(campaign, ranking) {
  const { pace, goal } = campaign;
  byId("about").textContent = `${campaign.measure} · ${campaign.model}`;
  byId("measure-about").textContent = campaign.meaning;
  if (known.status === null || campaign.state >= known.state) showChange({ ...campaign, reached: goal.reached }); // an event may be ahead
  byId("goal").textContent = [statedOf(campaign), ...decidedOf(ranking)].join("; ");
  showMeter(campaign.confidence, target(goal.goal));
  byId("judged-about").hidden = !campaign.comparisons;
  byId("pace").textContent = pace.per_hour === null ? "–" : `${whole(Math.round(pace.per_hour))} an hour`;
  byId("pace-more").textContent = pace.per_hour === null ? "per assessor; not known yet" : `per assessor; ${duration(secondsOf(1, pace))} an answer`;
}

/** Numbers of the pairs of systems that are decided, and that are equal. */
function decidedOf({ pairs }) {
  const open = ordered(pairs), equal = pairs.length - open.length;
  const decided = `${whole(open.filter((pair) => pair.confidence >= SURE).length)} of ${count(open.length, "pair")} of systems decided at ${percent(SURE, 0)}, each taken alone`;
  return [...(open.length ? [decided] : []), ...(equal ? [equalInWords(equal, pairs.length)] : [])];
}

/** The queries that the confidence is about, and the confidence about other queries of their kind. */
function statedOf({ about, of_this_kind: others }) {
  if (about.queries === "queries") return "for queries of this kind";
  return others === null ? "for these queries" : `for these queries (${percent(others)} for queries of this kind)`;
}

/** Functions that show the content of each event. */
function showChange(change) {
  byId("confidence").textContent = percent(change.confidence);
  const compares = comparesOnly(change); // the share of graded pairs would stay 0
  byId("judged").textContent = compares ? count(change.comparisons, "comparison") : percent(change.judged / change.pool);
  byId("pool").textContent = compares ? "no pair is graded yet" : `${whole(change.judged)} of ${count(change.pool, "pair")}, ${givenOf(change)}`;
  byId("publish-goal").hidden = change.reached || change.status === "closed";
  const nothing = known.campaign && unordered(change, known.campaign.goal.goal);
  byId("met").textContent = nothing ? "Nothing to order" : change.reached ? (known.campaign && exhausted(change, known.campaign.goal.goal) ? "All judged" : "Met") : change.status === "closed" ? "Not met" : "Not met yet";
  const now = { status: change.status, reason: known.campaign?.reason };
  badge("status", statusOf(now));
  showStatus(change.status, !unopened(now));
  if (known.status && known.status !== change.status) announce(`The campaign is ${change.status}`);
  if (known.reached === false && change.reached) announce("Goal met");
  byId("invite-closed").hidden = change.status !== "closed";
  if (known.campaign && known.campaign.status !== change.status) {
    known.campaign.status = change.status; // otherwise the next steps would stay those of the old status until the next round
    showNow(known);
  }
  known.status = change.status;
  known.reached = change.reached;
}

function showMeter(confidence, goal) {
  const marks = [svg("rect", { class: "track", x: 0.5, y: 2.5, width: "99.5%", height: 7, rx: 3.5 }), svg("rect", { class: "fill", x: 0, y: 2, width: `${(confidence ?? 0) * 100}%`, height: 8, rx: 4 })];
  if (goal !== null) marks.push(line([`${goal * 100}%`, 0], [`${goal * 100}%`, 12], { class: "goal" }));
  byId("meter").replaceChildren(...marks);
}

function showMet() {
  const { met, goal } = known.history;
  const asked = goalInWords(goal);
  if (unordered(known.campaign, goal)) {
    byId("met-when").textContent = asked;
    return;
  }
  if (exhausted(known.campaign, goal)) {
    byId("met-when").textContent = `${asked}, which judging everything does not reach`;
    return;
  }
  const first = met && (answersOf(met) || met.time ? `first met after ${answered(met)}${met.time ? `, ${when(met.time)}` : ""}` : "met before the first judgment");
  if (met && !known.reached) byId("met").textContent = "No longer met";
  byId("met-when").textContent = met ? `${asked}: ${first}` : `${asked}${counting(known.campaign)}`;
}

/** Confidence that a stopping rule uses: less than the stated one, because the rule is checked repeatedly. */
function counting({ goal, judged, confidence }) {
  if (!judged || target(goal.goal) === null || known.reached || percent(goal.level) === percent(confidence)) return "";
  return `; the goal counts it as ${percent(goal.level)}, as few pairs are judged yet`;
}

/** The forecast of the judgments to the goal; nothing until its interval is as good as it claims. */
function showRemaining() {
  const left = known.remaining;
  const { campaign } = known;
  const closed = campaign.status === "closed";
  const [figure, more] = closed ? ["none", "the campaign is closed"] : settled(campaign) ?? (left && !left.preliminary ? forecastOf(left, campaign) : ["estimating…", ""]);
  byId("remaining-title").textContent = closed ? "Judgments to come" : "Judgments to the goal";
  byId("remaining").textContent = figure;
  byId("remaining-range").textContent = more;
}

/** The figure that is certain without a forecast, and its reason; null if there is none. */
function settled(campaign) {
  if (campaign.judged >= campaign.pool) return ["0", "nothing is left to judge"];
  if (!campaign.goal.reached) return null;
  return ["0", unordered(campaign, campaign.goal.goal) ? "there is nothing to order" : "the goal is met"];
}

function forecastOf(left, campaign) {
  if (left.median === null) return [`more than ${whole(left.more_than)}`, "the simulation ran out of time"];
  if (left.high === 0) return ["0", "the goal is met"];
  const when = asOf(campaign, left);
  if (goesOnComparing(campaign)) return [`about ${count(left.median, "grade")}`, "if pairs are graded; how many comparisons is not forecast"];
  const seconds = secondsOf(left.median, campaign.pace);
  const hours = seconds ? `; roughly ${duration(seconds)} of listening` : "";
  return [`about ${whole(left.median)}`, `80 % prediction interval: ${whole(left.low)}–${whole(left.high)}${hours}${when && `; ${when}`}`];
}

function showEntrance(...reason) {
  byId("campaign").hidden = true;
  byId("trouble").hidden = true;
  byId("live").hidden = true;
  byId("entrance").hidden = false;
  if (reason.length) byId("entrance-reason").replaceChildren(...reason);
}

function changed(change) {
  if (known.campaign) showChange(change);
  if (change.state === known.state) return;
  known.state = change.state;
  refresh();
  recall();
  estimate();
  watch();
}

function start(caller) {
  makeTabs((tab) => refreshTab(tab).catch(showTrouble));
  equipAll({
    ranking: { resort: () => known.ranking && showSystemsNow().catch(showTrouble) },
    pairs: { place: byId("pairs-frame"), listed: () => known.ranking?.pairs ?? [] },
  });
  byId("leave").hidden = caller.open;
  controls(PATH, refresh);
  addingFiles(PATH, () => {
    refresh();
    showImports().catch(showTrouble);
  });
  invitations(`${PATH}/invitations`);
  openLinks(PATH);
  resultLinks(`${PATH}/links`);
  pictureDialog(PATH);
  recentChanges(PATH, showTrouble);
  leadFurther({ name: linkTo, before: choice });
  choosing();
  drillDown(PATH, COLLECTION, () => {
    if (!known.campaign) return;
    showAspects(known.campaign.aspects);
    showSystemsNow().catch(showTrouble);
  });
  nameIt().catch(showTrouble);
  follow(`${PATH}/events`, {
    change: changed,
    state: (state) => {
      if (byId("live").textContent !== LIVE[state][0] && state === "reconnecting") announce("Connection lost. Reconnecting.");
      badge("live", LIVE[state]);
    },
    stopped: () => showEntrance(caller.open ? "This service now asks for a token: sign in with yours." : "Your token has ended, or was withdrawn. Sign in with another one."),
  });
}

/** The heading is the collection's title, not its folder's name. */
async function nameIt() {
  const { name } = await get(PATH);
  byId("title").textContent = name;
  document.title = `Organising · ${apart(name)} · audiosim`;
}

async function enter() {
  const { token } = takeInvitation();
  let caller;
  try {
    caller = token ? await accept(token) : await session();
  } catch (error) {
    showEntrance(`${error.message}.`);
    return;
  }
  if (!caller) showEntrance();
  else if (caller.role !== "organiser") showEntrance("You are signed in as ", named(caller.name), caller.role === "assessor" ? ". Assessors must not see the ranking, as it would bias them. Sign in with an organiser's token." : ". Sign in with an organiser's token to open this page.");
  else start(caller);
}

openEntrance();
switchThemes(byId("theme"));
keepFocus();
enter();
