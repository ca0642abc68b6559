// Numbers, times and long names in a readable form.

import { element } from "./page.js";

const MINUS = "\u2212";
const SPACE = "\u202f"; // narrow no-break space

/** A share as a percentage, rounded down, so that a share short of a goal never reads as the goal, and "<" before the
smallest step where only 0 may read as 0; a dash if unknown. */
export function percent(share, digits = 1) {
  if (share === null) return "–";
  const factor = 10 ** digits;
  const steps = Math.floor(share * 100 * factor + 1e-9);
  const [sign, shown] = !steps && share > 0 ? ["<", 1] : ["", steps];
  return `${sign}${(shown / factor).toFixed(digits)}${SPACE}%`;
}

export const whole = (count) => count.toLocaleString("en").replaceAll(",", SPACE);

export const score = (value) => value.toFixed(3);

/** A difference in percent of the scale, with its sign; a dash if unknown. */
export function signed(gain) {
  if (gain === null) return "–";
  const rounded = Math.round(gain * 100);
  return `${rounded > 0 ? "+" : rounded < 0 ? MINUS : "±"}${Math.abs(rounded)}`;
}

/** A date and time in the local time zone. */
export const when = (time) => new Date(time).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });

export const day = (time) => new Date(time).toLocaleDateString("en-GB", { dateStyle: "medium" });

/** A duration in a suitable unit. */
export function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)}${SPACE}s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)}${SPACE}min`;
  return `${(seconds / 3600).toFixed(1)}${SPACE}h`;
}

/** Time that a number of judgments takes one assessor at a campaign's pace, in seconds; null if the pace is unknown. */
export const secondsOf = (number, { per_hour }) => (per_hour === null ? null : (number / per_hour) * 3600);

/** "1 pair", "2 pairs". */
export const count = (number, one, many = `${one}s`) => `${whole(number)} ${number === 1 ? one : many}`;

/** "2 judgments", or "2 judgments and 7 comparisons" if there are any. */
export const givenOf = ({ judgments, comparisons }) => `${count(judgments, "judgment")}${comparisons ? ` and ${count(comparisons, "comparison")}` : ""}`;

/** True if anybody has judged a pair or compared two candidates. */
export const begun = ({ judged, comparisons }) => judged + comparisons > 0;

/** The service's sentence on a changed ranking, with both confidences as percentages, like elsewhere on the page. */
export const changeInWords = (said, before, after) => said.replace(/ from \S+ to \S+\.$/, ` from ${percent(before)} to ${percent(after)}.`);

const STATUS = { open: ["Open", "good"], paused: ["Paused", "warn"], closed: ["Closed", "bad"] };

export const NOT_OPENED = "not opened yet"; // the service's reason to pause a new campaign

/** True for a new campaign that was never opened. */
export const unopened = ({ status, reason }) => status === "paused" && reason === NOT_OPENED;

/** A campaign's status in words, and the kind of its badge. */
export const statusOf = (now) => (unopened(now) ? ["Not open yet", "warn"] : STATUS[now.status]);

/** True if people have compared candidates, and graded no pair. */
export const comparesOnly = ({ judged, comparisons }) => comparisons > 0 && judged === 0;

/** True if further answers of a campaign are comparisons, whose number is not forecast. */
export const goesOnComparing = (campaign) => campaign.only_compares || comparesOnly(campaign);

/** The pairs of systems that have an order: those that are not known to be equal. */
export const ordered = (pairs) => pairs.filter((pair) => !pair.equal);

/** Number of pairs of systems known to be equal, among all. */
export const equalInWords = (equal, all) => (equal < all ? count(equal, "pair of systems is equal", "pairs of systems are equal") : all === 1 ? "the two systems are equal" : `all ${whole(all)} pairs of systems are equal`);

/** True if a goal is met only because no two systems differ, or there is only one. */
export const unordered = ({ confidence }, goal) => confidence === null && /^(confidence|every)\b/.test(goal);

// A goal of a confidence, with the number of graded pairs that it waits for, if it names one.
const ON_CONFIDENCE = /^(confidence|every)\s*(?:\(\s*floor\s*=\s*([\d.]+)\s*\)\s*)?=\s*([\d.]+)$/;

/** A goal in words where they are short: confidence=0.95, every(floor=0)=0.95, judgments=30. */
export function goalInWords(goal) {
  const [, name, floor, share] = ON_CONFIDENCE.exec(goal.trim()) ?? [];
  if (!name) return goal.replace(/^judgments\s*=\s*(\d+)$/, (_, number) => count(Number(number), "judgment"));
  const sure = percent(Number(share), 0), least = Number(floor);
  const waits = floor === undefined ? "" : least ? `, once ${count(least, "pair is", "pairs are")} graded` : ", without waiting for graded pairs";
  return `${name === "every" ? `confidence of ${sure} in every pair of systems` : `mean confidence of ${sure}`}${waits}`;
}

/** True if a goal waits for graded pairs, whatever its confidence: unless its floor is 0. */
export const wantsGrades = (goal) => Number(/[(,]\s*floor\s*=\s*([\d.]+)/.exec(goal)?.[1] ?? 1) > 0;

// Models and rules of choosing pairs that come with audiosim, in a few words; extensions have names only.
const WORDS = {
  joint: "all that is known of a pair, and judgments of related pairs",
  mout: "what the systems found, artist, genre",
  mjud: "judgments of other results",
  loutput: "as mout, by team",
  ljudge: "as mjud, by team",
  historical: "grades of past years",
  uniform: "every grade equally likely",
  drawn: "at random, more often where the order is in doubt",
  differences: "those that affect most pairs of systems",
  unsettled: "as differences, among pairs of systems below 95 %",
  doubts: "those that most lower the doubt about the order",
  scores: "those of the least certain scores",
  variances: "those that make scores most certain",
  pooled: "from the top of all rankings downwards",
  random: "at random",
};

/** A model or a rule of choosing pairs, with a few words on it if it comes with audiosim. */
export const explained = (name) => (Object.hasOwn(WORDS, name) ? `${name}: ${WORDS[name]}` : name);

/** The state that a forecast of the remaining judgments is about, once the campaign has gone on; else empty. */
export const asOf = ({ pool, judged }, { unjudged }) => (pool - unjudged === judged ? "" : `as of ${count(pool - unjudged, "judged pair")}`);

/** A sentence on links that no other computer can open, because this page's address is this computer's own; else empty. */
export const onlyHere = () => (["localhost", "127.0.0.1", "[::1]"].includes(location.hostname) ? " It works on this computer only: whoever runs the service can give it an address for other people." : "");

/** The confidence required by a goal such as confidence=0.95; null for goals of another kind. */
export function target(goal) {
  const [, name, , share] = ON_CONFIDENCE.exec(goal) ?? [];
  return name === "confidence" ? Number(share) : null;
}

/** True if everything is judged and the goal is still not met. */
export const exhausted = ({ judged, pool, confidence }, goal) => judged >= pool && confidence !== null && confidence < (target(goal) ?? 0);

/** About the wanted number of round numbers that cover a range. */
export function ticks(low, high, wanted) {
  const rough = (high - low || 1) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, place) => Number(((first + place) * step).toFixed(digits)));
}

/** A name in a sentence, shortened to a number of characters, and isolated because it may be written from right to
left. */
export const named = (name, most = Infinity) => element("bdi", name.length > most ? { title: apart(name) } : {}, short(name, most));

/** A name in a text without elements, such as a title, between characters that isolate its direction. */
export const apart = (name) => `\u2068${name}\u2069`;

/** A sentence of the service as nodes, with each of these names isolated and shortened. */
export function withNames(said, names, most) {
  const escaped = names.filter(Boolean).sort((one, other) => other.length - one.length).map((name) => name.replace(/[\^$.*+?()[\]{}|/]/g, "\\$&"));
  if (!escaped.length) return [said];
  const whole = new RegExp(`(?<![\\p{L}\\p{N}_-])(${escaped.join("|")})(?![\\p{L}\\p{N}_-])`, "u");
  return said.split(whole).map((part, place) => (place % 2 ? named(part, most) : part));
}

/** Names as a list in words: "A, B and C"; if there are too many, only their number. */
export function listed(names, most, others) {
  if (!names.length) return ["none"];
  if (names.length > most) return [`${whole(names.length)} ${others}`];
  return names.flatMap((name, place) => [place === 0 ? "" : place === names.length - 1 ? " and " : ", ", named(name, 24)]);
}

const TAIL = 8;

/** A name as its head and its tail; the head is shortened if there is no room. */
export function longName(name) {
  if (name.length <= TAIL) return element("bdi", {}, name);
  return element("bdi", { class: "long" }, element("span", { class: "head" }, name.slice(0, -TAIL)), element("span", { class: "tail" }, name.slice(-TAIL)));
}

/** A name shortened to a number of characters, in the middle, because names differ at both ends. */
export function short(name, most = 38) {
  if (name.length <= most) return name;
  const tail = Math.floor((most - 1) / 2);
  return `${name.slice(0, most - 1 - tail)}…${name.slice(-tail)}`;
}
