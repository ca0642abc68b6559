// The confidence as judgments came in: a line, the goal, when it was met, and where the model expects it to be met.

import { byId, element } from "../page.js";
import { dot, line, svg, text } from "./svg.js";
import { count, percent, target, ticks, when, whole } from "../text.js";

const EDGES = { top: 18, right: 14, bottom: 30, left: 46 };
const MOST_AHEAD = 4; // the future may take so many times the room of the past

/** Draw it; drawn anew whenever the page's width changes. */
export function courseChart() {
  const chart = byId("course");
  let shown = null;
  const draw = () => shown && chart.replaceChildren(...drawing(shown, chart.clientWidth, chart.clientHeight));
  new ResizeObserver(draw).observe(chart);
  return (course) => {
    shown = course;
    draw();
    describe(course);
    byId("course-table").tBodies[0].replaceChildren(...course.moments.map(momentRow));
  };
}

/** What is drawn: the history, with where the campaign stands now as its last moment, and what remains. */
export function courseOf(history, campaign, remaining) {
  const now = { judged: campaign.judged, confidence: campaign.confidence, time: null };
  const fresh = remaining && remaining.state === campaign.state && remaining.median !== null ? remaining : null;
  const moments = history.complete && history.state === campaign.state ? history.moments.slice(0, -1) : history.moments;
  return { moments: [...moments, now], met: history.met, target: target(history.goal), remaining: fresh, pool: campaign.pool };
}

function describe({ moments, met, target: goal, remaining }) {
  const last = moments.at(-1);
  const from = `${percent(moments[0].confidence)} at ${count(moments[0].judged, "judged pair")}`;
  const parts = [moments.length > 1 ? `From ${from} to ${percent(last.confidence)} at ${whole(last.judged)}.` : `${from}.`];
  if (goal !== null) parts.push(`The goal is ${percent(goal, 0)}${met ? `, first met at ${whole(met.judged)}` : ""}.`);
  if (goal !== null && remaining?.high) parts.push("The mark on the goal's line is where the model expects it to be met, in 8 of 10 simulations.");
  byId("course-about").textContent = parts.join(" ");
}

function momentRow(moment) {
  return element(
    "tr",
    {},
    element("td", { class: "number" }, whole(moment.judged)),
    element("td", { class: "number" }, percent(moment.confidence)),
    element("td", {}, moment.time ? when(moment.time) : moment.number === 0 ? "at the start" : "now"),
  );
}

function drawing(course, width, height) {
  const { moments, target: goal } = course;
  const [first, last] = [Math.min(...moments.map((m) => m.judged)), ending(course)];
  const bottom = Math.min(0.95, Math.floor(Math.min(...moments.map((m) => m.confidence), goal ?? 1) * 20) / 20);
  const inner = { x: width - EDGES.left - EDGES.right, y: height - EDGES.top - EDGES.bottom };
  const x = (judged) => EDGES.left + ((judged - first) / (last - first || 1)) * inner.x;
  const y = (confidence) => EDGES.top + (1 - (confidence - bottom) / (1 - bottom)) * inner.y;
  const frame = { x, y, first, last, bottom, left: EDGES.left, top: EDGES.top, right: width - EDGES.right, base: height - EDGES.bottom };
  const path = moments.map((moment, place) => `${place ? "L" : "M"}${x(moment.judged).toFixed(1)} ${y(moment.confidence).toFixed(1)}`).join("");
  return [...axes(frame), ...goalMarks(course, frame), svg("path", { class: "line", d: path }), ...nowMark(moments.at(-1), frame, goal)];
}

function ending({ moments, target: goal, remaining, pool }) {
  const first = moments[0].judged;
  const now = Math.max(...moments.map((m) => m.judged), first + 10);
  if (goal === null || !remaining) return now;
  return Math.min(pool, Math.max(now, Math.min(now + remaining.high, now + Math.max(now - first, 25) * MOST_AHEAD)));
}

function axes({ x, y, first, last, bottom, left, right, base }) {
  const across = ticks(bottom, 1, 4).flatMap((at) => [
    line([left, y(at)], [right, y(at)], { class: "grid" }),
    text([left - 6, y(at) + 4], `${Math.round(at * 100)} %`, { class: "tick", "text-anchor": "end" }),
  ]);
  const below = ticks(first, last, right - left > 400 ? 6 : 3).filter(Number.isInteger).flatMap((at) => [
    line([x(at), base], [x(at), base + 4], { class: "axis-line" }),
    text([x(at), base + 16], whole(at), { class: "tick", "text-anchor": "middle" }),
  ]);
  const name = text([right, base + 29], "judged pairs", { class: "tick", "text-anchor": "end" });
  return [...across, line([left, base], [right, base], { class: "axis-line" }), ...below, name];
}

function goalMarks({ target: goal, met, remaining, moments }, frame) {
  if (goal === null) return [];
  const { x, y, left, right, base, last } = frame;
  const marks = [
    line([left, y(goal)], [right, y(goal)], { class: "target" }),
    text([left + 4, y(goal) - 5], `goal ${percent(goal, 0)}`, { class: "target-label" }),
  ];
  if (met) {
    const side = x(met.judged) > (left + right) / 2 ? "end" : "start";
    marks.push(line([x(met.judged), y(met.confidence)], [x(met.judged), base], { class: "met" }), dot([x(met.judged), y(met.confidence)], 4, { class: "met-dot" }));
    marks.push(text([x(met.judged) + (side === "end" ? -6 : 6), base - 6], `met at ${whole(met.judged)}`, { class: "met-label", "text-anchor": side }));
  }
  if (remaining?.high) {
    const now = moments.at(-1).judged;
    const [from, middle, to] = [remaining.low, remaining.median, remaining.high].map((left) => x(Math.min(last, now + left)));
    marks.push(line([from, y(goal)], [to, y(goal)], { class: "expected" }));
    for (const end of [from, to]) marks.push(line([end, y(goal) - 5], [end, y(goal) + 5], { class: "expected" }));
    if (now + remaining.median <= last) marks.push(dot([middle, y(goal)], 4.5, { class: "expected-dot" }));
    marks.push(text([Math.min(middle, right - 60), y(goal) + 19], "expected", { class: "expected-label", "text-anchor": "middle" }));
  }
  return marks;
}

function nowMark(now, { x, y, right, top }, goal) {
  const at = [x(now.judged), y(now.confidence)];
  const side = at[0] > right - 60 ? "end" : "start";
  const above = goal !== null && now.confidence >= goal && at[1] > top;
  const label = [at[0] + (side === "end" ? 0 : 8), at[1] + (above ? -10 : 18)];
  return [dot(at, 4.5, { class: "dot" }), text(label, percent(now.confidence), { class: "now", "text-anchor": side })];
}
