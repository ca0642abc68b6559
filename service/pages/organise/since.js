// Changes since yesterday, or since the last visit from this browser.

import { get, latest } from "../api.js";
import { byId, element } from "../page.js";
import { count, named, percent, when, whole } from "../text.js";
import { inWords } from "./log.js";

const DAY_MS = 86_400_000;
const PATIENCE_MS = 60_000; // the model is trained again as of that moment
const NAMED = 6; // systems, pairs or people named in a line

let path = "";
const look = latest();
/** @type {string | null} */
let lastVisit = null;

/** Wire the choice of a moment; the end of this visit is the next one's "last visit". */
export function recentChanges(collectionPath, failed) {
  path = collectionPath;
  const key = `audiosim-visit:${path}`;
  try {
    lastVisit = localStorage.getItem(key);
    addEventListener("pagehide", () => localStorage.setItem(key, new Date().toISOString()));
  } catch {
    // storage may be forbidden: there is then no last visit
  }
  if (lastVisit === null) byId("since").querySelector("option[value=visit]").remove();
  byId("since").addEventListener("change", () => showChanges().catch(failed));
}

const moments = { day: () => new Date(Date.now() - DAY_MS), week: () => new Date(Date.now() - 7 * DAY_MS), visit: () => new Date(lastVisit) };

export function showChanges() {
  const { value } = byId("since", HTMLSelectElement);
  const request = get(`${path}/changes?${new URLSearchParams({ since: moments[value]().toISOString() })}`, { patienceMs: PATIENCE_MS });
  return look(request, (found) => {
    byId("since-about").textContent = `Since ${when(found.since)}.`;
    byId("since-list").replaceChildren(...lines(found).map((parts) => element("li", {}, ...parts)));
  }, value);
}

function lines(found) {
  const people = Object.entries(found.answers);
  if (!people.length && !found.moved.length && !found.acts.length && found.judged === found.judged_before) return [["Nothing changed."]];
  const answers = people.reduce((sum, [, many]) => sum + many, 0);
  const who = some(people, ([name, many]) => [named(name || "unnamed", 24), ` ${whole(many)}`]);
  const joined = found.joined.length ? [" New: ", ...some(found.joined, (name) => [named(name || "unnamed", 24)]), "."] : [];
  return [
    people.length ? [`${count(answers, "answer")} by ${count(people.length, "person", "people")}: `, ...who, ".", ...joined] : ["Nobody judged."],
    [`${found.judged ? `Judged pairs: ${whole(found.judged_before)} then, ${whole(found.judged)} now. ` : ""}Confidence: ${percent(found.confidence_before)} then, ${percent(found.confidence)} now.`],
    found.moved.length ? ["Ranks that moved: ", ...some(found.moved, (one) => [named(one.system, 24), ` ${one.rank_before} → ${one.rank}`]), "."] : ["No rank moved."],
    ...verdicts("Now told apart: ", found.settled),
    ...verdicts("No longer told apart: ", found.unsettled),
    ...found.acts.slice(-NAMED).map((event) => [named(event.assessor || "An organiser", 24), " ", ...inWords(event), "."]),
    ...(found.acts.length > NAMED ? [[`Before that, organisers did ${count(found.acts.length - NAMED, "more thing")}: see the log.`]] : []),
  ];
}

const verdicts = (said, pairs) => (pairs.length ? [[said, ...some(pairs, (one) => [named(one.better, 24), " above ", named(one.worse, 24)]), "."]] : []);

/** The first few in words, and the number of others. */
function some(items, words) {
  const said = items.slice(0, NAMED).flatMap((one, place) => [place ? ", " : "", ...words(one)]);
  return items.length > NAMED ? [...said, ` and ${whole(items.length - NAMED)} more`] : said;
}
