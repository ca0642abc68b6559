// What an assessor is asked for, by the collection's scale.

const WORDS = {
  broad: ["Not similar", "Somewhat similar", "Very similar"],
  binary: ["Not similar", "Similar"],
};
const MOST_BUTTONS = 8;
const GROSS = 50; // points of 100 between a broad grade's own range and the fine grade

/**
 * The questions of a scale: `{field, kind, levels, words}` each, in the order in which they are asked.
 *
 * field  of the judgment: fine, broad or grade
 * kind   "choices" (buttons) or "slider"
 * asked  "fine", "broad" or "both" where the organiser wants less or more than the scale alone needs; the grade on
 *        the collection's scale is always asked for
 */
export function questions(scale, asked = null) {
  if (scale.name === "fine") return asked === "fine" ? [fine()] : [broad(), fine()];
  if (scale.name === "broad") return asked === "both" ? [broad(), fine()] : [broad()];
  const kind = scale.levels.length <= MOST_BUTTONS ? "choices" : "slider";
  const words = WORDS[scale.name] ?? scale.levels.map((_, place) => endWord(place, scale.levels.length));
  return [{ field: "grade", kind, levels: scale.levels, words }];
}

const broad = () => ({ field: "broad", kind: "choices", levels: [0, 1, 2], words: WORDS.broad });
const fine = () => ({ field: "fine", kind: "slider", levels: Array.from({ length: 101 }, (_, level) => level), words: [] });

function endWord(place, count) {
  if (place === 0) return "Least similar";
  return place === count - 1 ? "Most similar" : "";
}

/** Where a slider starts that nobody has moved: in the middle of what the broad grade says, or of it all. */
export function startOf(levels, broadGrade) {
  const share = broadGrade == null ? 0.5 : [0.17, 0.5, 0.83][broadGrade];
  return Math.round(share * (levels.length - 1));
}

/** Whether a broad and a fine grade of one pair contradict each other so much that one is likely a slip. */
export function disagree({ broad: coarse, fine: exact }) {
  if (coarse == null || exact == null) return false;
  return (coarse === 0 && exact > GROSS) || (coarse === 2 && exact < GROSS) || (coarse === 1 && (exact < 10 || exact > 90));
}

/** A judgment's grades in words, such as "Somewhat similar, 62". */
export function inWords(answer) {
  if (answer.cannot != null) return `Cannot judge: ${answer.cannot}`;
  const said = [];
  if (answer.broad != null) said.push(WORDS.broad[answer.broad]);
  if (answer.fine != null) said.push(`${answer.fine} of 100`);
  if (answer.grade != null) said.push(`grade ${answer.grade}`);
  return said.join(", ");
}
