// Clips beside one another: a query and its candidates, all running in step, with one audible.

import { t } from "../language.js";
import { byId, element, onThemeChange } from "../page.js";
import { Player } from "./player.js";
import { drawWaveform } from "./waveform.js";

const INKS = ["--accent", "--second"]; // colours of the query and of the candidates
const NUDGE_S = 1;
const TICK_MS = 100;

/** Letter of a candidate; it is also its key. */
export const letterOf = (place) => String.fromCharCode(65 + place);

/** Name of a candidate. */
export const nameOf = (place) => t("Candidate {letter}", { letter: letterOf(place) });

/** Key of a clip; the query is clip 0. */
const keyOf = (place) => (place ? letterOf(place - 1) : "Q");

/** Seconds with two digits. */
export const round = (seconds) => Math.round(seconds * 100) / 100;

/** Shows clips in rows; sends `change` events about listening. */
export class Beside extends EventTarget {
  /**
   * root    element for the rows
   * names   names of the clips: the query, then the candidates by letter
   * listen  seconds to listen to each clip
   * controls  for each clip, an element to show in its row, or null
   */
  constructor(context, root, names, listen, controls = names.map(() => null)) {
    super();
    this.player = new Player(context, names.length);
    this.names = names;
    this.listen = listen;
    this.clips = names.map(() => null);
    this.prompt = element("blockquote", { class: "prompt own-words", dir: "auto", tabindex: 0, "aria-label": t("Prompt"), hidden: true });
    this.read = false; // true if the query is only a text
    this.canvases = names.map(() => element("canvas", { "aria-hidden": "true" }));
    this.buttons = names.map((name, place) => this.#button(name, place));
    this.position = element("input", { type: "range", class: "slider", min: 0, max: 0, step: 0.1, value: 0, "aria-label": t("Position in all clips"), on: { input: () => this.player.seek(Number(this.position.value)) } });
    this.toggle = element("button", { type: "button", "aria-keyshortcuts": "Space", on: { click: () => this.player.toggle() } }, t("Play"));
    this.problem = element("p", { class: "note warn", role: "status", hidden: true });
    const rows = names.map((_, place) => this.#row(place, controls[place]));
    root.replaceChildren(this.prompt, ...rows, this.position, element("div", { class: "row transport" }, this.toggle), this.problem);
    this.player.addEventListener("change", () => this.#showPlayer());
    onThemeChange(() => this.#draw());
    new ResizeObserver(() => this.#draw()).observe(root);
    setInterval(() => this.player.playing && this.#tick(), TICK_MS);
  }

  #button(name, place) {
    const key = keyOf(place);
    const kind = place ? "candidate" : "query";
    return element("button", { type: "button", class: `clip-button ${kind}`, "aria-pressed": "false", "aria-keyshortcuts": key, on: { click: () => this.player.listen(place) } }, element("span", {}, name), element("kbd", { "aria-hidden": "true" }, key));
  }

  #row(place, control) {
    const wave = element("div", { class: `wave ${place ? "candidate" : "query"}` }, this.canvases[place]);
    return element("div", { class: "beside" }, this.buttons[place], wave, ...(control ? [control] : []));
  }

  /** Show clips (null for those that cannot be played), with the query's prompt if it has one, and start to play. */
  show(clips, prompt = "") {
    this.clips = clips;
    this.read = Boolean(prompt && !clips[0]);
    showPrompt(this.prompt, prompt);
    this.buttons[0].parentElement.hidden = this.read;
    this.player.load(clips, { some: true });
    const silent = this.names.filter((_, place) => !clips[place] && (place || !this.read));
    this.trouble(silent.length ? t("No sound: {names}.", { names: silent.join(", ") }) : "");
    this.position.max = String(Math.max(0, this.player.length));
    this.#draw();
    this.player.play();
    this.#tick();
  }

  /** Show a problem with the sound; an empty text hides it. */
  trouble(text) {
    this.problem.textContent = text;
    this.problem.hidden = !text;
  }

  /**
   * Names of the clips still to be listened to; empty if there are none.
   *
   * spared  places of clips that may be skipped
   */
  missing(spared = []) {
    const heard = this.player.count();
    const wanted = (place) => (this.clips[0] || this.read) && this.clips[place] && !spared.includes(place);
    const called = this.names.map((name, place) => (place ? name : t("the query")));
    const left = called.filter((_, place) => wanted(place) && heard[place] < this.listen);
    return left.length ? t("Hear {names} for {seconds} s", { names: left.join(", "), seconds: this.listen }) : "";
  }

  /** Handle a key: listen to a clip, play, go back or forward; true if the key is used. */
  key({ key, shiftKey }) {
    const place = this.names.findIndex((_, place) => keyOf(place) === key.toUpperCase());
    if (place === 0 && this.read) this.prompt.focus();
    else if (place >= 0) this.player.listen(place);
    else if (key === " ") this.player.toggle();
    else if (key.toLowerCase() === "l") this.player.match(!this.player.matched);
    else if (shiftKey && key === "ArrowLeft") this.player.seek(this.player.position - NUDGE_S);
    else if (shiftKey && key === "ArrowRight") this.player.seek(this.player.position + NUDGE_S);
    else return false;
    return true;
  }

  #showPlayer() {
    this.toggle.replaceChildren(this.player.playing ? t("Pause") : t("Play"), " ", element("kbd", { "aria-hidden": "true" }, "Space"));
    this.buttons.forEach((button, place) => {
      button.setAttribute("aria-pressed", String(this.player.side === place));
      this.canvases[place].parentElement.classList.toggle("heard-now", this.player.side === place);
    });
    this.dispatchEvent(new Event("change"));
  }

  #tick() {
    this.position.value = String(this.player.position);
    this.position.setAttribute("aria-valuetext", t("{n} seconds", { n: Math.round(this.player.position) }));
    this.dispatchEvent(new Event("change"));
  }

  #draw() {
    this.clips.forEach((clip, place) => {
      const share = Math.max(0.001, (clip?.buffer.duration ?? 1) / (this.player.length || 1));
      drawWaveform(this.canvases[place], { low: clip?.low ?? [], high: clip?.high ?? [], share, ink: INKS[Math.min(1, place)] });
    });
  }
}

/** Show a query's prompt in an element; hide the element if there is none. */
export function showPrompt(place, text) {
  place.textContent = text ?? "";
  place.hidden = !text;
  place.scrollTop = 0;
}

/** A row of buttons, one of them chosen; `take` is called with the chosen value. */
export function radios(id, choices, take) {
  return choices.map(({ value, text, key }) => {
    const input = element("input", { type: "radio", name: id, id: `${id}-${key}`, value, "aria-keyshortcuts": key, on: { change: () => take(value) } });
    return element("div", { class: "choice" }, input, element("label", { for: `${id}-${key}` }, element("span", {}, text), element("kbd", { "aria-hidden": "true" }, key)));
  });
}

/** Check one of several radio buttons, or none. */
export function check(root, value) {
  for (const input of byId(root).querySelectorAll("input")) input.checked = input.value === value;
}
