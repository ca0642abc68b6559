// Parts shared by all pages: themes, announcements, creation of elements.

import { m, t } from "./language.js";

document.documentElement.dataset.loaded = ""; // for unloaded.js; a module runs only once all its imports have loaded

const KEY = "audiosim-theme";
const THEMES = [m("system"), m("light"), m("dark")];

/**
 * The element with an identifier; a page without it has a bug.
 *
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} [kind] its class, if the caller needs more than an HTMLElement
 */
export function byId(id, kind) {
  const found = document.getElementById(id);
  if (!found || (kind && !(found instanceof kind))) throw new Error(`the page has no ${kind?.name ?? "element"} #${id}`);
  return /** @type {T} */ (found);
}

/**
 * A new element: attributes by name, `on` for listeners by event, then children; strings become text.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Node | string)} children
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Announce a change to screen readers; needs `<p id="announcer" aria-live="polite">`. */
export function announce(text) {
  const announcer = byId("announcer");
  announcer.textContent = announcer.textContent === text ? `${text}\u00a0` : text;
}

/** Let a frame say that it scrolls, while its content does not fit into it. */
export function saysScrolling(frame) {
  const look = () => {
    const ways = [frame.scrollWidth > frame.clientWidth + 1 && "sideways", frame.scrollHeight > frame.clientHeight + 1 && "down"].filter(Boolean);
    if (ways.length) frame.dataset.scrolls = `Scroll ${ways.join(" and ")} for more`;
    else delete frame.dataset.scrolls;
  };
  const watch = new ResizeObserver(look);
  for (const one of [frame, ...frame.children]) watch.observe(one);
}

/** Save a text as a file of this device. */
export function saveFile(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000); // at once, some browsers would find nothing to save
}

/** Two texts in the room of the longer one, so that a button is as wide with either; `show` chooses the first or the
other. */
export function either(one, other) {
  const both = element("span", { class: "either" }, element("span", {}, one), element("span", { class: "off" }, other));
  return { both, show: (first) => [...both.children].forEach((text, place) => text.classList.toggle("off", first === Boolean(place))) };
}

/** Make a button copy a field; returns a function that selects the field, with another value. */
export function copying(button, field) {
  const label = either("Copy", "Copied");
  button.replaceChildren(label.both);
  button.addEventListener("click", async () => {
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
      announce("Link copied");
      label.show(false);
    } catch {
      announce("Link selected: copy it with the keyboard"); // the clipboard may be forbidden
    }
  });
  return (value) => {
    field.value = value;
    label.show(true);
    field.focus();
    field.select();
  };
}

/** A colour of base.css, such as "--accent", in the current theme: for canvases, which know no CSS variables. */
export function colour(name) {
  const probe = element("i", { hidden: true });
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** Call a function whenever the colours change. */
export function onThemeChange(listener) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", listener);
  new MutationObserver(listener).observe(document.documentElement, { attributeFilter: ["data-theme"] });
}

/** Make a button switch between the themes: the system's, light, dark. */
export function switchThemes(button) {
  const show = () => {
    const now = document.documentElement.dataset.theme ?? "system";
    button.textContent = t("Theme: {theme}", { theme: t(now) });
  };
  button.addEventListener("click", () => {
    const now = document.documentElement.dataset.theme ?? "system";
    choose(THEMES[(THEMES.indexOf(now) + 1) % THEMES.length]);
    show();
  });
  show();
}

function choose(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // storage may be forbidden: the choice then lasts as long as the page
  }
}
