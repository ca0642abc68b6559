// One screen at a time, and the dialogs above it.

import { byId } from "../page.js";

const everyScreen = () => /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".screen"));

/** Show a screen and put the focus on it, so that screen readers start there. */
export function showScreen(name) {
  for (const screen of everyScreen()) screen.hidden = screen.id !== `screen-${name}`;
  const screen = byId(`screen-${name}`);
  const start = screen.matches("[tabindex]") ? screen : (/** @type {?HTMLElement} */ (screen.querySelector("input:not([hidden]), [tabindex='-1']")) ?? screen);
  start.focus({ preventScroll: true });
  scrollTo(0, 0);
}

export const shownScreen = () => document.querySelector(".screen:not([hidden])").id.replace("screen-", "");

/** Open a dialog; resolves when it is closed, with the value of the button that closed it. */
export function openDialog(id) {
  const dialog = byId(id, HTMLDialogElement);
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((done) => dialog.addEventListener("close", () => done(dialog.returnValue), { once: true }));
}

/** Resolves when a button is clicked. */
export function clicked(id) {
  return new Promise((done) => byId(id).addEventListener("click", done, { once: true }));
}

/** Resolves when a form is submitted, with the text of one of its fields. */
export function submitted(id, field) {
  return new Promise((done) => {
    const submit = (event) => {
      event.preventDefault();
      done(byId(field, HTMLInputElement).value.trim());
    };
    byId(id).addEventListener("submit", submit, { once: true });
  });
}

/** Show an error; resolves when it is time to retry: at a click, or as soon as there is a network. */
export async function trouble(text) {
  byId("trouble").textContent = text;
  showScreen("trouble");
  await Promise.race([clicked("retry"), new Promise((done) => addEventListener("online", done, { once: true }))]);
  showScreen("loading");
}
