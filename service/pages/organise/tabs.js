// Tabs, one at a time, each of several parts. The name of a tab or a part is in the address, so that a reload shows it
// again.

import { byId, element } from "../page.js";

const idOf = (panel) => panel.id.replace("panel-", "tab-");

const panels = () => /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[role=tabpanel]")]);

/** The panel of a tab or a part with this name, and the part; null if there is none. */
function placeOf(name) {
  const part = name ? document.getElementById(`part-${name}`) : null;
  const panel = /** @type {HTMLElement | null} */ (part?.closest("[role=tabpanel]") ?? (name ? document.getElementById(`panel-${name}`) : null));
  return panel && { panel, part };
}

/** @type {(tab: string) => void} */
let opened = () => {};

/** Make a tab of each panel, and show the one in the address, or the first; `then` is called with each opened tab. */
export function makeTabs(then) {
  const all = panels();
  byId("tabs").replaceChildren(...all.map(tabOf));
  for (const panel of all) {
    panel.setAttribute("aria-labelledby", idOf(panel));
    const parts = /** @type {HTMLElement[]} */ ([...panel.querySelectorAll("[id^=part-]")]);
    for (const part of parts) part.tabIndex = -1;
    const links = parts.map((part) => toTab(part.id.replace("part-", ""), part.querySelector("h2")?.textContent ?? ""));
    if (links.length > 2) panel.prepend(element("nav", { class: "row small parts", "aria-label": `Parts of ${panel.dataset.tab}` }, ...links));
  }
  byId("tabs").addEventListener("keydown", step);
  select(placeOf(location.hash.slice(1))?.panel ?? all[0]);
  opened = then;
}

/** Go to the part in the address, if there is one. */
export const goToPart = () => placeOf(location.hash.slice(1))?.part?.scrollIntoView();

/** The name of the open tab. */
export const shownTab = () => document.querySelector("[role=tabpanel]:not([hidden])").id.replace("panel-", "");

function tabOf(panel) {
  return element("button", { type: "button", role: "tab", id: idOf(panel), "aria-controls": panel.id, on: { click: () => choose(panel.id.replace("panel-", "")) } }, panel.dataset.tab);
}

function choose(name) {
  select(placeOf(name).panel);
  // A view behind a row of the ranking adds an entry to the history; a tab replaces the current one.
  const leaving = location.hash.includes("=") ? "pushState" : "replaceState";
  history[leaving](null, "", `#${name}`);
  dispatchEvent(new PopStateEvent("popstate"));
}

/** Open the tab with a name, or the one with a part of that name, if it is not open. */
export function openTab(name) {
  const panel = placeOf(name)?.panel;
  if (panel?.hidden) select(panel);
}

function select(panel) {
  for (const other of panels()) {
    const tab = byId(idOf(other));
    other.hidden = other !== panel;
    tab.setAttribute("aria-selected", String(other === panel));
    tab.tabIndex = other === panel ? 0 : -1;
  }
  opened(shownTab());
}

function step(event) {
  const tabs = /** @type {HTMLElement[]} */ ([...byId("tabs").children]);
  const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -tabs.indexOf(event.target), End: tabs.length - 1 - tabs.indexOf(event.target) };
  if (!(event.key in steps)) return;
  event.preventDefault();
  const next = tabs[(tabs.indexOf(event.target) + steps[event.key] + tabs.length) % tabs.length];
  next.focus();
  next.click();
}

/** A link in a text that opens a tab, or a part of one. */
export function toTab(name, ...said) {
  const open = (event) => {
    event.preventDefault();
    choose(name);
    const { panel, part } = placeOf(name);
    (part ?? byId(idOf(panel))).focus({ preventScroll: true });
    (part ?? byId(idOf(panel))).scrollIntoView({ block: part ? "start" : "nearest" });
  };
  return element("a", { href: `#${name}`, on: { click: open } }, ...said);
}
