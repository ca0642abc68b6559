// Shared parts of charts over answers: axes, labels that keep clear of each other, a course without steps back.

import { line, svg, text } from "./svg.js";
import { count, ticks, whole } from "../text.js";

const TICK_PX = 4;
const GAP_PX = 6; // between a label and its neighbours

/** Answers that count at a moment, and what they are: words for one, and for many. */
export const answersOf = ({ judged, comparisons }) => judged + comparisons;
export const unitOf = ({ judged, comparisons }) => (!comparisons ? ["judged pair", "judged pairs"] : !judged ? ["comparison", "comparisons"] : ["judged pair or comparison", "judged pairs and comparisons"]);
export const answered = (moment) => count(answersOf(moment), ...unitOf(moment));

/** The moments that led to the last; withdrawn answers are left out, so that answers only grow. */
export function leading(moments) {
  const kept = [];
  for (const moment of [...moments].reverse()) if (!kept.length || answersOf(moment) < answersOf(kept.at(-1))) kept.push(moment);
  return kept.reverse();
}

/**
 * Measure texts as this chart will draw them, because fonts differ between machines, and people enlarge them.
 *
 * Returns a function of a text and its class: `{width, above, below}` in pixels, the last two from the baseline.
 * It is valid until the chart is drawn again.
 */
export function rulerOf(chart) {
  const probe = text([0, 0], "", { visibility: "hidden" });
  chart.append(probe);
  return (said, kind) => {
    probe.setAttribute("class", kind);
    probe.textContent = said;
    const { width, height, y } = probe.getBBox();
    return { width, above: -y, below: height + y };
  };
}

/** Room for the axes around a plot, given the labels of the vertical one: a row of numbers below, then the axis's name.
*/
export function roomFor(measure, labels) {
  const { above, below } = measure("0", "tick");
  const widest = Math.max(...labels.map((label) => measure(label, "tick").width));
  return { left: Math.ceil(widest) + 2 * GAP_PX, top: Math.ceil(above + below) + GAP_PX, bottom: Math.ceil(2.5 * (above + below)) };
}

/** Coordinates: `x` and `y` turn values into positions; `edges` is the room around the plot. */
export function frameOf(width, height, [first, last], [bottom, top], edges) {
  const inner = { x: Math.max(1, width - edges.left - edges.right), y: height - edges.top - edges.bottom };
  return {
    x: (value) => edges.left + ((value - first) / (last - first || 1)) * inner.x,
    y: (value) => edges.top + (1 - (value - bottom) / (top - bottom || 1)) * inner.y,
    first, last, bottom, highest: top, left: edges.left, top: edges.top, right: edges.left + inner.x, base: height - edges.bottom,
  };
}

/** A range that an axis keeps while it holds what is shown and is at most twice as wide. */
export const steady = ([low, high], before) => (before && before[0] <= low && before[1] >= high && before[1] - before[0] <= 2 * (high - low) ? before : [low, high]);

/** Both axes, with as many numbers below as fit; `name` is that of the horizontal one. */
export function axes({ x, y, first, last, bottom, highest, left, right, base }, written, measure, name) {
  const { above, below } = measure("0", "tick");
  const across = ticks(bottom, highest, 4).flatMap((at) => [
    line([left, y(at)], [right, y(at)], { class: "grid" }),
    text([left - GAP_PX, y(at) + (above - below) / 2], written(at), { class: "tick", "text-anchor": "end" }),
  ]);
  const foot = base + (above + below) / 2 + above; // clear of the lowest number of the vertical axis
  const widest = measure(whole(Math.floor(last)), "tick").width + 2 * GAP_PX;
  const wanted = Math.max(1, Math.min(6, Math.floor((right - left) / widest) - 1)); // ticks() may give one more
  const numbers = ticks(first, last, wanted).filter(Number.isInteger).flatMap((at) => [
    line([x(at), base], [x(at), base + TICK_PX], { class: "axis-line" }),
    text([x(at), foot], whole(at), { class: "tick", "text-anchor": "middle" }),
  ]);
  const said = text([right, foot + below + above], name, { class: "tick", "text-anchor": "end" });
  return [...across, line([left, base], [right, base], { class: "axis-line" }), ...numbers, said];
}

/** The path through points; empty if there are none. */
export const path = (points, attributes) =>
  svg("path", { d: points.map(([x, y], place) => `${place ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join(""), ...attributes });

/**
 * Labels at points, each at the first of its spots that is on the chart and free; a label without such a spot is left
 * out. * labels   `{said, kind, spots}`, the most important first; a spot is a point and a side, such as "above left"
 * measure  function returned by `rulerOf`
 */
export function labelled(labels, { left, right, base }, measure) {
  const taken = [];
  return labels.flatMap(({ said, kind, spots }) => {
    const { width, above, below } = measure(said, kind);
    for (const [at, side] of spots) {
      const start = side.includes("left") ? at[0] - width - GAP_PX : at[0] + GAP_PX;
      const foot = side.includes("above") ? at[1] - GAP_PX - below : at[1] + GAP_PX + above;
      const box = [start, foot - above, start + width, foot + below];
      const inside = box[0] >= left && box[2] <= right + GAP_PX && box[1] >= 0 && box[3] <= base;
      if (!inside || taken.some((other) => meet(box, other))) continue;
      taken.push(box);
      return [text([start, foot], said, { class: kind })];
    }
    return [];
  });
}

const meet = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
