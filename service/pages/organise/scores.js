// The scores of the systems as judgments came in: a line for each, the best ones in colour and by name.

import { byId } from "../page.js";
import { score, short } from "../text.js";
import { axes, frameOf, leading, path } from "./chart.js";
import { dot, text } from "./svg.js";

const NAMED = 6;
const GAP_PX = 15; // between two names
const ROOM_PX = { wide: 250, narrow: 120 };
const SIGNS = { wide: 27, narrow: 13 };

/** Draw them; drawn anew whenever the page's width changes. */
export function scoresChart() {
  const chart = byId("scores");
  let shown = null;
  const draw = () => shown && chart.clientWidth && chart.replaceChildren(...drawing(shown, chart.clientWidth, chart.clientHeight));
  new ResizeObserver(draw).observe(chart);
  return (history) => {
    if (!history.moments.length) return;
    shown = { moments: leading(history.moments), systems: history.systems };
    describe(shown);
    draw();
  };
}

const ranked = ({ moments, systems }) => systems.map((name, place) => ({ name, place, now: moments.at(-1).scores[place] })).sort((one, other) => other.now - one.now);

function describe(shown) {
  const [best] = ranked(shown);
  const others = shown.systems.length > NAMED ? ` The ${NAMED} best now are in colour, the other ${shown.systems.length - NAMED} in grey.` : "";
  byId("scores-about").textContent = `Expected score of each system after so many judged pairs; ${short(best.name)} is first, with ${score(best.now)}.${others}`;
}

function drawing(shown, width, height) {
  const size = width > 640 ? "wide" : "narrow";
  const { moments } = shown;
  const all = moments.flatMap((moment) => moment.scores);
  const room = (Math.max(...all) - Math.min(...all) || 0.1) * 0.05;
  const edges = { top: 14, right: ROOM_PX[size], bottom: 34, left: 46 };
  const frame = frameOf(width, height, [moments[0].judged, Math.max(moments.at(-1).judged, moments[0].judged + 1)], [Math.min(...all) - room, Math.max(...all) + room], edges);
  const order = ranked(shown);
  const lines = order.map(({ place }, rank) => path(moments.map((moment) => [frame.x(moment.judged), frame.y(moment.scores[place])]), { class: `line ${kind(rank)}` }));
  return [...axes(frame, (at) => String(at)), ...lines.reverse(), ...names(order.slice(0, NAMED), frame, SIGNS[size])];
}

const kind = (rank) => (rank < NAMED ? `system-${rank}` : "rest");

/** The names beside the ends of their lines, moved apart where they would overprint. */
function names(best, { y, right, top, base }, signs) {
  const heights = best.map(({ now }) => y(now));
  heights.forEach((height, place) => (heights[place] = Math.max(height, place ? heights[place - 1] + GAP_PX : top)));
  const over = Math.max(0, heights.at(-1) - base);
  return best.flatMap(({ name, now }, rank) => [
    dot([right, y(now)], 3, { class: `dot ${kind(rank)}` }),
    text([right + 8, heights[rank] - over + 4], `${rank + 1} ${short(name, signs)}`, { class: `name ${kind(rank)}` }),
  ]);
}
