// A long ranking, filtered by name and sorted; each system keeps the number of its rank.

import { element } from "../page.js";

const WAYS = {
  rank: { of: (_, place) => place },
  system: { of: (one) => one.system.toLowerCase() },
  unsure: { of: (one) => one.low - one.high, falls: true }, // widest interval first
  ranks: { of: (one) => one.rank_low + one.rank_high / 1e6 }, // by best possible rank, then by worst
  best: { of: (one) => -(one.best ?? 0), falls: true },
};

const MANY = 15; // systems; the filter is offered for more

let [wanted, way, down] = ["", "rank", false];
let again = () => {};

/**
 * The rows of the matching systems in the chosen order; null if nothing is filtered or sorted.
 *
 * systems  best first
 * rows     rows of the table, one per system
 * redraw   called when the choice changes
 */
export function narrowed(systems, rows, redraw) {
  again = redraw;
  const field = document.getElementById("ranking-filter");
  if (!(field instanceof HTMLInputElement)) return null; // the page of results has no such field
  connect(field);
  document.getElementById("ranking-narrow").hidden = systems.length <= MANY;
  if (!wanted && way === "rank" && !down) return null;
  const keyed = systems.map((one, place) => ({ row: rows[place], name: one.system.toLowerCase(), key: WAYS[way].of(one, place), place }));
  const sign = down ? -1 : 1;
  const found = keyed.filter(({ name }) => name.includes(wanted));
  found.sort((one, other) => sign * (one.key < other.key ? -1 : one.key > other.key ? 1 : 0) || one.place - other.place);
  return found.map(({ row }) => row);
}

function connect(field) {
  if (field.dataset.ready) return;
  field.dataset.ready = "yes";
  field.addEventListener("input", () => {
    wanted = field.value.trim().toLowerCase();
    again();
  });
  for (const head of document.querySelectorAll("#ranking th[data-way]")) {
    if (!(head instanceof HTMLElement)) continue;
    const button = element("button", { type: "button", class: "sorter", on: { click: () => sort(head) } }, ...head.childNodes);
    head.append(button);
  }
}

function sort(head) {
  down = head.dataset.way === way && !down;
  way = head.dataset.way;
  for (const other of document.querySelectorAll("#ranking th[data-way]")) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down === Boolean(WAYS[way].falls) ? "ascending" : "descending");
  again();
}
