// Keys of the page. Letters and digits can be switched off (WCAG 2.1.4); native controls keep their own keys.

import { t } from "../language.js";
import { byId, element } from "../page.js";
import { headingOf, wordOf } from "./answered.js";

const STORED = "audiosim-single-keys";
const TYPED = "input:not([type=radio], [type=range], [type=checkbox]), textarea, select";
const PRESSED = "button, a, summary";

/** The keys for the help, each with its effect: of a screen with its own `keys`, and a form. */
function rows({ keys, form: { choice, slider } }) {
  const lettered = keys.length > 2;
  return [
    [["Space"], t("Play, pause")],
    ...keys,
    ...(choice ? [[choice.levels.map((_, place) => String(place)).slice(0, 10), choice.words.filter(Boolean).map((word) => wordOf(choice, word)).join(", ") || headingOf(choice)]] : []),
    ...(slider ? [[["←", "→", "↑", "↓"], t("Slider by 1, by 10")]] : []),
    [slider || lettered ? ["Shift", "←", "→"] : ["←", "→"], lettered ? t("Back and forward in all clips") : t("Back and forward in both clips")],
    [["L"], t("Same loudness, on and off")],
    [["Enter"], t("Save and continue")],
    [["Z"], t("Undo the last answer")],
    [["Esc"], t("Leave the note, close this")],
    [["?"], t("This help")],
  ];
}

/** Fill the help, and call the keys' actions: `actions` has play, hear, match, save, undo, help, nudge, and form. */
export function listenToKeys(actions) {
  const box = byId("single-keys", HTMLInputElement);
  box.checked = readStored();
  box.addEventListener("change", () => writeStored(box.checked));
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]")) return;
    if (handle(event, actions, box.checked)) event.preventDefault();
  });
}

/** Fill the help with the keys of a screen. */
export function showKeys(screen) {
  byId("keys").replaceChildren(
    ...rows(screen).map(([keys, does]) =>
      element("tr", {}, element("td", {}, ...keys.flatMap((key) => [element("kbd", {}, key), " "])), element("td", {}, does)),
    ),
  );
}

function handle(event, actions, single) {
  const { key, target } = event;
  if (target.matches?.(TYPED)) return key === "Escape" && (target.blur(), true);
  if (single && key === "?") return actions.help(), true;
  const own = target.matches?.(PRESSED);
  if (!actions.ready()) return !(own && [" ", "Enter"].includes(key)) && (single || key.length > 1 || key === " ") && actions.other(event);
  if (key === " ") return !own && !target.matches?.("[type=radio], [type=checkbox]") && (actions.play(), true);
  if (key === "Enter") return !own && !event.repeat && (actions.save(), true);
  if (key.startsWith("Arrow")) return arrow(event, actions);
  return single && !event.repeat && sign(key.toLowerCase(), actions);
}

function arrow({ key, shiftKey, target }, actions) {
  if (target.matches?.("input, [role=slider]") && !shiftKey) return false;
  const along = { ArrowLeft: -1, ArrowRight: 1 }[key];
  const across = { ArrowUp: 10, ArrowDown: -10 }[key];
  if (along && (shiftKey || !actions.form().slider)) return actions.nudge(along), true;
  return !shiftKey && actions.form().move(along ?? across);
}

function sign(key, actions) {
  if (/^\d$/.test(key)) return actions.form().digit(Number(key));
  const does = { q: () => actions.hear(0), c: () => actions.hear(1), l: actions.match, z: actions.undo }[key];
  if (!does) return false;
  does();
  return true;
}

function readStored() {
  try {
    return localStorage.getItem(STORED) !== "off";
  } catch {
    return true;
  }
}

function writeStored(on) {
  try {
    localStorage.setItem(STORED, on ? "on" : "off");
  } catch {
    // storage may be forbidden: the choice then lasts as long as the page
  }
}
