// The scores of the systems as answers came in: a line for each, the best ones in colour and by name.

import { byId } from "../page.js";
import { apart, named, score, short, ticks } from "../text.js";
import { answered, answersOf, axes, frameOf, leading, path, roomFor, rulerOf, unitOf } from "./chart.js";
import { sharedRanks } from "./ranking.js";
import { dot, text } from "./svg.js";

const NAMED = 6;
const NAMES_SHARE = 0.35; // largest share of the width for names
const NAME_PX = 8; // between the end of a line and its name

/** Draw the chart, again whenever the page's width changes. */
export function scoresChart() {
  const chart = byId("scores");
  let shown = null;
  const draw = () => shown && chart.clientWidth && chart.replaceChildren(...drawing(shown, chart));
  new ResizeObserver(draw).observe(chart);
  return (history) => {
    if (!history.moments.length) return;
    shown = { moments: leading(history.moments), systems: history.systems };
    describe(shown);
    draw();
  };
}

function ranked({ moments, systems }) {
  const order = systems.map((name, place) => ({ name, place, now: moments.at(-1).scores[place] })).sort((one, other) => other.now - one.now);
  const ranks = sharedRanks(order.map(({ now }) => now));
  return order.map((one, place) => ({ ...one, rank: ranks[place] }));
}

function describe(shown) {
  const order = ranked(shown), leaders = order.filter(({ rank }) => rank === 1);
  const first = leaders.length > 1 ? ` and ${leaders.length - 1} more lead with equal scores of ` : " leads with ";
  const others = shown.systems.length > NAMED ? ` The best ${NAMED} are in colour, the other ${shown.systems.length - NAMED} in grey.` : "";
  byId("scores-about").replaceChildren("Expected score of each system as answers came in. ", named(order[0].name, 38), `${first}${score(order[0].now)} at ${answered(shown.moments.at(-1))}.${others}`);
}

function drawing(shown, chart) {
  const measure = rulerOf(chart);
  const { moments } = shown;
  const all = moments.flatMap((moment) => moment.scores);
  const room = (Math.max(...all) - Math.min(...all) || 0.1) * 0.05;
  const [low, high] = [Math.min(...all) - room, Math.max(...all) + room];
  const order = ranked(shown);
  const best = order.slice(0, NAMED).map((one, place) => ({ ...one, said: fitting(one, kindOfName(place), chart.clientWidth * NAMES_SHARE, measure) }));
  const right = Math.max(...best.map(({ said }, rank) => measure(said, kindOfName(rank)).width)) + NAME_PX;
  const edges = { ...roomFor(measure, ticks(low, high, 4).map(String)), right: Math.ceil(right) };
  const frame = frameOf(chart.clientWidth, chart.clientHeight, [answersOf(moments[0]), Math.max(answersOf(moments.at(-1)), answersOf(moments[0]) + 1)], [low, high], edges);
  const lines = order.map(({ place }, rank) => path(moments.map((moment) => [frame.x(answersOf(moment)), frame.y(moment.scores[place])]), { class: `line ${kind(rank)}` }));
  return [...axes(frame, String, measure, unitOf(moments.at(-1))[1]), ...lines.reverse(), ...names(best, frame, measure)];
}

const kind = (rank) => (rank < NAMED ? `system-${rank}` : "rest");
const kindOfName = (rank) => `name ${kind(rank)}`;

/** A system's rank and as much of its name as fits into a width. */
function fitting({ name, rank }, kind, width, measure) {
  const written = (signs) => `${rank} ${apart(short(name, signs))}`;
  let signs = name.length;
  while (signs > 3 && measure(written(signs), kind).width > width) signs -= 1;
  return written(signs);
}

/** The names beside the ends of their lines, moved apart where they would overlap. */
function names(best, { y, right, top, base }, measure) {
  const { above, below } = measure(best[0].said, kindOfName(0));
  const heights = best.map(({ now }) => y(now));
  heights.forEach((height, place) => (heights[place] = Math.max(height, place ? heights[place - 1] + above + below : top)));
  const over = Math.max(0, heights.at(-1) - base);
  return best.flatMap(({ said, now }, rank) => [
    dot([right, y(now)], 3, { class: `dot ${kind(rank)}` }),
    text([right + NAME_PX, heights[rank] - over + (above - below) / 2], said, { class: kindOfName(rank) }),
  ]);
}
