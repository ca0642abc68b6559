// The confidence as answers came in: a line, the goal, when it was met, and when the model expects it to be met.

import { byId, element } from "../page.js";
import { count, goesOnComparing, percent, target, when, whole } from "../text.js";
import { answersOf, axes, frameOf, labelled, leading, path, roomFor, rulerOf, unitOf } from "./chart.js";
import { dot, line, svg } from "./svg.js";
import { rowOf } from "./tables.js";

const RIGHT_PX = 14;
const AHEAD = 2; // room for the future, as a multiple of the past's
const LEAST = 25; // answers that the past counts for, if there are fewer
const RIGHT_FIRST = ["above right", "below right", "above left", "below left"];
const LEFT_FIRST = ["above left", "below left", "above right", "below right"];

/** Draw the chart, again whenever the page's width changes. */
export function courseChart() {
  const chart = byId("course");
  let shown = null;
  const draw = () => shown && chart.clientWidth && chart.replaceChildren(...drawing(shown, chart));
  new ResizeObserver(draw).observe(chart);
  return (course) => {
    shown = course;
    draw();
    describe(course);
    byId("course-table", HTMLTableElement).tBodies[0].replaceChildren(...course.moments.map(momentRow));
  };
}

/**
 * Data of the chart: the history, with the present as its last moment, and the judgments that remain.
 *
 * Moments without anything to order have no confidence, and are left out.
 */
export function courseOf(history, campaign, remaining) {
  const now = { judged: campaign.judged, comparisons: campaign.comparisons, confidence: campaign.confidence, time: null };
  const told = remaining && remaining.median !== null && !goesOnComparing(campaign) && campaign.status !== "closed" ? { ...remaining, from: campaign.pool - remaining.unjudged + campaign.comparisons } : null;
  const before = history.complete && history.state === campaign.state ? history.moments.slice(0, -1) : history.moments;
  const known = ({ confidence }) => confidence !== null;
  const moments = history.moments.length ? leading([...before, now]).filter(known) : []; // without the first, the axis would begin elsewhere
  const met = history.met && known(history.met) && answersOf(history.met) <= answersOf(now) ? history.met : null; // otherwise it was withdrawn
  return { moments, met, target: target(history.goal), remaining: told, reached: campaign.goal.reached, pool: campaign.pool };
}

function describe(course) {
  const { moments, met, target: goal, remaining } = course;
  const last = moments.at(-1);
  const from = `${percent(moments[0].confidence)} at ${count(answersOf(moments[0]), ...unitOf(last))}`;
  const parts = [moments.length > 1 ? `From ${from} to ${percent(last.confidence)} at ${whole(answersOf(last))}.` : `${from}.`];
  if (goal !== null) parts.push(`The goal is ${percent(goal, 0)}${met ? `, first met at ${whole(answersOf(met))}` : ""}.`);
  byId("course-about").textContent = parts.join(" ");
  byId("course-expected").textContent = goal !== null && remaining?.high ? expected(course) : "";
}

function expected(course) {
  const [low, middle, high] = expectedAt(course.remaining);
  return `Expected at ${whole(middle)} ${namesOf(course)} (80 % interval: ${whole(low)}–${whole(high)}), as marked on the goal line${high > ending(course) ? "; the arrow leads beyond the chart" : ""}.`;
}

function momentRow(moment) {
  return rowOf(
    { judged: moment.judged, comparisons: moment.comparisons, confidence: moment.confidence, time: moment.time },
    ...[moment.judged, moment.comparisons].map((many) => element("td", { class: "number" }, whole(many))),
    element("td", { class: "number" }, percent(moment.confidence)),
    element("td", {}, moment.time ? when(moment.time) : moment.number === 0 ? "at the start" : "now"),
  );
}

function drawing(course, chart) {
  const { moments, target: goal } = course;
  const bottom = Math.min(0.95, Math.floor(Math.min(...moments.map((m) => m.confidence), goal ?? 1) * 20) / 20);
  const measure = rulerOf(chart);
  const edges = { right: RIGHT_PX, ...roomFor(measure, [inPercent(1)]) };
  const frame = frameOf(chart.clientWidth, chart.clientHeight, [answersOf(moments[0]), ending(course)], [bottom, 1], edges);
  const points = moments.map((moment) => [frame.x(answersOf(moment)), frame.y(moment.confidence)]);
  const now = points.at(-1);
  const marks = goal === null ? { drawn: [], labels: [] } : goalMarks(course, frame);
  const sides = now[0] > (frame.left + frame.right) / 2 ? LEFT_FIRST : RIGHT_FIRST;
  const nowLabel = { said: percent(moments.at(-1).confidence), kind: "now", spots: around(now, sides) };
  return [...axes(frame, inPercent, measure, namesOf(course)), ...marks.drawn, path(points, { class: "line" }), dot(now, 4.5, { class: "dot" }), ...labelled([nowLabel, ...marks.labels], frame, measure)];
}

/** A head of an arrow that leads to the right. */
const arrow = ([x, y]) => svg("path", { d: `M${x} ${y}l-7 -4.5v9z`, class: "expected-arrow" });

/** Name of what the horizontal axis counts. */
const namesOf = ({ moments }) => unitOf(moments.at(-1))[1];

const inPercent = (at) => `${Math.round(at * 100)} %`;

const around = (at, sides) => sides.map((side) => [at, side]);

/** Answers when the goal is expected to be met: ends of the interval, with the median between them. */
const expectedAt = ({ from, low, median, high }) => [low, median, high].map((more) => from + more);

/** The end of the axis: a round number of answers from its start, so that it stays for many judgments, and does not
depend on the forecast. */
function ending({ moments, target: goal, reached, pool }) {
  const first = answersOf(moments[0]);
  const past = answersOf(moments.at(-1)) - first;
  const wanted = goal === null || reached ? Math.max(past, 10) : past + Math.max(past, LEAST) * AHEAD;
  const power = 10 ** Math.floor(Math.log10(wanted));
  return Math.max(first + Math.max(past, 10), Math.min(pool + moments.at(-1).comparisons, first + [1, 2, 5, 10].map((factor) => factor * power).find((round) => round >= wanted)));
}

function goalMarks({ target: goal, met, remaining }, frame) {
  const { x, y, left, right, base, last } = frame;
  const height = y(goal);
  const drawn = [line([left, height], [right, height], { class: "target" })];
  const [start, end] = [[left - 3, height], [right + 6, height]];
  const labels = [{ said: `goal ${percent(goal, 0)}`, kind: "target-label", spots: [[start, "above right"], [end, "above left"], [start, "below right"], [end, "below left"]] }];
  if (met) {
    const at = [x(answersOf(met)), y(met.confidence)];
    drawn.push(line(at, [at[0], base], { class: "met" }), dot(at, 4, { class: "met-dot" }));
    labels.push({ said: `met at ${whole(answersOf(met))}`, kind: "met-label", spots: around([at[0], base - 2], ["above right", "above left"]) });
  }
  if (remaining?.high) {
    const [from, middle, to] = expectedAt(remaining);
    const ends = [x(Math.min(last, from)), x(Math.min(last, to))];
    drawn.push(line([ends[0], height], [to > last ? right + 6 : ends[1], height], { class: "expected" }));
    for (const [place, at] of [from, to].entries()) if (at <= last) drawn.push(line([ends[place], height - 5], [ends[place], height + 5], { class: "expected" }));
    if (to > last) drawn.push(arrow([right + 12, height]));
    if (middle <= last) drawn.push(dot([x(middle), height], 4.5, { class: "expected-dot" }));
    const said = middle <= last ? "expected" : `expected at ${whole(middle)}`;
    labels.push({ said, kind: "expected-label", spots: around([x(Math.min(last, middle)), height], ["below right", "below left", "above right", "above left"]) });
  }
  return { drawn, labels };
}
