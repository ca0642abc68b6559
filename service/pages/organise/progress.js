// How far the judging is, by query and by system.

import { byId, element } from "../page.js";
import { longName, whole } from "../text.js";

export function showProgress({ queries, systems }) {
  byId("by-query", HTMLTableElement).tBodies[0].replaceChildren(...queries.map(shareRow));
  byId("by-system", HTMLTableElement).tBodies[0].replaceChildren(...systems.map(shareRow));
}

function shareRow({ name, judged, pairs }) {
  return element(
    "tr",
    {},
    element("th", { scope: "row", title: name }, longName(name)),
    element("td", { class: "number" }, whole(judged)),
    element("td", { class: "number" }, whole(pairs)),
    element("td", {}, element("progress", { value: judged, max: pairs || 1, "aria-label": `Judged of ${name}` })),
  );
}
