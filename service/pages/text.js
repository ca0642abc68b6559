// Numbers, times and long names as people read them.

import { element } from "./page.js";

const MINUS = "\u2212";
const SPACE = "\u202f"; // narrow, never broken

/** A share as a percentage, rounded down: what is short of a goal never reads as the goal; a dash where there is none. */
export function percent(share, digits = 1) {
  if (share === null) return "–";
  const factor = 10 ** digits;
  return `${(Math.floor(share * 100 * factor + 1e-9) / factor).toFixed(digits)}${SPACE}%`;
}

export const whole = (count) => count.toLocaleString("en").replaceAll(",", SPACE);

export const score = (value) => value.toFixed(3);

/** A difference in percent of the scale, with its sign; a dash where it is not known. */
export function signed(gain) {
  if (gain === null) return "–";
  const rounded = Math.round(gain * 100);
  return `${rounded > 0 ? "+" : rounded < 0 ? MINUS : "±"}${Math.abs(rounded)}`;
}

/** A date and time of this place. */
export const when = (time) => new Date(time).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });

export const day = (time) => new Date(time).toLocaleDateString("en-GB", { dateStyle: "medium" });

/** A stretch of time in the unit that suits it. */
export function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)}${SPACE}s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)}${SPACE}min`;
  return `${(seconds / 3600).toFixed(1)}${SPACE}h`;
}

/** "1 pair", "2 pairs". */
export const count = (number, one, many = `${one}s`) => `${whole(number)} ${number === 1 ? one : many}`;

/** The confidence that a goal such as confidence=0.95 asks for; null for goals of another kind. */
export function target(goal) {
  const found = /^confidence=([\d.]+)$/.exec(goal);
  return found ? Number(found[1]) : null;
}

/** True if judging ended because nothing is left to judge, short of the goal. */
export const exhausted = ({ judged, pool, confidence }, goal) => judged >= pool && confidence !== null && confidence < (target(goal) ?? 0);

/** Round numbers, about as many as wanted, that cover a range. */
export function ticks(low, high, wanted) {
  const rough = (high - low || 1) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, place) => Number(((first + place) * step).toFixed(digits)));
}

/** A name in a sentence, of at most so many signs; set apart, as it may be written from right to left. */
export const named = (name, most = Infinity) => element("bdi", name.length > most ? { title: apart(name) } : {}, short(name, most));

/** A name in a text that can hold no element, such as a title: between the signs that isolate its direction. */
export const apart = (name) => `\u2068${name}\u2069`;

/** A sentence of the service as nodes, in which each of these names is set apart and shortened. */
export function withNames(said, names, most) {
  const escaped = names.filter(Boolean).sort((one, other) => other.length - one.length).map((name) => name.replace(/[\^$.*+?()[\]{}|/]/g, "\\$&"));
  if (!escaped.length) return [said];
  const whole = new RegExp(`(?<![\\p{L}\\p{N}_-])(${escaped.join("|")})(?![\\p{L}\\p{N}_-])`, "u");
  return said.split(whole).map((part, place) => (place % 2 ? named(part, most) : part));
}

/** Names as a list in words: "A, B and C"; of more than so many only how many there are. */
export function listed(names, most, others) {
  if (!names.length) return ["none"];
  if (names.length > most) return [`${whole(names.length)} ${others}`];
  return names.flatMap((name, place) => [place === 0 ? "" : place === names.length - 1 ? " and " : ", ", named(name, 24)]);
}

const TAIL = 8;

/** A name as its head and its tail: where there is no room, the head is shortened. */
export function longName(name) {
  if (name.length <= TAIL) return element("bdi", {}, name);
  return element("bdi", { class: "long" }, element("span", { class: "head" }, name.slice(0, -TAIL)), element("span", { class: "tail" }, name.slice(-TAIL)));
}

/** A name of at most so many signs: shortened in the middle, as names differ at both ends. */
export function short(name, most = 38) {
  if (name.length <= most) return name;
  const tail = Math.floor((most - 1) / 2);
  return `${name.slice(0, most - 1 - tail)}…${name.slice(-tail)}`;
}
