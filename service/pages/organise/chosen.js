// Links from rows of the ranking to their system, the choice of two systems to compare, and the choice of an aspect.

import { byId, element } from "../page.js";
import { addressOf, readAddress } from "./address.js";
import { named } from "../text.js";

/** @type {string[]} */
let chosen = [];

const aspect = () => readAddress().aspect;

/** The name of a system as a link to its queries; screen readers read a name shown in two parts as one. */
export const linkTo = (system, shown) => element("a", { href: addressOf({ system, aspect: aspect() }), class: "to-system", "aria-label": system, "data-key": `to ${system}` }, shown);

/** The checkbox before a system's rank, which chooses the system for comparison. */
export function choice(system) {
  const box = element("input", { type: "checkbox", checked: chosen.includes(system), "aria-label": `Compare ${system}`, "data-key": `choose ${system}`, on: { change: () => choose(system, box.checked) } });
  return box;
}

function choose(system, on) {
  chosen = [...chosen.filter((name) => name !== system), ...(on ? [system] : [])].slice(-2);
  for (const box of document.querySelectorAll("#ranking tbody input[type=checkbox]")) {
    if (box instanceof HTMLInputElement) box.checked = chosen.includes(box.dataset.key.slice("choose ".length));
  }
  showChosen();
}

/** Show which systems may be compared now, out of `systems`. */
export function showChosen(systems = null) {
  if (systems) chosen = chosen.filter((name) => systems.includes(name));
  byId("compare").hidden = !chosen.length;
  const [a, b] = chosen;
  byId("compare-said").replaceChildren(...(b ? [named(a, 24), " and ", named(b, 24)] : a ? [named(a, 24), ": choose a second system to compare with"] : []));
  byId("compare-go").hidden = !b;
  if (b) byId("compare-go", HTMLAnchorElement).href = addressOf({ a, b, aspect: aspect() });
}

/** Wire the choice of an aspect, and the button that clears the choice of systems. */
export function choosing() {
  byId("compare-clear").addEventListener("click", () => {
    for (const system of chosen) choose(system, false);
    byId("ranking").querySelector("input")?.focus();
  });
  const select = byId("ranking-aspect", HTMLSelectElement);
  select.addEventListener("change", () => (location.hash = addressOf({ aspect: select.value })));
}

/** Offer the aspects of a campaign, with the current one selected. */
export function showAspects(names) {
  byId("ranking-by").hidden = !names.length;
  const select = byId("ranking-aspect", HTMLSelectElement);
  if (select.options.length !== names.length + 1) select.replaceChildren(element("option", { value: "" }, "the mean of all aspects"), ...names.map((name) => element("option", { value: name }, name)));
  select.value = names.includes(aspect()) ? aspect() : "";
}
