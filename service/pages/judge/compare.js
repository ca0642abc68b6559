// A comparison: which of two candidates sounds closer to the query, or neither.

import { sentences, t } from "../language.js";
import { byId, element } from "../page.js";
import { Beside, nameOf, round, showMissing } from "./beside.js";
import { AnswerForm } from "./form.js";
import { Player } from "./player.js";

const ANSWERS = ["a", "=", "b"]; // by keys from 1

/** An answer in words; `own` is the organiser's own question, if the two were compared by it. */
export function saidInWords(said, own) {
  const letter = said.toUpperCase();
  if (said === "=") return t("The same");
  return own ? t("{letter} fits better", { letter }) : t("{letter} is closer", { letter });
}

/** The screen of comparisons; sends `undo` and `cannot` events on request. */
export class Compare extends EventTarget {
  /**
   * listen  seconds to listen to each clip
   * own     the organiser's own question; may be empty
   */
  constructor(context, questions, listen, own) {
    super();
    this.answers = ANSWERS.map((value, place) => ({ value, text: saidInWords(value, own), key: String(place + 1) }));
    this.context = context;
    this.listen = this.required = listen;
    this.made = null;
    this.said = null;
    this.done = null;
    this.shownAt = 0;
    this.form = new AnswerForm(byId("compare-form"), questions.filter(({ name }) => name === "note").map((note) => ({ ...note, id: "compare-note" })));
    byId("compare-answers").replaceChildren(...this.answers.map((answer) => this.#radio(answer)));
    byId("compare-save").addEventListener("click", () => this.save());
    for (const what of ["undo", "cannot"]) byId(`compare-${what}`).addEventListener("click", () => this.dispatchEvent(new Event(what)));
  }

  /** The clips, created on first use, because most campaigns have no comparisons. */
  get beside() {
    if (!this.made) {
      this.made = new Beside(new Player(this.context, 3), byId("compare-desk"), [nameOf(0), nameOf(1)], "compare-");
      this.made.addEventListener("change", () => this.#showMissing());
    }
    return this.made;
  }

  #radio({ value, text, key }) {
    const id = `compare-answer-${key}`;
    const input = element("input", { type: "radio", name: "compare-answer", id, value, "aria-keyshortcuts": key, on: { change: () => this.set(value) } });
    return element("div", { class: "choice" }, input, element("label", { for: id }, element("span", {}, text), element("kbd", { "aria-hidden": "true" }, key)));
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
  place(where, left, share) {
    byId("compare-where").textContent = where;
    byId("compare-left").textContent = left;
    byId("compare-progress", HTMLProgressElement).value = share;
    this.beside.trouble(""); // creates the rows on first use, so that nothing moves when the clips arrive
  }

  /** Show clips, the prompt and an earlier answer, if need be for a revision; resolves with the answer and its details. */
  answered(clips, { said = null, note = "" } = {}, prompt = "", revising = false) {
    this.shownAt = performance.now();
    this.required = revising ? 0 : this.listen;
    byId("compare-undo").firstChild.textContent = `${revising ? t("Leave it as it was") : t("Undo")} `;
    byId("compare-cannot").hidden = revising;
    byId("compare-save-text").textContent = revising ? t("Save the revision") : t("Save and continue");
    this.beside.show(clips, prompt);
    this.beside.player.play();
    this.form.show({ note });
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
    this.made?.player.pause();
  }

  set(said) {
    this.said = said;
    for (const input of byId("compare-answers").querySelectorAll("input")) input.checked = input.value === said;
    this.#showMissing();
  }

  /** Enter: save the answer, or show what is missing. */
  save() {
    if (!this.done) return;
    byId("compare-missing").textContent = this.missing;
    if (!this.missing) this.#finish({ said: this.said });
  }

  /** Answer that candidates cannot be judged: those at some places, 0 for A and 1 for B. */
  refuse(places, reason) {
    if (this.done) this.#finish({ cannot: reason, places });
  }

  #finish(answer) {
    const [query, a, b] = this.beside.player.count().map(round);
    const details = { query_played_s: query, a_played_s: a, b_played_s: b, seconds: round((performance.now() - this.shownAt) / 1000) };
    const { done } = this;
    const { note = "" } = this.form.said;
    this.pause();
    done({ ...answer, note, details });
  }

  /** Handle a key; true if it is used here. */
  key(event) {
    const answer = this.answers.find(({ key }) => key === event.key);
    if (answer) this.set(answer.value);
    else if (event.key === "Enter") this.save();
    else if (event.key.toLowerCase() === "z") this.dispatchEvent(new Event("undo"));
    else return this.beside.key(event);
    return true;
  }

  /** The keys of the clips and answers, each with its effect, for the help. */
  get keys() {
    return [...this.beside.keys, ...this.answers.map(({ key, text }) => [[key], text])];
  }

  /** Reasons why the comparison cannot be saved yet, in words; empty if there are none. */
  get missing() {
    return sentences([this.beside.missing(this.required), this.said === null ? t("Choose an answer") : ""]);
  }

  #showMissing() {
    showMissing("compare-", this.missing);
  }
}
