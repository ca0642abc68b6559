// The desk: a pair, its two clips, and the controls for its grade.

import { m, t } from "../language.js";
import { byId, onThemeChange } from "../page.js";
import { disagree } from "./answered.js";
import { round, showPrompt } from "./beside.js";
import { AnswerForm } from "./form.js";
import { SIDES } from "./player.js";
import { drawWaveform } from "./waveform.js";

const INKS = ["--accent", "--second"];
const NUDGE_S = 1;
const CALM_MS = 250; // between two moves of the playhead under reduced motion
const PAUSED_MS = 50; // until the playhead moves again: a page that waits at every frame uses up a battery
const NAMES = ["query", "candidate"];
const HEAR = { query: m("hear the query for {seconds} s more"), candidate: m("hear the candidate for {seconds} s more") };
const MOMENT = { query: m("hear the query for a moment more"), candidate: m("hear the candidate for a moment more") };
const WANTS = { choice: t("choose a button"), slider: t("set the slider"), text: t("write an answer") };

/** Shows a pair at a time; sends `change` events when its draft changes. */
export class Desk extends EventTarget {
  /** listen  seconds to listen to both clips */
  constructor(player, questions, listen) {
    super();
    this.player = player;
    this.usualListen = this.required = listen;
    this.form = new AnswerForm(byId("form"), questions);
    this.pair = null;
    this.clips = [null, null];
    this.read = false; // true if the query is only a text
    this.starts = [0, 0];
    this.shownAt = 0;
    this.#connect();
  }

  /**
   * Show a pair.
   *
   * clips   of query and candidate; null for a side without sound
   * draft   `{answers, heard}` so far
   * listen  seconds to listen, if not the usual ones
   * starts  start of each clip, in seconds
   */
  show(pair, clips, { draft = /** @type {{answers?: object, heard?: number[]}} */ ({}), listen = this.usualListen, starts = [0, 0], saveText = t("Save and continue") } = {}) {
    Object.assign(this, { pair, clips, required: listen, starts, shownAt: performance.now() });
    this.form.show(draft.answers);
    byId("save-text").textContent = saveText;
    this.read = Boolean(pair.query_text && !clips[0]);
    showPrompt(byId("prompt"), pair.query_text);
    for (const id of ["hear-query", "wave-query"]) (id === "wave-query" ? byId(id).parentElement : byId(id)).hidden = this.read;
    this.player.load(clips, { heard: draft.heard, starts, some: this.read });
    this.trouble(clips.every(Boolean) || (this.read && clips[1]) ? "" : t("This pair has no sound. Choose “Cannot judge…” and say that a clip does not play."));
    byId("feedback").hidden = true;
    byId("position").setAttribute("aria-valuemax", this.player.length.toFixed(1));
    this.#draw();
    this.#showDraft();
    this.#tick();
  }

  /** Show a problem with the sound; an empty text hides it. */
  trouble(text) {
    byId("sound-trouble").textContent = text;
    byId("sound-trouble").hidden = !text;
  }

  /** Reasons why the pair cannot be saved yet, in words; empty if there are none. */
  get missing() {
    const wants = [];
    const heard = this.player.count();
    for (const [side, name] of NAMES.entries()) {
      if (this.read && side === 0) continue;
      const left = this.required - heard[side];
      if (left > 0) wants.push(left < 0.95 ? t(MOMENT[name]) : t(HEAR[name], { seconds: Math.ceil(left) }));
    }
    for (const { kind, text, grade } of this.form.open) wants.push(`${WANTS[kind]}${grade ? "" : ` (${text})`}`);
    const text = wants.join(", ");
    return text && text[0].toUpperCase() + text.slice(1);
  }

  get draft() {
    return { answers: { ...this.form.said }, heard: [...this.player.count()] };
  }

  /** Details of an answer: seconds of listening, and seconds taken. */
  get details() {
    const [query, candidate] = this.player.count();
    return {
      query_played_s: round(query),
      document_played_s: round(candidate),
      played_s: round(query + candidate),
      seconds: round((performance.now() - this.shownAt) / 1000),
    };
  }

  /** Comment on the grades of a training pair, and name the next step. */
  teach(text, good, saveText) {
    byId("feedback").className = good ? "note good" : "note";
    byId("feedback").textContent = text;
    byId("feedback").hidden = false;
    byId("save-text").textContent = saveText;
  }

  hear(side) {
    if (this.read && side === 0) byId("prompt").focus();
    else this.player.listen(side);
  }

  nudge(seconds) {
    this.player.seek(this.player.position + seconds);
    this.#move();
  }

  #connect() {
    const position = byId("position");
    byId("play").addEventListener("click", () => this.player.toggle());
    byId("match").addEventListener("click", () => this.player.match(!this.player.matched));
    SIDES.forEach((side, place) => byId(`hear-${side}`).addEventListener("click", () => this.hear(place)));
    position.addEventListener("pointerdown", (event) => this.#grab(event));
    position.addEventListener("keydown", (event) => this.#slide(event));
    this.player.addEventListener("change", () => this.#showPlayer());
    this.form.addEventListener("change", () => this.#changed());
    onThemeChange(() => this.#draw());
    new ResizeObserver(() => this.#draw()).observe(byId("clips"));
    const step = () => {
      if (this.player.playing) this.#tick();
      if (matchMedia("(prefers-reduced-motion: reduce)").matches) setTimeout(step, CALM_MS);
      else if (this.player.playing) requestAnimationFrame(step);
      else setTimeout(step, PAUSED_MS);
    };
    step();
  }

  #grab(event) {
    const position = byId("position");
    const box = position.getBoundingClientRect();
    const waves = SIDES.map((side) => byId(`wave-${side}`).getBoundingClientRect());
    const seek = ({ clientX }) => {
      this.player.seek(Math.max(0, Math.min(0.999, (clientX - box.left) / box.width)) * this.player.length);
      this.#move();
    };
    const side = waves.findIndex((wave) => event.clientY >= wave.top && event.clientY <= wave.bottom);
    if (side >= 0) this.hear(side);
    seek(event);
    position.setPointerCapture(event.pointerId);
    position.addEventListener("pointermove", seek);
    position.addEventListener("lostpointercapture", () => position.removeEventListener("pointermove", seek), { once: true });
  }

  #slide(event) {
    const steps = { ArrowLeft: -NUDGE_S, ArrowDown: -NUDGE_S, ArrowRight: NUDGE_S, ArrowUp: NUDGE_S, PageUp: 5, PageDown: -5 };
    if (event.key in steps) this.nudge(steps[event.key]);
    else if (event.key === "Home") this.nudge(-this.player.position);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #changed() {
    this.#showDraft();
    this.dispatchEvent(new Event("change"));
  }

  #showDraft() {
    const gross = disagree(this.form.said);
    const warning = byId("warning");
    if (gross === warning.hidden) {
      warning.textContent = gross ? t("The button and the slider disagree. You can save this if you mean it.") : "";
      warning.hidden = !gross;
    }
    this.#showMissing();
  }

  #showMissing() {
    const { missing } = this;
    byId("save").setAttribute("aria-disabled", String(missing !== ""));
    if (byId("missing").textContent && !missing) byId("missing").textContent = "";
  }

  /** Show what is still missing; returns true if anything is. */
  complain() {
    const { missing } = this;
    byId("missing").textContent = missing;
    return missing !== "";
  }

  #showPlayer() {
    const { player } = this;
    byId("play-text").textContent = player.playing ? t("Pause") : t("Play");
    byId("play").toggleAttribute("disabled", !player.length);
    byId("match").setAttribute("aria-pressed", String(player.matched));
    SIDES.forEach((side, place) => {
      byId(`hear-${side}`).setAttribute("aria-pressed", String(player.side === place));
      byId(`wave-${side}`).parentElement.classList.toggle("heard-now", player.side === place);
    });
  }

  #tick() {
    this.#move();
    this.#showMissing();
  }

  #move() {
    const { position, length } = this.player;
    byId("head").style.left = length ? `${(100 * position) / length}%` : "0";
    byId("time").textContent = length ? `${clock(position)} / ${clock(length)}` : "";
    byId("position").setAttribute("aria-valuenow", position.toFixed(1));
    byId("position").setAttribute("aria-valuetext", t("{n} seconds", { n: Math.round(position) }));
  }

  #draw() {
    this.clips.forEach((clip, place) => {
      const canvas = byId(`wave-${SIDES[place]}`);
      const duration = clip?.buffer.duration ?? 1;
      drawWaveform(canvas, {
        low: clip?.low ?? [],
        high: clip?.high ?? [],
        share: Math.max(0.001, duration / (this.player.length || 1)),
        start: (this.starts[place] ?? 0) / duration,
        ink: INKS[place],
      });
    });
  }
}

function clock(seconds) {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
