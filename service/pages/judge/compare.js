// A comparison: which of two candidates sounds closer to the query, or neither.

import { t } from "../language.js";
import { byId } from "../page.js";
import { Beside, check, nameOf, radios, round } from "./beside.js";

const ANSWERS = [
  { value: "a", text: t("{letter} is closer", { letter: "A" }), key: "1" },
  { value: "=", text: t("The same"), key: "2" },
  { value: "b", text: t("{letter} is closer", { letter: "B" }), key: "3" },
];

/** The screen of comparisons; sends `undo` events to withdraw the last answer. */
export class Compare extends EventTarget {
  /** listen  seconds to listen to each clip */
  constructor(context, listen) {
    super();
    this.context = context;
    this.listen = listen;
    this.beside = null;
    this.said = null;
    this.done = null;
    this.shownAt = 0;
    byId("compare-answers").replaceChildren(...radios("compare-answer", ANSWERS, (said) => this.set(said)));
    byId("compare-save").addEventListener("click", () => this.save());
    byId("compare-undo").addEventListener("click", () => this.dispatchEvent(new Event("undo")));
  }

  /** The clips, created on first use, because most campaigns have no comparisons. */
  get desk() {
    if (!this.beside) {
      this.beside = new Beside(this.context, byId("compare-desk"), [t("Query"), nameOf(0), nameOf(1)], this.listen);
      this.beside.addEventListener("change", () => this.#showMissing());
    }
    return this.beside;
  }

  /** Addresses of the clips of a comparison. */
  addresses({ query_sound, query_peaks, a_sound, a_peaks, b_sound, b_peaks }) {
    return [
      { sound: query_sound, peaks: query_peaks },
      { sound: a_sound, peaks: a_peaks },
      { sound: b_sound, peaks: b_peaks },
    ];
  }

  /** Show the place in the work; `share` of the batch is done. */
  place(where, share) {
    byId("compare-where").textContent = where;
    byId("compare-progress", HTMLProgressElement).value = share;
  }

  /** Show clips, and the prompt; resolves with the answer and its details. */
  answered(clips, said = null, prompt = "") {
    this.shownAt = performance.now();
    this.desk.show(clips, prompt);
    this.set(said);
    byId("compare-missing").textContent = "";
    return new Promise((done) => (this.done = done));
  }

  pause() {
    this.done = null;
    this.hush();
  }

  /** Stop the sound, but not the comparison. */
  hush() {
    this.beside?.player.pause();
  }

  set(said) {
    this.said = said;
    check("compare-answers", said);
    this.#showMissing();
  }

  /** Enter: save the answer, or show what is missing. */
  save() {
    if (!this.done) return;
    byId("compare-missing").textContent = this.missing;
    if (this.missing) return;
    const [query, a, b] = this.desk.player.count().map(round);
    const details = { query_played_s: query, a_played_s: a, b_played_s: b, seconds: round((performance.now() - this.shownAt) / 1000) };
    const { done, said } = this;
    this.pause();
    done({ said, details });
  }

  /** Handle a key; true if it is used here. */
  key(event) {
    const answer = ANSWERS.find(({ key }) => key === event.key);
    if (answer) this.set(answer.value);
    else if (event.key === "Enter") this.save();
    else if (event.key.toLowerCase() === "z") this.dispatchEvent(new Event("undo"));
    else return this.desk.key(event);
    return true;
  }

  /** Reasons why the comparison cannot be saved yet, in words; empty if there are none. */
  get missing() {
    return [this.desk.missing(), this.said === null ? t("Choose an answer") : ""].filter(Boolean).join(", ");
  }

  #showMissing() {
    byId("compare-save").setAttribute("aria-disabled", String(this.missing !== ""));
    if (byId("compare-missing").textContent && !this.missing) byId("compare-missing").textContent = "";
  }
}
