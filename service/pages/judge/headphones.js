// A sound check, then a headphone check, before the first pair.
//
// Woods, Siegel, Traer & McDermott (2017), doi:10.3758/s13414-017-1361-2: three tones of 200 Hz. One of them is 6 dB
// softer, and another is in antiphase between the channels. Loudspeakers cancel the latter, which then sounds softest;
// headphones do not.

import { get, newKey, post } from "../api.js";
import { t } from "../language.js";
import { announce, byId } from "../page.js";
import { clicked, showScreen } from "./screens.js";

const TONE_HZ = 200;
const TONE_S = 1;
const RAMP_S = 0.1;
const PAUSE_S = 0.5;
const LEVEL = 0.3; // of full scale, so that the tones are no louder than clips
const SOFT = 10 ** (-6 / 20);
// The tones of a trial have one of these orders; each order occurs once in a check.
const ORDERS = ["sap", "spa", "asp", "aps", "psa", "pas"]; // s: soft, a: antiphase, p: plain
const PLAYS = 2; // times that a trial may be played
const PLACES = [1, 2, 3];

/** The checks of one person, on the page's AudioContext. */
export class HeadphoneCheck {
  constructor(context) {
    this.context = context;
    this.source = null;
    this.left = 0; // times that the current trial may still be played
    this.answer = null;
    byId("headphones-play").addEventListener("click", () => this.#playTrial());
    for (const place of PLACES) byId(`headphones-${place}`).addEventListener("click", () => this.#say(place));
  }

  /**
   * Check the sound, then the headphones, at most twice; resolves with true if the person has headphones.
   *
   * screening  state of the check at the service; null if there is none
   * untilDone  repeats a request to the service until it succeeds
   */
  async passed({ root, assessor, screening }, untilDone) {
    if (screening === null) return true;
    let state = screening;
    if (state === "due" || state === "again") await this.#hearTone();
    while (state === "due" || state === "again") {
      const right = await this.#round(state === "again");
      showScreen("loading");
      const [body, key] = [{ assessor, moment: "headphones", trials_right: right }, newKey()];
      state = await untilDone(() => sent(root, body, key));
    }
    return state === "passed";
  }

  /** Handle a key during the check; true if the key is used. */
  key({ key, repeat }) {
    const button = PLACES.includes(Number(key)) ? byId(`headphones-${key}`, HTMLButtonElement) : null;
    if (!button || button.disabled || repeat) return false;
    button.click();
    return true;
  }

  async #hearTone() {
    const heard = byId("sound-heard", HTMLButtonElement);
    heard.disabled = true;
    const play = async () => {
      await this.#play("p");
      heard.disabled = false;
    };
    byId("sound-play").addEventListener("click", play);
    showScreen("sound");
    await clicked("sound-heard");
    byId("sound-play").removeEventListener("click", play);
    this.#hush();
  }

  /** Run six trials; resolves with the number of right answers. */
  async #round(again) {
    byId("headphones-again").hidden = !again;
    let right = 0;
    for (const [place, order] of shuffled(ORDERS).entries()) {
      byId("headphones-where").textContent = t("Trial {place} of {all}", { place: place + 1, all: ORDERS.length });
      right += Number((await this.#trial(order)) === order.indexOf("s") + 1);
    }
    return right;
  }

  async #trial(order) {
    this.order = order;
    this.left = PLAYS;
    this.#hush();
    this.#enable(false);
    byId("headphones-play", HTMLButtonElement).disabled = false;
    byId("headphones-play").textContent = t("Play the three tones");
    showScreen("headphones");
    byId("headphones-play").focus();
    const said = await new Promise((done) => (this.answer = done));
    this.answer = null;
    return said;
  }

  async #playTrial() {
    const { order } = this;
    const button = byId("headphones-play", HTMLButtonElement);
    this.left--;
    button.disabled = true;
    this.#enable(false);
    if (!(await this.#play(order)) || order !== this.order) return;
    this.#enable(true);
    button.disabled = this.left === 0;
    button.textContent = t("Play them once again");
    byId("headphones-answers").focus();
    announce(t("Which of the three tones was softest?"));
  }

  #say(place) {
    this.answer?.(place);
  }

  #enable(on) {
    for (const place of PLACES) byId(`headphones-${place}`, HTMLButtonElement).disabled = !on;
  }

  /** Play tones one after the other; resolves at their end, with true unless other tones replaced them. */
  async #play(order) {
    this.#hush();
    await this.context.resume();
    const source = new AudioBufferSourceNode(this.context, { buffer: tones(this.context, order) });
    this.source = source;
    source.connect(this.context.destination);
    const over = new Promise((done) => source.addEventListener("ended", done, { once: true }));
    source.start();
    await over;
    return this.source === source;
  }

  #hush() {
    this.source?.stop();
    this.source = null;
  }
}

/** Tones as stereo samples. */
function tones(context, order) {
  const { sampleRate } = context;
  const seconds = order.length * (TONE_S + PAUSE_S) - PAUSE_S;
  const buffer = new AudioBuffer({ length: Math.ceil(seconds * sampleRate), numberOfChannels: 2, sampleRate });
  const [left, right] = [buffer.getChannelData(0), buffer.getChannelData(1)];
  for (const [place, kind] of [...order].entries()) {
    const begin = Math.round(place * (TONE_S + PAUSE_S) * sampleRate);
    for (let at = 0; at < TONE_S * sampleRate; at++) {
      const second = at / sampleRate;
      const ramp = Math.min(1, second / RAMP_S, (TONE_S - second) / RAMP_S);
      const value = LEVEL * (kind === "s" ? SOFT : 1) * ramp * Math.sin(2 * Math.PI * TONE_HZ * second);
      left[begin + at] = value;
      right[begin + at] = kind === "a" ? -value : value;
    }
  }
  return buffer;
}

/** Shuffle by Fisher and Yates. */
function shuffled(all) {
  const found = [...all];
  for (let last = found.length - 1; last > 0; last--) {
    const other = Math.floor(Math.random() * (last + 1));
    [found[last], found[other]] = [found[other], found[last]];
  }
  return found;
}

/** Send a result; returns the state of the person's check, which may have ended in another window. */
async function sent(root, body, key) {
  const state = async () => (await get(`${root}/answers?${new URLSearchParams({ assessor: body.assessor, count: "1" })}`)).headphones;
  try {
    await post(`${root}/questionnaire`, body, { key });
  } catch (error) {
    const now = error.status === 409 ? await state() : null;
    if (now !== "passed" && now !== "failed") throw error;
    return now;
  }
  return state();
}

/** Reason why this browser cannot play the clips; empty if it can. */
export function browserTrouble() {
  const there = "AudioContext" in window && "AudioBufferSourceNode" in window;
  return there ? "" : t("This browser cannot play the sounds of this page (Web Audio is missing). Use a current Firefox, Chrome, Edge or Safari.");
}
