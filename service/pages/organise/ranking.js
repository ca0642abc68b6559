// The systems in their order, with intervals, and the confidence in the order of every two.

import { byId, element } from "../page.js";
import { rulerOf, steady } from "./chart.js";
import { grouped } from "./groups.js";
import { narrowed } from "./narrow.js";
import { dot, line, svg, text } from "./svg.js";
import { rowOf } from "./tables.js";
import { apart, count, equalInWords, listed, longName, named, ordered, percent, score, ticks, whole } from "../text.js";

const SHADES = [0.6, 0.8, 0.9, 0.95, 0.99]; // confidence from which a cell is a shade darker
const MOST_IN_TABLE = 60;
const MANY = 15; // systems; in a longer ranking the middle is hidden
const [FIRST, LAST] = [10, 3]; // systems shown in any case
const LETTERS = 3; // letters shown of a system's groups
const NAMED = 4; // systems named in a sentence
const LEAST = 5;
const APART_PX = 6; // between two numbers of the axis

let shownRange = null;

/** @type {{name: (system: string, shown: Node) => Node, before: (system: string) => Node | string} | null} */
let leading = null;

/** Add links to rows: `name` returns a node for the system's name, and `before` one to show before the rank. */
export function leadFurther(how) {
  leading = how;
}

/** The pairs of systems in the order of a ranking, and the table of the systems, by another ranking if one is given. */
export function showRanking(ranking, other = ranking) {
  showSystems(other);
  showPairs(ranking.systems.map((one) => one.system), ranking.pairs);
}

/** The table of the systems. */
export function showSystems(ranking) {
  const { systems } = ranking;
  const byName = pairsByName(ranking.pairs);
  const range = steady(widened(systems), shownRange);
  const given = [ranking.judged && count(ranking.judged, "judged pair"), ranking.comparisons && count(ranking.comparisons, "comparison")].filter(Boolean);
  const basis = given.length ? `from ${given.join(", ")} and the model's predictions of the rest` : "predicted, nothing judged";
  byId("ranking-about").textContent = `${ranking.measure}, ${basis} (${ranking.model}).`;
  const places = sharedRanks(systems.map((one) => one.expectation));
  const rows = systems.map((system, place) => systemRow(system, places[place], range, byName.get(nameOfPair(system.system, systems[place + 1]?.system)), ranking.top_k));
  const redraw = () => showSystems(ranking);
  const [found, groups] = [narrowed(systems, rows, redraw), grouped(systems, rows, redraw)];
  const chosen = found ?? groups;
  if (found) for (const row of rows) row.hidden = false;
  byId("ranking", HTMLTableElement).tBodies[0].replaceChildren(...(chosen ?? rows));
  byId("ranking").classList.toggle("without-groups", systems.some(({ group }) => group.length > LETTERS) || systems.every(({ group }) => group === systems[0].group));
  byId("ranking").classList.toggle("without-ranks", systems.every((one) => spans(one, systems)));
  if (!chosen) fold(rows);
  showSettled(systems);
  drawAxis(range);
}

const SAME = 1e-12; // share of the largest score: scores closer than this differ by rounding alone

/** Ranks by falling scores; equal ones share the best of their ranks, as they do in what the service says. */
export function sharedRanks(scores) {
  const near = SAME * Math.max(...scores.map(Math.abs));
  const ranks = [];
  scores.forEach((score, place) => ranks.push(place && scores[place - 1] - score <= near ? ranks[place - 1] : place + 1));
  return ranks;
}

const nameOfPair = (a, b) => `${a}\n${b}`;
const pairsByName = (pairs) => new Map(pairs.map((pair) => [nameOfPair(pair.a, pair.b), pair]));

/** @returns {[number, number]} */
export function widened(systems) {
  const low = Math.min(...systems.map((one) => one.low));
  const high = Math.max(...systems.map((one) => one.high));
  const room = (high - low || 0.1) * 0.04;
  return [low - room, high + room];
}

const place = (value, [low, high]) => `${((value - low) / (high - low)) * 100}%`;

function systemRow(system, rank, range, above, most) {
  return rowOf(
    { rank, ...system, width: system.high - system.low, above_next: above && !above.equal ? above.confidence : null },
    element("td", { class: "number" }, leading?.before(system.system) ?? "", String(rank)),
    element("th", { scope: "row", tabindex: -1, title: rankedAs(system, most) }, leading ? leading.name(system.system, longName(system.system)) : longName(system.system)),
    element("td", { class: "number" }, score(system.expectation)),
    element("td", { class: "interval" }, element("div", { class: "whiskers" }, whiskers(system, range), ends(system))),
    element("td", { class: "number next ranks" }, ranks(system)),
    element("td", { class: "next group", title: system.group }, system.group),
    element("td", { class: "number next" }, percent(system.best ?? 0, 0)),
    element("td", { class: "number next" }, !above ? "" : above.equal ? "equal" : percent(above.confidence, 0)),
  );
}

/** Conclusions from the intervals of ranks: systems that can be best, that are surely near the top, that can be last.
*/
function showSettled(systems) {
  const about = byId("ranking-settled");
  about.hidden = systems.length <= MANY;
  if (about.hidden) return;
  const open = systems.every((one) => spans(one, systems));
  const half = Math.floor(systems.length / 2);
  const of = (chosen) => listed(systems.filter(chosen).map((one) => one.system), NAMED, `of ${systems.length} systems`);
  const lines = [
    ["Could be best: ", ...of((one) => one.rank_low === 1), "."],
    ["Certainly in the upper half: ", ...of((one) => one.rank_high <= half), "."],
    ["Could be last: ", ...of((one) => one.rank_high === systems.length), "."],
  ];
  const said = open ? [["Nothing is settled yet: each system may have any rank."]] : lines;
  about.replaceChildren(...said.map((parts) => element("li", {}, ...parts)));
}

const spans = (system, systems) => system.rank_low === 1 && system.rank_high === systems.length;

let unfolded = false;

/** Hide the middle of a long ranking behind a button. */
function fold(rows) {
  const hidden = rows.length > MANY && !unfolded ? rows.slice(FIRST, -LAST) : [];
  if (!hidden.length) return;
  for (const row of hidden) row.hidden = true;
  const open = () => {
    unfolded = true;
    for (const row of hidden) row.hidden = false;
    more.remove();
    hidden[0].querySelector("th").focus();
  };
  const button = element("button", { type: "button", class: "plain", on: { click: open } }, `Show ${whole(hidden.length)} more systems`);
  // As many columns as fit on a phone, where more would leave no room for names.
  const more = element("tr", { class: "folded" }, element("td", { colspan: 4 }, button));
  hidden[0].before(more);
}

const ranks = ({ rank_low: low, rank_high: high }) => (low === high ? String(low) : `${low}–${high}`);

const rankedAs = (system, most) =>
  `${apart(system.system)}: rank ${ranks(system)}; best of all: ${percent(system.best ?? 0, 0)}; among the best ${most}: ${percent(system.top ?? 0, 0)}`;

/** An interval and its middle within a range; `at` is a value to draw a line at. */
export function whiskers(system, range, at = null) {
  const [low, middle, high] = [system.low, system.expectation, system.high].map((value) => place(value, range));
  return svg(
    "svg",
    { "aria-hidden": "true" },
    ...ticks(...range, 4).map((tick) => line([place(tick, range), -4], [place(tick, range), 40], { class: "grid" })),
    ...(at === null ? [] : [line([place(at, range), -4], [place(at, range), 40], { class: "zero" })]),
    line([low, 8], [high, 8], { class: "whisker" }),
    line([low, 4], [low, 12], { class: "whisker" }),
    line([high, 4], [high, 12], { class: "whisker" }),
    dot([middle, 8], 4.5, { class: "dot" }),
  );
}

const ends = (system) => element("span", { class: "ends" }, `${score(system.low)}–${score(system.high)}`);

new ResizeObserver(() => shownRange && drawAxis(shownRange)).observe(byId("axis"));

/** The numbers under the intervals, as many as fit. */
function drawAxis(range) {
  shownRange = range;
  const svgAxis = byId("axis");
  const measure = rulerOf(svgAxis);
  let free = -Infinity;
  const drawn = ticks(...range, 4).flatMap((at) => {
    const { width, above } = measure(String(at), "tick");
    const middle = ((at - range[0]) / (range[1] - range[0])) * svgAxis.clientWidth;
    const start = Math.max(0, Math.min(middle - width / 2, svgAxis.clientWidth - width));
    const mark = line([place(at, range), 0], [place(at, range), 5], { class: "grid" });
    if (start < free) return [mark];
    free = start + width + APART_PX;
    return [mark, text([start, 6 + above], String(at), { class: "tick" })];
  });
  svgAxis.replaceChildren(...drawn);
}

function showPairs(names, pairs) {
  const open = ordered(pairs), equal = pairs.length - open.length;
  const settled = open.filter((pair) => pair.confidence >= 0.95).length;
  const many = names.length > MOST_IN_TABLE;
  const parts = [...(open.length ? [`${whole(settled)} of ${count(open.length, "pair")} reach 95 %`] : []), ...(equal ? [`${equalInWords(equal, pairs.length)}${many ? "" : " (=)"}`] : [])].join("; ");
  const reach = `${parts.slice(0, 1).toUpperCase()}${parts.slice(1)}.`;
  byId("pairs-about").textContent = !pairs.length
    ? "There is only one system."
    : many
      ? `${reach} A table of all pairs is shown for up to ${MOST_IN_TABLE} systems; tick two in the ranking to compare them.`
      : `${open.length ? "Confidence, in percent and rounded down, that the row's system is better than the column's. " : ""}${open.length && equal ? "Numbers are places in this list: equal systems share a rank. " : ""}${reach}`;
  byId("pairs-frame").hidden = byId("legend").hidden = !pairs.length || many;
  byId("legend").hidden ||= !open.length;
  if (!many) byId("pairs").replaceChildren(...matrix(names, pairsByName(pairs)));
  showLegend();
  const least = open.toSorted((a, b) => a.confidence - b.confidence).slice(0, LEAST);
  byId("closest").hidden = !least.length;
  byId("least").replaceChildren(...least.map((pair) => element("li", {}, named(pair.a), " above ", named(pair.b), `: ${percent(pair.confidence)}`)));
}

function matrix(names, pairs) {
  const columns = names.slice(1).map((name, index) => element("th", { scope: "col", title: apart(name) }, String(index + 2), element("bdi", { class: "hidden-visually" }, ` ${name}`)));
  const rows = names.slice(0, -1).map((name, row) => {
    const cells = names.slice(1).map((other, column) => (column < row ? element("td") : cell(pairs.get(nameOfPair(name, other)), name, other)));
    return element("tr", {}, element("th", { scope: "row", title: apart(name) }, element("span", {}, element("span", { class: "rank" }, `${row + 1} `), longName(name))), ...cells);
  });
  return [element("thead", {}, element("tr", {}, element("td", {}, ""), ...columns)), element("tbody", {}, ...rows)];
}

function cell(pair, name, other) {
  if (!pair) return element("td");
  if (pair.equal) return element("td", { class: "shade-0", title: `${apart(name)} and ${apart(other)} are equal` }, "=", element("span", { class: "hidden-visually" }, " equal"));
  const { confidence } = pair;
  return element("td", { class: `shade-${shade(confidence)}`, title: `${apart(name)} above ${apart(other)}: ${percent(confidence)}` }, String(Math.floor(confidence * 100 + 1e-9)));
}

const shade = (confidence) => SHADES.filter((from) => confidence >= from).length;

function showLegend() {
  if (byId("legend").children.length) return;
  const words = ["50 +", ...SHADES.map((from) => `${from * 100} +`)];
  byId("legend").replaceChildren(...words.map((said, code) => element("li", { class: `shade-${code}` }, said)));
}
