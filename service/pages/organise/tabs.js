// Tabs: one panel at a time; its name is in the address, so that a reload shows it again.

import { byId, element } from "../page.js";

const idOf = (panel) => panel.id.replace("panel-", "tab-");

const panels = () => /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[role=tabpanel]")]);

/** @type {(tab: string) => void} */
let opened = () => {};

/** Make a tab of each panel, and show the one in the address, or the first; `then` is called with each opened tab. */
export function makeTabs(then) {
  const all = panels();
  byId("tabs").replaceChildren(...all.map(tabOf));
  for (const panel of all) panel.setAttribute("aria-labelledby", idOf(panel));
  byId("tabs").addEventListener("keydown", step);
  const named = all.find((panel) => panel.id === `panel-${location.hash.slice(1)}`);
  select(named ?? all[0]);
  opened = then;
}

/** The name of the open tab. */
export const shownTab = () => document.querySelector("[role=tabpanel]:not([hidden])").id.replace("panel-", "");

function tabOf(panel) {
  return element("button", { type: "button", role: "tab", id: idOf(panel), "aria-controls": panel.id, on: { click: () => choose(panel) } }, panel.dataset.tab);
}

function choose(panel) {
  select(panel);
  // A view behind a row of the ranking adds an entry to the history; a tab replaces the current one.
  const leaving = location.hash.includes("=") ? "pushState" : "replaceState";
  history[leaving](null, "", `#${panel.id.replace("panel-", "")}`);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** Open a tab by its name if it is not open; false if no tab has that name. */
export function openTab(name) {
  const panel = panels().find((one) => one.id === `panel-${name}`);
  if (panel?.hidden) select(panel);
  return Boolean(panel);
}

function select(panel) {
  for (const other of panels()) {
    const tab = byId(idOf(other));
    other.hidden = other !== panel;
    tab.setAttribute("aria-selected", String(other === panel));
    tab.tabIndex = other === panel ? 0 : -1;
  }
  const [tabs, tab] = [byId("tabs"), byId(idOf(panel))];
  opened(shownTab());
  tabs.scrollLeft = tab.offsetLeft - (tabs.clientWidth - tab.offsetWidth) / 2;
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

/** A link in a text that opens a tab. */
export function toTab(name, ...said) {
  const open = (event) => {
    event.preventDefault();
    choose(byId(`panel-${name}`));
    byId(`tab-${name}`).focus();
    byId(`tab-${name}`).scrollIntoView({ block: "nearest" });
  };
  return element("a", { href: `#${name}`, on: { click: open } }, ...said);
}
