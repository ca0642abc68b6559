// A long ranking narrowed to the systems that somebody looks for, and sorted otherwise; the numbers of ranks stay.

import { element } from "../page.js";

const WAYS = {
  rank: { of: (_, place) => place },
  system: { of: (one) => one.system.toLowerCase() },
  unsure: { of: (one) => one.low - one.high, falls: true }, // the widest interval first
  ranks: { of: (one) => one.rank_low + one.rank_high / 1e6 }, // by the best rank that it may have, then by the worst
  best: { of: (one) => -(one.best ?? 0), falls: true },
};

const MANY = 15; // systems: of fewer, everybody sees them all

let [wanted, way, down] = ["", "rank", false];
let again = () => {};

/**
 * The rows in the order and of the systems that are wanted; null where all are, best first.
 *
 * systems  best first
 * rows     of the table, one for each
 * redraw   called when somebody wants others
 */
export function narrowed(systems, rows, redraw) {
  again = redraw;
  const field = document.getElementById("ranking-filter");
  if (!(field instanceof HTMLInputElement)) return null; // the page of results has none
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
