// A page of several candidates of a query, beside one another, each with its own form.

import { listed, m, t } from "../language.js";
import { byId, element } from "../page.js";
import { disagree } from "./answered.js";
import { Beside, nameOf, round, showMissing } from "./beside.js";
import { AnswerForm } from "./form.js";
import { Player } from "./player.js";

const WANTS = { choice: m("choose a button of {name}"), slider: m("set the slider of {name}"), text: m("write an answer of {name}") };

/** The screen of several candidates; sends `change` events about drafts, and `undo` and `cannot` events on request. */
export class Several extends EventTarget {
  /** listen  seconds to listen to each clip */
  constructor(context, questions, listen) {
    super();
    this.context = context;
    this.questions = questions;
    this.listen = listen;
    this.made = new Map(); // desks by number of candidates, made on first use
    this.desk = null;
    this.pairs = [];
    this.cannot = []; // reasons, by candidate
    this.done = null;
    this.shownAt = 0;
    byId("several-save").addEventListener("click", () => this.save());
    byId("several-undo").addEventListener("click", () => this.dispatchEvent(new Event("undo")));
    byId("several-cannot").addEventListener("click", () => this.dispatchEvent(new Event("cannot")));
  }

  /** Addresses of the clips of a page: of the query, then of the candidates. */
  static addresses(pairs) {
    const [{ query_sound, query_peaks }] = pairs;
    return [{ sound: query_sound, peaks: query_peaks }, ...pairs.map((pair) => ({ sound: pair.document_sound, peaks: pair.document_peaks }))];
  }

  /** Show the place in the work; `share` of the batch is done. */
  place(where, left, share) {
    byId("several-where").textContent = where;
    byId("several-left").textContent = left;
    byId("several-progress", HTMLProgressElement).value = share;
  }

  /** Show the desk for this number of candidates, without clips. */
  prepare(pairs) {
    this.pause();
    this.pairs = pairs;
    const count = pairs.length;
    if (!this.made.has(count)) this.made.set(count, this.#make(count));
    this.desk = this.made.get(count);
    byId("several-desk").replaceChildren(this.desk.root);
  }

  /**
   * Show the prepared page; resolves with the answers about each candidate, and details.
   *
   * drafts  of each candidate, `{answers, cannot}`
   */
  answered(clips, drafts) {
    this.shownAt = performance.now();
    this.cannot = drafts.map((draft) => draft?.cannot ?? null);
    for (const [place, form] of this.desk.forms.entries()) form.show(drafts[place]?.answers);
    this.desk.beside.show(clips, this.pairs[0].query_text);
    this.desk.beside.player.play();
    byId("several-missing").textContent = "";
    this.#showCannot();
    return new Promise((done) => (this.done = done));
  }

  pause() {
    this.done = null;
    this.hush();
  }

  /** Stop the sound, but not the page. */
  hush() {
    this.desk?.beside.player.pause();
  }

  /** Answers so far, by candidate. */
  get drafts() {
    return this.pairs.map((_, place) => ({ answers: { ...this.desk.forms[place].said }, cannot: this.cannot[place] ?? undefined }));
  }

  /** Place of the audible candidate; the first while the query is audible. */
  get heard() {
    return Math.max(0, this.desk.beside.player.side - 1);
  }

  /** Record why the audible candidate cannot be judged; an empty reason withdraws this. */
  refuse(place, reason) {
    this.cannot[place] = reason || null;
    this.#showCannot();
    this.dispatchEvent(new Event("change"));
  }

  /** Enter: save the page, or show what is missing. */
  save() {
    if (!this.done) return;
    byId("several-missing").textContent = this.missing;
    if (this.missing) return;
    const { done } = this;
    const answers = this.#answers();
    this.pause();
    done(answers);
  }

  /** The body to send for each candidate, with its share of the seconds and of the time listened to the query. */
  #answers() {
    const count = this.pairs.length;
    const [query, ...candidates] = this.desk.beside.player.count();
    const seconds = (performance.now() - this.shownAt) / 1000 / count;
    return this.drafts.map(({ answers, cannot }, place) => ({
      said: cannot ? { cannot, answers: answers.note ? { note: answers.note } : {} } : { answers },
      details: {
        beside: count,
        beside_place: place + 1,
        seconds: round(seconds),
        query_played_s: round(query),
        document_played_s: round(candidates[place]),
        played_s: round(query / count + candidates[place]),
      },
      since: (count - 1 - place) * seconds, // in the log, answers of a page follow one another like single ones
    }));
  }

  /** The keys of the clips, each with its effect, for the help. */
  get keys() {
    return this.desk.beside.keys;
  }

  /** The form of the audible candidate. */
  get form() {
    return this.desk.forms[this.heard];
  }

  /** Handle a key; true if it is used here. */
  key(event) {
    const { form } = this;
    if (event.key === "Enter") this.save();
    else if (event.key.toLowerCase() === "z") this.dispatchEvent(new Event("undo"));
    else if (/^\d$/.test(event.key)) return form.digit(Number(event.key));
    else if (event.key.startsWith("Arrow") && !event.shiftKey) return this.#arrow(event, form);
    else return this.desk.beside.key(event);
    return true;
  }

  #arrow({ key, target }, form) {
    if (target.matches?.("input")) return false;
    return form.move({ ArrowLeft: -1, ArrowRight: 1, ArrowUp: 10, ArrowDown: -10 }[key]);
  }

  /** Reasons why the page cannot be saved yet, in words; empty if there are none. */
  get missing() {
    const refused = this.pairs.flatMap((_, place) => (this.cannot[place] ? [place + 1] : []));
    const spared = refused.length === this.pairs.length ? [0, ...refused] : refused;
    const { beside } = this.desk;
    const wants = [beside.missing(this.listen, spared)];
    for (const [place, form] of this.desk.forms.entries()) {
      if (this.cannot[place]) continue;
      const heard = (beside.clips[0] || beside.read) && beside.clips[place + 1];
      if (this.listen > 0 && !heard) wants.push(t("say that {name} cannot be judged", { name: nameOf(place) }));
      if (this.listen > 0 && !heard) continue;
      const [open] = form.open;
      if (open) wants.push(`${t(WANTS[open.kind], { name: nameOf(place) })}${open.grade ? "" : ` (${open.text})`}`);
    }
    const text = listed(wants);
    return text && text[0].toUpperCase() + text.slice(1);
  }

  #make(count) {
    const names = Array.from({ length: count }, (_, place) => nameOf(place));
    const root = element("div", { class: "stack" });
    const forms = [];
    const controls = names.map((name, place) => this.#control(name, place, forms));
    const beside = new Beside(new Player(this.context, count + 1), root, names, "several-", controls);
    beside.addEventListener("change", () => this.#showMissing());
    for (const form of forms) form.addEventListener("change", () => this.#changed());
    return { root, beside, forms };
  }

  #control(name, place, forms) {
    const form = element("form", { class: "candidate-form stack", "aria-label": name });
    forms.push(new AnswerForm(form, this.questions.map((question) => ({ ...question, id: `${place}-${question.name}` }))));
    const judge = element("button", { type: "button", class: "plain", on: { click: () => this.refuse(place, "") } }, t("Judge it after all"));
    return element("div", { class: "stack" }, form, element("p", { class: "note small candidate-cannot", hidden: true }, element("span", {}), " ", judge));
  }

  #showCannot() {
    for (const [place, note] of [...this.desk.root.querySelectorAll(".candidate-cannot")].entries()) {
      const reason = this.cannot[place];
      note.hidden = !reason;
      note.previousElementSibling.hidden = Boolean(reason);
      note.firstElementChild.textContent = reason ? t("Cannot be judged: {why}.", { why: t(reason) }) : "";
    }
    this.#showGross();
    this.#showMissing();
  }

  #changed() {
    this.#showGross();
    this.#showMissing();
    this.dispatchEvent(new Event("change"));
  }

  #showGross() {
    const gross = this.desk.forms.map((form, place) => (disagree(form.said) && !this.cannot[place] ? nameOf(place) : "")).filter(Boolean);
    const warning = byId("several-warning");
    warning.hidden = !gross.length;
    warning.textContent = gross.length ? t("The button and the slider of {names} disagree. You can save this if you mean it.", { names: listed(gross) }) : "";
  }

  #showMissing() {
    if (this.desk && this.pairs.length) showMissing("several-", this.missing);
  }
}
