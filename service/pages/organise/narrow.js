// A long ranking, filtered by name; each system keeps the number of its rank.

import { orderOf } from "./tables.js";

const MANY = 15; // systems; the filter is offered for more

let wanted = "";
let again = () => {};

/**
 * The rows of the matching systems; null if nothing is filtered, and they are best first.
 *
 * systems  best first
 * rows     rows of the table, one per system
 * redraw   called when the choice changes
 */
export function narrowed(systems, rows, redraw) {
  again = redraw;
  const field = document.getElementById("ranking-filter");
  if (!(field instanceof HTMLInputElement)) return null; // the page of results has no such field
  if (!field.dataset.ready) {
    field.dataset.ready = "yes";
    field.addEventListener("input", () => {
      wanted = field.value.trim().toLowerCase();
      again();
    });
  }
  document.getElementById("ranking-narrow").hidden = systems.length <= MANY;
  const { field: by, falls } = orderOf("ranking");
  if (!wanted && (!by || (by === "rank" && !falls))) return null;
  return rows.filter((_, place) => systems[place].system.toLowerCase().includes(wanted));
}
