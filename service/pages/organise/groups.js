// A long ranking folded into groups: consecutive systems that may all have the rank of the group's first.

import { element } from "../page.js";
import { count, score, whole } from "../text.js";

const open = new Set(); // first systems of the groups that are unfolded
let again = () => {};

/**
 * The places at which groups begin, of systems best first: a system that cannot have the rank of the group's first
 * begins another.
 *
 * @param {{rank_low: number}[]} systems
 */
export function groupStarts(systems) {
  const starts = [];
  systems.forEach(({ rank_low: best }, place) => {
    if (!starts.length || best > starts.at(-1) + 1) starts.push(place);
  });
  return starts;
}

/**
 * The rows with a heading above each group; null if groups are switched off.
 *
 * rows    rows of the table, one per system, best first
 * redraw  called when the choice changes
 */
export function grouped(systems, rows, redraw) {
  again = redraw;
  const box = document.getElementById("ranking-fold");
  if (!(box instanceof HTMLInputElement)) return null; // the page of results has no such box
  if (!box.dataset.ready) {
    box.dataset.ready = "yes";
    box.addEventListener("change", () => again());
  }
  if (!box.checked) return null;
  const starts = groupStarts(systems);
  return starts.flatMap((start, place) => {
    const end = starts[place + 1] ?? systems.length;
    const own = rows.slice(start, end);
    const shown = open.has(systems[start].system);
    for (const row of own) row.hidden = !shown;
    return [heading(systems.slice(start, end), start, shown), ...own];
  });
}

function heading(some, start, shown) {
  const name = some[0].system;
  const toggle = () => {
    if (!open.delete(name)) open.add(name);
    again();
  };
  const places = some.length > 1 ? `${whole(start + 1)}–${whole(start + some.length)}` : whole(start + 1);
  const may = some.length > 1 ? `${count(some.length, "system")}, each may have rank ${whole(start + 1)}` : "1 system";
  const scores = some.length > 1 ? `scores ${score(some.at(-1).expectation)}–${score(some[0].expectation)}` : `score ${score(some[0].expectation)}`;
  const button = element("button", { type: "button", class: "plain", "aria-expanded": String(shown), "data-key": `group ${name}`, on: { click: toggle } }, element("span", { "aria-hidden": "true" }, shown ? "▾ " : "▸ "), `${places}: ${may}; ${scores}`);
  return element("tr", { class: "folded grouped" }, element("td", { colspan: 4 }, button));
}
