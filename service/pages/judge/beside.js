// Clips beside one another: a query and its candidates, all running in step, with one audible.

import { listed, sentences, t } from "../language.js";
import { byId, either, element, onThemeChange } from "../page.js";
import { drawWaveform } from "./waveform.js";

const INKS = ["--accent", "--second"]; // colours of the query and of the candidates
const NUDGE_S = 1;
const CALM_MS = 250; // between two moves of the playhead under reduced motion

/** Letter of a candidate; it is also its key. */
export const letterOf = (place) => String.fromCharCode(65 + place);

/** Name of a candidate. */
export const nameOf = (place) => t("Candidate {letter}", { letter: letterOf(place) });

/** Seconds with two digits. */
export const round = (seconds) => Math.round(seconds * 100) / 100;

const withoutNumbers = (text) => text.replace(/\d+/g, "");

/** Enable the button that saves once nothing is missing, and keep true what a screen says is missing; its seconds stay,
as a screen reader would read each of them. The ids of both begin with a `prefix`. */
export function showMissing(prefix, missing) {
  byId(`${prefix}save`).setAttribute("aria-disabled", String(missing !== ""));
  const said = byId(`${prefix}missing`);
  if (said.textContent && withoutNumbers(said.textContent) !== withoutNumbers(missing)) said.textContent = missing;
}

/** Shows clips in rows; sends `change` events about listening. */
export class Beside extends EventTarget {
  /**
   * player    one with as many clips
   * root      element for the rows
   * names     of the candidates
   * prefix    of the identifiers of its parts
   * controls  for each candidate, an element to show in its row
   */
  constructor(player, root, names, prefix = "", controls = []) {
    super();
    this.player = player;
    this.names = [t("Query"), ...names];
    this.lettered = names[0] === nameOf(0);
    this.clips = this.names.map(() => null);
    this.starts = this.names.map(() => 0);
    this.read = false; // true if the query is only a text
    this.moving = false; // true while the playhead follows the sound
    this.prompt = element("blockquote", { id: `${prefix}prompt`, class: "prompt own-words", dir: "auto", tabindex: 0, "aria-label": t("Prompt"), hidden: true });
    this.canvases = this.names.map((_, place) => element("canvas", { id: `${prefix}wave-${this.#kindOf(place)}`, "aria-hidden": "true" }));
    this.heads = this.names.map(() => element("div", { class: "head" }));
    this.buttons = this.names.map((_, place) => this.#button(place, prefix));
    this.waves = this.names.map((_, place) => element("div", { class: `wave ${place ? "candidate" : "query"}`, on: { pointerdown: (event) => this.#grab(event, place) } }, this.canvases[place], this.heads[place]));
    const where = this.lettered ? t("Position in all clips") : t("Position in both clips");
    this.position = element("div", { id: `${prefix}position`, class: "position", role: "slider", tabindex: 0, "aria-label": where, "aria-valuemin": 0, "aria-valuemax": 1, "aria-valuenow": 0, on: { keydown: (event) => this.#slide(event) } });
    this.label = either(t("Play"), t("Pause"));
    this.toggle = element("button", { id: `${prefix}play`, type: "button", "aria-keyshortcuts": "Space", on: { click: () => player.toggle() } }, this.label.both, element("kbd", { "aria-hidden": "true" }, "Space"));
    this.match = element("button", { id: `${prefix}match`, type: "button", "aria-keyshortcuts": "L", on: { click: () => player.match(!player.matched) } }, t("Same loudness"), element("kbd", { "aria-hidden": "true" }, "L"));
    this.time = element("span", { id: `${prefix}time`, class: "time muted small number push" });
    this.problem = element("p", { id: `${prefix}sound-trouble`, class: "note warn small over", role: "status", hidden: true });
    const rows = this.names.map((_, place) => element("div", { class: "beside" }, this.buttons[place], this.waves[place], ...(place && controls.length ? [controls[place - 1]] : [])));
    root.replaceChildren(this.prompt, element("div", { class: "clips" }, ...rows, this.problem), element("div", { class: "row transport" }, this.toggle, this.match, this.time));
    player.addEventListener("change", () => this.#showPlayer());
    onThemeChange(() => this.#draw());
    new ResizeObserver(() => this.#draw()).observe(root);
    this.#showPlayer();
  }

  /** A clip in identifiers: query, candidate, or a letter. */
  #kindOf(place) {
    return place === 0 ? "query" : this.lettered ? letterOf(place - 1).toLowerCase() : "candidate";
  }

  #button(place, prefix) {
    const key = this.#keyOf(place);
    return element("button", { id: `${prefix}hear-${this.#kindOf(place)}`, type: "button", class: `clip-button ${place ? "candidate" : "query"}`, "aria-pressed": "false", "aria-keyshortcuts": key, on: { click: () => this.hear(place) } }, element("span", { class: "clip-name" }, this.names[place]), element("kbd", { "aria-hidden": "true" }, key));
  }

  /** Key of a clip; the query is clip 0. */
  #keyOf(place) {
    return place === 0 ? "Q" : this.lettered ? letterOf(place - 1) : "C";
  }

  /** The keys of the clips, each with its effect, for the help. */
  get keys() {
    return this.names.map((name, place) => [[this.#keyOf(place)], place === 0 ? t("Hear the query") : this.lettered ? t("Hear {name}", { name }) : t("Hear the candidate")]);
  }

  /**
   * Show clips; null for those that cannot be played.
   *
   * prompt  the query's, if it has one
   * heard   seconds listened to each before
   * starts  start of each clip, in seconds
   */
  show(clips, prompt = "", { heard = undefined, starts = clips.map(() => 0) } = {}) {
    Object.assign(this, { clips, starts, read: Boolean(prompt && !clips[0]) });
    this.prompt.textContent = prompt ?? "";
    this.prompt.hidden = !prompt;
    this.prompt.scrollTop = 0;
    this.waves[0].parentElement.hidden = this.read;
    this.waves[this.read ? 1 : 0].append(this.position);
    this.player.load(clips, { heard, starts, some: this.read || this.lettered });
    this.position.setAttribute("aria-valuemax", this.player.length.toFixed(1));
    this.trouble(this.#silence());
    this.#draw();
    this.#tick();
  }

  #silence() {
    const silent = this.names.filter((_, place) => !this.clips[place] && (place || !this.read));
    if (!silent.length) return "";
    return this.lettered ? t("No sound: {names}.", { names: listed(silent) }) : t("This pair has no sound. Choose “Cannot judge…” and say that a clip does not play.");
  }

  /** Show a problem with the sound over the waveforms, so that nothing moves; an empty text hides it. */
  trouble(text) {
    this.problem.textContent = text;
    this.problem.hidden = !text;
  }

  /** Make a clip audible, or go to the prompt of a query that is only a text. */
  hear(place) {
    if (this.read && place === 0) this.prompt.focus();
    else this.player.listen(place);
  }

  nudge(seconds) {
    this.player.seek(this.player.position + seconds);
  }

  /**
   * Names of the clips still to be listened to; empty if there are none.
   *
   * listen  seconds to listen to each clip
   * spared  places of clips that may be skipped
   */
  missing(listen, spared = []) {
    const heard = this.player.count();
    const wanted = (place) => (this.clips[0] || this.read) && this.clips[place] && !spared.includes(place);
    const called = this.names.map((name, place) => (place ? name : t("the query")));
    const left = new Map(); // names by the seconds to listen, of which a short clip has fewer
    for (const [place, name] of called.entries()) {
      const seconds = this.needed(place, listen);
      if (wanted(place) && heard[place] < seconds) left.set(seconds, [...(left.get(seconds) ?? []), name]);
    }
    return sentences([...left].map(([seconds, names]) => t("Hear {names} for {seconds} s", { names: listed(names), seconds })));
  }

  /** Seconds to listen to a clip: `listen`, or the whole seconds of a clip that is shorter. */
  needed(place, listen) {
    const length = this.clips[place]?.buffer.duration ?? listen;
    return Math.min(listen, Math.floor(length) || length);
  }

  /** Handle a key: listen to a clip, play, go back or forward; true if the key is used. */
  key({ key, shiftKey }) {
    const place = this.names.findIndex((_, place) => this.#keyOf(place) === key.toUpperCase());
    if (place >= 0) this.hear(place);
    else if (key === " ") this.player.toggle();
    else if (key.toLowerCase() === "l") this.player.match(!this.player.matched);
    else if (shiftKey && key === "ArrowLeft") this.nudge(-NUDGE_S);
    else if (shiftKey && key === "ArrowRight") this.nudge(NUDGE_S);
    else return false;
    return true;
  }

  #grab(event, place) {
    const wave = this.waves[place];
    const box = wave.getBoundingClientRect();
    const seek = ({ clientX }) => this.player.seek(Math.max(0, Math.min(0.999, (clientX - box.left) / box.width)) * this.player.length);
    this.hear(place);
    seek(event);
    wave.setPointerCapture(event.pointerId);
    wave.addEventListener("pointermove", seek);
    wave.addEventListener("lostpointercapture", () => wave.removeEventListener("pointermove", seek), { once: true });
  }

  #slide(event) {
    const steps = { ArrowLeft: -NUDGE_S, ArrowDown: -NUDGE_S, ArrowRight: NUDGE_S, ArrowUp: NUDGE_S, PageUp: 5, PageDown: -5 };
    if (event.key in steps) this.nudge(steps[event.key]);
    else if (event.key === "Home") this.nudge(-this.player.position);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #showPlayer() {
    const { player } = this;
    this.label.show(!player.playing);
    this.toggle.toggleAttribute("disabled", !player.length);
    this.match.setAttribute("aria-pressed", String(player.matched));
    this.buttons.forEach((button, place) => {
      button.setAttribute("aria-pressed", String(player.side === place));
      this.waves[place].classList.toggle("heard-now", player.side === place);
    });
    this.#tick();
    if (player.playing && !this.moving) this.#follow();
  }

  /** Move the playhead while the clips play, and only then: a page that waits at every frame uses up a battery. */
  #follow() {
    this.moving = this.player.playing;
    if (!this.moving) return;
    this.#tick();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) setTimeout(() => this.#follow(), CALM_MS);
    else requestAnimationFrame(() => this.#follow());
  }

  #tick() {
    const { position, length } = this.player;
    for (const head of this.heads) head.style.left = length ? `${(100 * position) / length}%` : "0";
    this.time.textContent = length ? `${clock(position)} / ${clock(length)}` : "";
    this.position.setAttribute("aria-valuenow", position.toFixed(1));
    this.position.setAttribute("aria-valuetext", t("{n} seconds", { n: Math.round(position) }));
    this.dispatchEvent(new Event("change"));
  }

  #draw() {
    this.clips.forEach((clip, place) => {
      const duration = clip?.buffer.duration ?? 1;
      const share = Math.max(0.001, duration / (this.player.length || 1));
      drawWaveform(this.canvases[place], { low: clip?.low ?? [], high: clip?.high ?? [], share, start: (this.starts[place] ?? 0) / duration, ink: INKS[Math.min(1, place)] });
    });
  }
}

function clock(seconds) {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
