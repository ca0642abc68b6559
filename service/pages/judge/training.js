// Three pairs to learn the scale on, with comments on the grades where the right answer is known.

import { t } from "../language.js";

/**
 * The training of a batch, as `{pair, starts, teach}` each; `teach(said)` comments on the grades.
 *
 * pairs  pairs to be judged; their clips are combined in other ways
 */
export function trainingPairs(pairs) {
  const heard = pairs.filter((pair) => pair.query_sound && pair.document_sound);
  if (!heard.length) return [];
  const one = query(heard[0]);
  const other = heard.find((pair) => pair.query !== heard[0].query);
  const far = other ? query(other) : candidate(heard.at(-1));
  return [
    { pair: put(one, one), starts: () => [0, 0], teach: teachSame },
    { pair: put(one, far), starts: () => [0, 0], teach: teachChance },
    { pair: put(one, one), starts: (seconds) => [0, seconds / 2], teach: teachShifted },
  ];
}

const query = (pair) => ({ sound: pair.query_sound, peaks: pair.query_peaks });
const candidate = (pair) => ({ sound: pair.document_sound, peaks: pair.document_peaks });
const put = (one, other) => ({ query_sound: one.sound, query_peaks: one.peaks, document_sound: other.sound, document_peaks: other.peaks });

/** Mean height of the given grades on their scales, from 0 to 1. */
export function height(said, questions) {
  const shares = questions
    .filter(({ name, grade }) => grade && said[name] != null)
    .map(({ name, levels }) => said[name] / levels.at(-1));
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

function teachSame(share) {
  const fact = t("These two were the very same recording: that is the top of the scale.");
  return share >= 0.9
    ? { good: true, text: `${fact} ${t("You rated it there, or close to it.")}` }
    : { good: false, text: `${fact} ${t("You rated it lower. Use the whole scale: nothing can sound more alike than this.")}` };
}

function teachChance(share) {
  const fact = t("These two were paired at random and nobody has judged them, so there is no right answer. Most such pairs are not similar.");
  return share < 0.5
    ? { good: true, text: `${fact} ${t("You heard it that way too.")}` }
    : { good: true, text: `${fact} ${t("You found them rather similar. If that is what you hear, keep it, but save the top of the scale for what could replace the query.")}` };
}

function teachShifted(share) {
  const fact = t("This was one recording again, with the candidate starting half-way through. Moment-to-moment changes count little: judge the sound as a whole, such as instruments, rhythm and mood.");
  return share >= 0.7
    ? { good: true, text: `${fact} ${t("You rated it high, as most people do.")}` }
    : { good: false, text: `${fact} ${t("You rated it lower than most people do.")}` };
}
