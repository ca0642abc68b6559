// The settings of the campaign that were given before it began, and that stay: the goal, the questions, the listening.

import { get, latest } from "../api.js";
import { byId, element } from "../page.js";
import { count, day, duration, explained, goalInWords, percent, whole } from "../text.js";

const COMPARISONS = { none: "none", some: "when they tell more than a grade", only: "only comparisons, no grades" };

const look = latest();

/** Show them for an address at the service; `campaign` returns the present state. */
export function showGiven(path, campaign) {
  return look(Promise.all([get(path), get(`${path}/questions`)]), ([collection, questions]) => {
    const rows = Object.entries(given(collection, questions, campaign()));
    byId("given").replaceChildren(...rows.flatMap(([name, said]) => [element("dt", {}, name), element("dd", { dir: "auto" }, said)]));
  });
}

function given({ scale, cutoff }, asked, campaign) {
  const grades = asked.questions.filter((one) => one.grade);
  return {
    Goal: goalInWords(campaign.goal.goal),
    Measure: campaign.measure,
    "Ranks that count": whole(cutoff),
    ...(asked.comparisons === "only" ? {} : { Scale: `${scale.name}: ${count(scale.levels.length, "level")} from ${whole(scale.levels[0])} to ${whole(scale.levels.at(-1))}` }),
    Grades: asked.comparisons === "only" ? "none" : grades.map(graded).join("; "),
    Comparisons: COMPARISONS[asked.comparisons],
    "Candidates on a page": whole(asked.candidates),
    "Listening to each clip": asked.listen_s ? `at least ${duration(asked.listen_s)}` : "as long as people like",
    Breaks: asked.break_after === null ? "suggested by time" : `suggested after ${count(asked.break_after, "answer")}`,
    "Pairs judged twice": campaign.second_share ? percent(campaign.second_share, 0) : "none",
    "Choice of the pairs": explained(campaign.selection_rule),
    Headphones: asked.headphones ? "checked before the start" : "not checked",
    Devices: asked.devices.join(", ") || "any",
    "People may be identified": asked.kept_until === null ? "without a last day" : `until ${day(asked.kept_until)}`,
  };
}

/** A question for a grade, with its control and the words on it. */
function graded({ text, kind, levels, words, ends }) {
  const labels = (words.length ? words : ends).filter(Boolean);
  return `${text} (${kind === "slider" ? "slider" : count(levels.length, "button")}${labels.length ? `: ${labels.join(", ")}` : ""})`;
}
