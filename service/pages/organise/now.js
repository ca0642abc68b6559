// The present state: the verdict on the ranking, the next step, and the problems.

import { byId, element } from "../page.js";
import { asOf, begun, count, duration, exhausted, goalInWords, goesOnComparing, listed, named, ordered, percent, secondsOf, unopened, unordered, wantsGrades, whole, withNames } from "../text.js";
import { toTab } from "./tabs.js";

export const SURE = 0.95;
const NAME = 26; // characters of a name in a sentence
const NAMED = 3; // assessors named in a sentence
const LOW_ALPHA = 0.4; // agreement below which Krippendorff would not draw even tentative conclusions
const FAR = 0.15; // of the scale: distance from others' grades from which an assessor is reported
const SHARED = 5; // pairs also judged by others, needed to report this
const CHECKED = 50; // graded pairs before a goal is met, or one in SMALL of a small pool
const SMALL = 5;
const BY_CHANCE = 0.05; // share of assessors who seem to drift by chance, because the intervals are 95 %

/** Show it; `known` has campaign, ranking, leanings, judges, remaining and history, the last three null until computed.
*/
export function showNow(known) {
  byId("verdict").textContent = verdict(known);
  byId("verdict-about").replaceChildren(...about(known));
  showFit(known.ranking);
  byId("campaign").classList.toggle("forecast", forecasts(known.campaign));
  byId("next").replaceChildren(...points(nextSteps(known)));
  const wrong = troubles(known);
  byId("wrong").replaceChildren(...points(wrong.length ? wrong : [["Nothing found."]]));
}

const points = (items) => items.map((parts) => element("li", {}, ...parts));

/** True if the page waits for a forecast of the remaining judgments. */
const forecasts = ({ status, goal, totals }) => status !== "closed" && !goal.reached && totals.assessors > 0;

function verdict({ campaign, ranking, history }) {
  if (unordered(campaign, campaign.goal.goal)) return ranking.systems.length > 1 ? "All systems are equal" : "There is only one system";
  if (campaign.status === "closed") return `Closed at a confidence of ${percent(campaign.confidence)}`;
  if (campaign.goal.reached && exhausted(campaign, campaign.goal.goal)) return "Everything is judged";
  if (campaign.goal.reached) return `Goal met: judging can stop${begun(campaign) ? "" : " (predictions only, nothing judged yet)"}`;
  if (history?.met) return "The goal was met, but no longer is";
  return begun(campaign) ? "Not settled yet" : "Predictions only: nothing judged yet";
}

/** The result in the command's own words, and the basis of predictions of unjudged pairs, with numbers of pairs. */
function about({ campaign: { evidence, pool }, ranking }) {
  const said = withNames(ranking.sentence, ranking.systems.map((one) => one.system), NAME);
  const speaking = Object.entries(evidence).map(([name, known]) => `${WORDS[name] ?? name}${known === pool ? "" : ` (${percent(known / pool, 0)} of pairs)`}`);
  return [...said, ...(speaking.length ? [` Predictions use: ${speaking.join(", ")}.`] : []), ...ranking.notes.map((note) => ` ${note}.`)];
}

const WORDS = { output: "the systems' results" }; // kinds of evidence with another name on this page

const FIT = { PASS: "good", FAIL: "bad", "NOT CHECKED": "" };

/** Result of the model check, in the command's words; nothing if no ranking depends on it. */
function showFit({ fit, fit_sentence: said, judged, pool }) {
  byId("fit").hidden = judged >= pool;
  byId("fit").className = `note small ${FIT[fit]}`;
  byId("fit").textContent = said;
}

function nextSteps({ campaign, ranking, remaining }) {
  const publish = toTab("publish", "Publish the results");
  const files = toTab("download", "download the judgments");
  if (campaign.status === "closed") return [[publish, ", ", files, ", or resume the campaign."]];
  const steps = campaign.status === "paused" ? [[unopened(campaign) ? "Open the campaign: nobody can judge before." : "Resume the campaign: nobody can judge while it is paused."]] : [];
  const people = campaign.totals.assessors;
  if (campaign.goal.reached) return [...steps, [publish, " and close the campaign, ", files, ...(campaign.judged < campaign.pool && ordered(ranking.pairs).length ? [", or keep judging to decide ", toTab("pairs", "the closest comparisons")] : []), "."], ...(campaign.all_asked && campaign.twice ? [[`${count(campaign.twice, "pair waits", "pairs wait")} for a second person: `, toTab("invite", "invite one"), "."]] : [])];
  if (!people) return [...steps, [toTab("invite", "Invite assessors"), `: ${begun(campaign) ? "nobody judges here yet" : "nobody has judged yet"}.${notGraded(campaign)}`]];
  if (campaign.all_asked) return [...steps, ["Everyone who judges here has answered all that they may. Going on needs another person: ", toTab("invite", "invite one"), `.${notGraded(campaign)}`], ...closest(ranking)];
  return [...steps, [left(campaign, remaining, people)], ...closest(ranking)];
}

/** Remaining work, for one person and for the present assessors. */
function left(campaign, remaining, people) {
  const { pace } = campaign, goal = goalInWords(campaign.goal.goal);
  if (!remaining || remaining.preliminary) return "Keep judging: estimating how many judgments the goal takes…";
  if (remaining.median === null) return `Keep judging: over ${count(remaining.more_than, "more judgment")} to the goal (${goal}).`;
  if (goesOnComparing(campaign)) return `Keep comparing to the goal (${goal}): how many comparisons it takes is not forecast. Graded pairs would be about ${whole(remaining.median)}.${notGraded(campaign)}`;
  const when = asOf(campaign, remaining);
  const seconds = secondsOf(remaining.median, pace);
  const each = people > 1 ? ` (${duration(seconds / people)} for each of ${people} assessors)` : "";
  return `Keep judging: about ${count(remaining.median, "more judgment")} to the goal (${goal})${seconds === null ? "" : `, roughly ${duration(seconds)} of listening${each}`}${when && `; ${when}`}.`;
}

/** Reason why comparisons alone do not meet a goal; empty if they may. */
const notGraded = (campaign) => (!goesOnComparing(campaign) || !wantsGrades(campaign.goal.goal) || campaign.judged >= Math.min(CHECKED, campaign.pool / SMALL) ? "" : " No comparison counts towards the pairs that have to be graded before the goal is met: 50, or a fifth of a small pool. Comparisons alone meet only a goal that does not wait for graded pairs (floor=0 on the page that creates a test).");

function closest({ pairs }) {
  const open = ordered(pairs).filter((pair) => pair.confidence < SURE).sort((a, b) => a.confidence - b.confidence);
  if (!open.length) return [];
  return [["Closest: ", toTab("pairs", named(open[0].a, NAME), " above ", named(open[0].b, NAME)), `, ${percent(open[0].confidence)}.`]];
}

function troubles({ campaign, ranking, leanings, judges }) {
  const { cannot, totals } = campaign;
  const pairs = new Set(cannot.map((one) => `${one.query}\n${one.document}`)).size;
  const gone = totals.dropped ? `; ${whole(totals.dropped)} no longer asked for` : "";
  return [
    ...(ranking.fit === "FAIL" ? [["The model does not fit the judgments: see the model check above."]] : []),
    ...(campaign.model_lost ? [[toTab("model", "Model"), `: ${campaign.model_lost}.`]] : []),
    ...(campaign.sounds ? [[`${campaign.sounds[0].toUpperCase()}${campaign.sounds.slice(1)}.`]] : []),
    ...equalTrouble(campaign, ranking),
    ...(pairs ? [[toTab("cannot", `${count(pairs, "pair")} cannot be judged`), `, assessors say${gone}.`]] : []),
    ...agreementTrouble(campaign.agreement),
    ...leaningTrouble(leanings.assessors),
    ...driftTrouble(judges ?? []),
    ...doubtTrouble(leanings.doubts),
  ];
}

/** Systems that no judgment can tell apart; before the first grade they return the same documents. */
function equalTrouble({ judged, pool }, { pairs }) {
  if (!pairs.length || ordered(pairs).length || judged === pool) return [];
  return [[judged ? "All systems are equal: further judging cannot tell them apart." : "All systems return the same documents within the measure's cutoff: judging cannot tell them apart."]];
}

/** People who answer faster than anybody can listen, or report more listening than there was time for. */
function doubtTrouble(doubts) {
  const found = Object.entries(doubts).map(([assessor, reason]) => ({ assessor, reason }));
  return found.length ? [[whoTo(found), ` may not listen: ${found.map((one) => one.reason).slice(0, 3).join("; ")}.`]] : [];
}

function agreementTrouble({ scales }) {
  const low = Object.entries(scales).find(([, scale]) => scale.pairs >= SHARED && scale.alpha_ordinal !== null && scale.alpha_ordinal < LOW_ALPHA);
  if (!low) return [];
  return [[toTab("assessors", "Assessors barely agree"), `: Krippendorff's alpha is ${low[1].alpha_ordinal.toFixed(2)} on the ${low[0]} scale.`]];
}

function leaningTrouble(assessors) {
  const far = assessors.filter((one) => one.shared >= SHARED && Math.abs(one.to_others) > FAR);
  return far.length ? [[whoTo(far), ` ${far.length === 1 ? "grades" : "grade"} more than ${percent(FAR, 0)} of the scale away from the others.`]] : [];
}

/** People whose grades certainly rise or fall from their first judgment to their last. */
export const drifts = (judge) => Boolean(judge) && judge.drift !== null && (judge.drift_low > 0 || judge.drift_high < 0);

function driftTrouble(judges) {
  const measured = judges.filter((one) => one.drift !== null);
  const drifting = measured.filter(drifts);
  if (!drifting.length) return [];
  const chance = Math.round(measured.length * BY_CHANCE);
  const caution = chance ? `of ${measured.length} assessors, about ${chance} would seem to by chance alone` : "one assessor in twenty would seem to by chance alone";
  return [[whoTo(drifting), ` ${drifting.length === 1 ? "grades" : "grade"} differently now than at first; ${caution}.`]];
}

const whoTo = (found) => toTab("assessors", ...listed(found.map((one) => (one.assessor ?? one.judge) || "unnamed"), NAMED, "assessors"));
