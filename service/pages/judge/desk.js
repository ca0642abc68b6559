// The desk: a pair, its two clips, and the controls for its grade.

import { listed, m, t } from "../language.js";
import { byId } from "../page.js";
import { disagree } from "./answered.js";
import { Beside, round, showMissing } from "./beside.js";
import { AnswerForm } from "./form.js";

const NAMES = ["query", "candidate"];
const HEAR = { query: m("hear the query for {seconds} s more"), candidate: m("hear the candidate for {seconds} s more") };
const MOMENT = { query: m("hear the query for a moment more"), candidate: m("hear the candidate for a moment more") };
const WANTS = { choice: t("choose a button"), slider: t("set the slider"), text: t("write an answer") };

/** Shows a pair at a time; sends `change` events when its draft changes. */
export class Desk extends EventTarget {
  /** listen  seconds to listen to both clips */
  constructor(player, questions, listen) {
    super();
    this.usualListen = this.required = listen;
    this.beside = new Beside(player, byId("clips"), [t("Candidate")]);
    this.form = new AnswerForm(byId("form"), questions);
    this.pair = null;
    this.shownAt = 0;
    this.beside.addEventListener("change", () => this.#showMissing());
    this.form.addEventListener("change", () => {
      this.#showDraft();
      this.dispatchEvent(new Event("change"));
    });
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
    Object.assign(this, { pair, required: listen, shownAt: performance.now() });
    this.form.show(draft.answers);
    byId("save-text").textContent = saveText;
    byId("feedback").hidden = true;
    this.beside.show(clips, pair.query_text, { heard: draft.heard, starts });
    this.#showDraft();
  }

  /** Reasons why the pair cannot be saved yet, in words; empty if there are none. */
  get missing() {
    const wants = [];
    const heard = this.beside.player.count();
    for (const [side, name] of NAMES.entries()) {
      if (this.beside.read && side === 0) continue;
      const left = this.beside.needed(side, this.required) - heard[side];
      if (left > 0) wants.push(left < 0.95 ? t(MOMENT[name]) : t(HEAR[name], { seconds: Math.ceil(left) }));
    }
    for (const { kind, text, grade } of this.form.open) wants.push(`${WANTS[kind]}${grade ? "" : ` (${text})`}`);
    const text = listed(wants);
    return text && text[0].toUpperCase() + text.slice(1);
  }

  get draft() {
    return { answers: { ...this.form.said }, heard: [...this.beside.player.count()] };
  }

  /** Details of an answer: seconds of listening, and seconds taken. */
  get details() {
    const [query, candidate] = this.beside.player.count();
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
    showMissing("", this.missing);
  }

  /** Show what is still missing; returns true if anything is. */
  complain() {
    const { missing } = this;
    byId("missing").textContent = missing;
    return missing !== "";
  }
}
