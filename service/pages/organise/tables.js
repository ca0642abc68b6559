// Tables of the views behind a row of the ranking.

import { element } from "../page.js";

/** A table with a caption for screen readers; a head is its words, with a class if needed. */
export function table(caption, heads, body, kind) {
  const cells = heads.map(([said, of]) => element("th", { scope: "col", class: of }, said));
  return element("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: 0 }, element("table", { class: kind }, element("caption", { class: "hidden-visually" }, caption), element("thead", {}, element("tr", {}, ...cells)), body));
}

export const grade = (value) => String(Math.round(value * 10) / 10);

/** An expected grade, with the interval of a single grade. */
export const expectedGrade = (one) => `${grade(one.expectation)} (${grade(one.low)}–${grade(one.high)})`;
