// Progress of the judging, by query and by system.

import { byId, element } from "../page.js";
import { longName, whole } from "../text.js";
import { recording } from "./pictures.js";
import { rowOf } from "./tables.js";

export function showProgress({ queries, systems }) {
  byId("by-query", HTMLTableElement).tBodies[0].replaceChildren(...queries.map((one) => shareRow(one, recording("query", one.name, longName(one.name)))));
  byId("by-system", HTMLTableElement).tBodies[0].replaceChildren(...systems.map((one) => shareRow(one, longName(one.name))));
}

function shareRow({ name, judged, pairs }, shown) {
  return rowOf(
    { name, judged, pairs, share: judged / (pairs || 1) },
    element("th", { scope: "row", title: name }, shown),
    element("td", { class: "number" }, whole(judged)),
    element("td", { class: "number" }, whole(pairs)),
    element("td", {}, element("progress", { value: judged, max: pairs || 1, "aria-label": `Judged of ${name}` })),
  );
}
