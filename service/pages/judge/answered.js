// Meaning of answers: the start of a slider, contradictory grades, answers in words.

import { listed, m, t } from "../language.js";

const STANDARD = ["broad", "fine", "grade", "note"]; // names reserved for the service's own questions
// Words of the service's own grades, which are translated; an organiser's words are shown unchanged.
const USUAL = [m("Least similar"), m("Most similar"), m("Lowest"), m("In between"), m("Highest"), m("No"), m("Yes"), m("Not similar"), m("Somewhat similar"), m("Very similar"), m("Similar"), m("nothing alike"), m("sounds the same")];
const GROSS = 50; // points of 100 between a broad grade's own range and the fine grade

/** Start of a slider that nobody has moved: the middle, or for a fine grade the middle of the broad grade's range. */
export function startOf({ name, levels }, said) {
  const share = name === "fine" && said.broad !== undefined ? [0.17, 0.5, 0.83][said.broad] : 0.5;
  return Math.round(share * (levels.length - 1));
}

/** True if a broad and a fine grade of one pair contradict each other so much that one is probably a slip. */
export function disagree({ broad: coarse = null, fine: exact = null }) {
  if (coarse === null || exact === null) return false;
  return (coarse === 0 && exact > GROSS) || (coarse === 2 && exact < GROSS) || (coarse === 1 && (exact < 10 || exact > 90));
}

/** An answer's grades and choices in words, such as "Somewhat similar, 62 of 100"; texts are left out. */
export function inWords(answer, questions) {
  if (answer.cannot != null) return t("Cannot judge: {why}", { why: answer.cannot });
  const said = questions.filter(({ name, kind }) => kind !== "text" && answer[name] != null);
  const aspects = questions.filter(({ name, grade }) => grade && !STANDARD.includes(name)).length > 1;
  const named = ({ name, grade }) => (aspects && grade ? `${name}: ` : "");
  return listed(said.map((question) => `${named(question)}${oneInWords(question, answer[question.name])}`));
}

/** The text above a question, translated if it is the service's own. */
export const headingOf = ({ name, text }) => (STANDARD.includes(name) ? t(text) : text);

/** A word of a question's level or end, translated if it is the service's own. */
export const wordOf = ({ grade }, word) => (grade && USUAL.includes(word) ? t(word) : word);

function oneInWords(question, value) {
  const { kind, levels, words } = question;
  const word = words[levels.indexOf(value)];
  if (word) return wordOf(question, word);
  return kind === "slider" || typeof value === "number" ? t("{value} of {top}", { value, top: levels.at(-1) }) : value;
}

/** An answer's texts, such as its note. */
export const textsOf = (answer, questions) => questions.filter(({ name, kind }) => kind === "text" && answer[name]).map(({ name }) => answer[name]);
