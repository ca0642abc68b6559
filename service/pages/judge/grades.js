// The controls that a pair is graded with: buttons, a slider, or both.

import { byId, element } from "../page.js";
import { startOf } from "./scale.js";

/** Builds the controls of some questions into a form; `change` events tell of a grade that changed. */
export class Grades extends EventTarget {
  constructor(form, questions) {
    super();
    this.questions = questions;
    this.said = {};
    this.form = form;
    form.replaceChildren(...questions.map((question) => (question.kind === "choices" ? this.#choices(question) : this.#slider(question))));
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  get slider() {
    return this.questions.find((question) => question.kind === "slider");
  }

  /** The questions that have no answer yet. */
  get open() {
    return this.questions.filter((question) => this.said[question.field] == null);
  }

  /** Show grades given before, or none. */
  show(said = {}) {
    this.said = {};
    for (const { field } of this.questions) if (said[field] != null) this.said[field] = said[field];
    this.#draw();
  }

  set(field, grade) {
    this.said[field] = grade;
    this.#draw();
    this.dispatchEvent(new Event("change"));
  }

  /** Take a digit key for the button of that place; whether there is one. */
  digit(digit) {
    const question = this.questions.find(({ kind }) => kind === "choices");
    if (!question || digit >= question.levels.length) return false;
    this.set(question.field, question.levels[digit]);
    return true;
  }

  /** Move the slider; whether there is one. The first move only puts it where it starts. */
  move(steps) {
    const question = this.slider;
    if (!question) return false;
    const { levels, field } = question;
    const now = this.said[field];
    const place = now == null ? startOf(levels, this.said.broad) : levels.indexOf(now) + steps;
    this.set(field, levels[Math.max(0, Math.min(levels.length - 1, place))]);
    return true;
  }

  #draw() {
    for (const question of this.questions) {
      const grade = this.said[question.field];
      if (question.kind === "slider") this.#drawSlider(question, grade);
      else for (const input of this.form.elements[question.field]) input.checked = Number(input.value) === grade;
    }
  }

  #drawSlider({ field, levels }, grade) {
    const input = byId(`grade-${field}`);
    const shown = byId(`grade-${field}-value`);
    input.value = grade == null ? startOf(levels, this.said.broad) : levels.indexOf(grade);
    for (const one of [input, shown]) one.classList.toggle("unset", grade == null);
    shown.textContent = grade == null ? "not set" : String(grade);
    input.setAttribute("aria-valuetext", shown.textContent);
  }

  #choices({ field, levels, words }) {
    const legend = field === "broad" ? "Broadly" : "Your grade";
    return element(
      "fieldset",
      {},
      element("legend", {}, legend),
      element("div", { class: "choices" }, ...levels.map((level, place) => this.#choice(field, level, place, words[place]))),
    );
  }

  #choice(field, level, place, word) {
    const id = `grade-${field}-${place}`;
    const input = element("input", { type: "radio", name: field, id, value: level, on: { change: () => this.set(field, level) } });
    const label = element("label", { for: id }, word || String(level), element("kbd", { "aria-hidden": "true" }, String(place)));
    return element("div", { class: "choice" }, input, label);
  }

  #slider({ field, levels }) {
    const id = `grade-${field}`;
    const take = () => this.set(field, levels[Number(input.value)]);
    // A click on the very place where the thumb stands changes nothing, and still means it.
    const input = element("input", { type: "range", id, name: field, class: "slider unset", min: 0, max: levels.length - 1, step: 1, on: { input: take, click: take } });
    const heading = field === "fine" ? "Finely, from 0 to 100" : "Your grade";
    return element(
      "div",
      {},
      element("div", { class: "slider-line" }, element("label", { for: id }, heading), element("output", { id: `${id}-value`, for: id, class: "slider-value unset" })),
      input,
      element("div", { class: "ends", "aria-hidden": "true" }, element("span", {}, "nothing alike"), element("span", {}, "sounds the same")),
    );
  }
}
