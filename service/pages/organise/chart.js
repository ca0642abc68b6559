// What charts over judged pairs have in common: axes, labels that keep clear of each other, a course that never turns back.

import { line, svg, text } from "./svg.js";
import { ticks, whole } from "../text.js";

const SIGN_PX = 7.2; // width of a sign of a label, about
const LINE_PX = 16;

/** Moments as they lead to the last: what was taken back later is not among them, so that judged pairs only grow. */
export function leading(moments) {
  const kept = [];
  for (const moment of [...moments].reverse()) if (!kept.length || moment.judged < kept.at(-1).judged) kept.push(moment);
  return kept.reverse();
}

/** Where things are: `x` and `y` turn values into places; `edges` is the room around the plot. */
export function frameOf(width, height, [first, last], [bottom, top], edges) {
  const inner = { x: Math.max(1, width - edges.left - edges.right), y: height - edges.top - edges.bottom };
  return {
    x: (value) => edges.left + ((value - first) / (last - first || 1)) * inner.x,
    y: (value) => edges.top + (1 - (value - bottom) / (top - bottom || 1)) * inner.y,
    first, last, bottom, highest: top, left: edges.left, top: edges.top, right: edges.left + inner.x, base: height - edges.bottom,
  };
}

export function axes({ x, y, first, last, bottom, highest, left, right, base }, written) {
  const across = ticks(bottom, highest, 4).flatMap((at) => [
    line([left, y(at)], [right, y(at)], { class: "grid" }),
    text([left - 6, y(at) + 4], written(at), { class: "tick", "text-anchor": "end" }),
  ]);
  const below = ticks(first, last, right - left > 400 ? 6 : 3).filter(Number.isInteger).flatMap((at) => [
    line([x(at), base], [x(at), base + 4], { class: "axis-line" }),
    text([x(at), base + 16], whole(at), { class: "tick", "text-anchor": "middle" }),
  ]);
  const name = text([right, base + 29], "judged pairs", { class: "tick", "text-anchor": "end" });
  return [...across, line([left, base], [right, base], { class: "axis-line" }), ...below, name];
}

/** The path through points; empty where there is none. */
export const path = (points, attributes) =>
  svg("path", { d: points.map(([x, y], place) => `${place ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join(""), ...attributes });

/**
 * Labels at points, each at the first of its spots where it is on the chart and on no other; left out where there is none.
 *
 * labels  `{said, kind, spots}`, the most important first; a spot is a point and a side, such as "above left"
 */
export function labelled(labels, { left, right, top, base }) {
  const taken = [];
  return labels.flatMap(({ said, kind, spots }) => {
    const wide = said.length * SIGN_PX;
    for (const [at, side] of spots) {
      const start = side.includes("left") ? at[0] - wide - 7 : at[0] + 7;
      const foot = side.includes("above") ? at[1] - 7 : at[1] + LINE_PX;
      const box = [start, foot - LINE_PX + 3, start + wide, foot + 3];
      const inside = box[0] >= left && box[2] <= right + 4 && box[1] >= top - 14 && box[3] <= base;
      if (!inside || taken.some((other) => meet(box, other))) continue;
      taken.push(box);
      return [text([side.includes("left") ? at[0] - 7 : start, foot], said, { class: kind, "text-anchor": side.includes("left") ? "end" : "start" })];
    }
    return [];
  });
}

const meet = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
