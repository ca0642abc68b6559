// What matters now: the verdict on the ranking, what to do next, and what is wrong.

import { byId, element } from "../page.js";
import { count, duration, percent, short, target, whole } from "../text.js";
import { toTab } from "./tabs.js";

const SURE = 0.95;
const NAME = 26; // signs of a name, in a sentence
const LOW_ALPHA = 0.4; // agreement below which grades tell little: Krippendorff would not draw even tentative conclusions
const FAR = 0.15; // of the scale: how far from the others' grades an assessor may lie before that is said
const SHARED = 5; // pairs that others judged too, from which on that can be said
const BY_CHANCE = 0.05; // of the assessors seem to drift where nobody does, as drift is said with a 95 % interval

/** Show it; `known` has campaign, ranking, leanings, remaining and history, the last two null while they are worked out. */
export function showNow(known) {
  byId("verdict").textContent = verdict(known);
  byId("verdict-about").textContent = about(known);
  byId("next").replaceChildren(...listed(nextSteps(known)));
  const wrong = troubles(known);
  byId("wrong").replaceChildren(...listed(wrong.length ? wrong : [["Nothing that this page can see."]]));
}

const listed = (items) => items.map((parts) => element("li", {}, ...parts));

function verdict({ campaign, history }) {
  if (campaign.status === "closed") return `Closed, with a confidence of ${percent(campaign.confidence)}`;
  if (campaign.goal.reached) return `The goal is met: judging may stop${campaign.judged ? "" : " (predicted, nothing judged)"}`;
  if (history?.met) return "The goal was met, and is not any more";
  return campaign.judged ? "Not settled yet" : "Predicted, nothing judged";
}

function about({ campaign, ranking }) {
  return `${summary(ranking)} ${restingOn(campaign)}`.trim();
}

/** What the predictions of unjudged pairs rest on, and of how many pairs it is known. */
function restingOn({ evidence, pool }) {
  const spoke = Object.entries(evidence).map(([name, known]) => (known === pool ? name : `${name} (of ${percent(known / pool)} of the pairs)`));
  return spoke.length ? `Pairs that nobody judged are predicted from ${spoke.join(", ")}.` : "";
}

function summary({ groups, nearest, pairs, systems }) {
  if (systems.length < 2) return "There is only one system.";
  const settled = pairs.filter((pair) => pair.confidence >= SURE).length;
  return `${leaders(groups[0] ?? [], systems)} Taken one by one, ${whole(settled)} of ${count(pairs.length, "pair")} of systems are in an order that is sure to ${percent(SURE, 0)} or more.${separation(nearest)}`;
}

/** The next verdict to be had, and what it would take. */
function separation(nearest) {
  return nearest ? ` ${count(nearest.judgments, "more judgment")} would probably separate ${short(nearest.a, NAME)} and ${short(nearest.b, NAME)}.` : "";
}

function leaders(names, systems) {
  if (names.length === systems.length) return `Taken together, no two of the ${systems.length} systems can be told apart yet; ${short(systems[0].system, NAME)} is first by score.`;
  if (names.length === 1) return `${short(names[0])} is the best system.`;
  if (names.length <= 3) return `${names.slice(0, -1).map(short).join(", ")} and ${short(names.at(-1))} lead and cannot be told apart.`;
  return `${names.length} systems lead and cannot be told apart; ${short(systems[0].system, NAME)} is first by score.`;
}

function nextSteps({ campaign, ranking, remaining }) {
  const files = toTab("log", "Take the judgments as a file");
  if (campaign.status === "closed") return [[files, ", or resume the campaign to go on."]];
  const steps = campaign.status === "paused" ? [["Resume the campaign when it may go on: nobody can judge now."]] : [];
  const people = campaign.totals.assessors;
  if (campaign.goal.reached) return [...steps, [files, " and close the campaign; or go on, to be surer of ", toTab("pairs", "the least sure pairs"), "."]];
  if (!people) return [...steps, [toTab("invite", "Invite assessors"), ": nobody has judged anything yet."]];
  return [...steps, [left(campaign, remaining, people)], ...closest(ranking)];
}

/** How much work is left, for one person and for those who are here. */
function left({ pace, goal }, remaining, people) {
  if (!remaining) return "How many judgments are left is being worked out.";
  if (remaining.median === null) return `Go on judging: more than ${count(remaining.more_than, "pair")} are left to the goal (${goal.goal}).`;
  const hours = pace.per_hour ? (remaining.median / pace.per_hour) * 3600 : null;
  const each = people > 1 ? `, ${duration(hours / people)} for each of the ${people} who judge` : "";
  return `Go on judging: about ${count(remaining.median, "pair")} to the goal${hours === null ? "" : `, some ${duration(hours)} of listening${each}`}.`;
}

function closest({ pairs }) {
  const open = pairs.filter((pair) => pair.confidence < SURE).sort((a, b) => a.confidence - b.confidence);
  if (!open.length) return [];
  return [["Least sure: ", toTab("pairs", `${short(open[0].a, NAME)} above ${short(open[0].b, NAME)}`), `, ${percent(open[0].confidence)}.`]];
}

function troubles({ campaign, leanings }) {
  const { cannot, totals } = campaign;
  const pairs = new Set(cannot.map((one) => `${one.query}\n${one.document}`)).size;
  const gone = totals.dropped ? `, ${whole(totals.dropped)} no longer asked for` : "";
  return [
    ...(campaign.sounds ? [[`${campaign.sounds[0].toUpperCase()}${campaign.sounds.slice(1)}.`]] : []),
    ...(pairs ? [[toTab("cannot", `${count(pairs, "pair")} cannot be judged`), `, as assessors say${gone}.`]] : []),
    ...agreementTrouble(campaign.agreement),
    ...leaningTrouble(leanings.assessors),
    ...driftTrouble(leanings.assessors),
  ];
}

function agreementTrouble({ scales }) {
  const low = Object.entries(scales).find(([, scale]) => scale.pairs >= SHARED && scale.alpha_ordinal !== null && scale.alpha_ordinal < LOW_ALPHA);
  if (!low) return [];
  return [[toTab("assessors", "Assessors hardly agree"), `: Krippendorff's alpha is ${low[1].alpha_ordinal.toFixed(2)} on the ${low[0]} scale.`]];
}

function leaningTrouble(assessors) {
  const far = assessors.filter((one) => one.shared >= SHARED && Math.abs(one.to_others) > FAR);
  return far.length ? [[toTab("assessors", names(far)), ` ${far.length === 1 ? "grades" : "grade"} far from the others, by more than ${percent(FAR, 0)} of the scale.`]] : [];
}

function driftTrouble(assessors) {
  const measured = assessors.filter((one) => one.low !== null);
  const drifting = measured.filter((one) => one.low > 0 || one.high < 0);
  if (!drifting.length) return [];
  const chance = Math.round(measured.length * BY_CHANCE);
  const caution = chance ? `; of ${measured.length}, some ${chance} would seem to by chance alone` : "";
  return [[toTab("assessors", names(drifting)), ` ${drifting.length === 1 ? "grades" : "grade"} otherwise than at first${caution}.`]];
}

const names = (found) => (found.length <= 3 ? found.map((one) => short(one.assessor || "nobody named", 24)).join(", ") : `${found.length} assessors`);
