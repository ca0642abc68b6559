// The form for judging a pair, built from the questions that the service lists.

import { t } from "../language.js";
import { byId, element } from "../page.js";
import { headingOf, startOf, wordOf } from "./answered.js";

const CONTROLS = {
  choice: { make: choices, show: checkChoice },
  slider: { make: slider, show: moveSlider },
  text: { make: text, show: writeText },
};

const USUAL_GRADES = ["broad", "fine", "grade"];

/** True if a pair is graded for several aspects, whose questions need not be about similarity. */
export const hasAspects = (questions) => questions.some(({ name, grade }) => grade && !USUAL_GRADES.includes(name));

/** Builds the controls of some questions into a form; sends `change` events when an answer changes. */
export class AnswerForm extends EventTarget {
  constructor(form, questions) {
    super();
    this.questions = questions;
    this.said = {};
    this.last = null; // name of the question answered last
    form.replaceChildren(...questions.map((question) => CONTROLS[question.kind].make(question, (answer) => this.set(question.name, answer))));
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  #first(kind) {
    return this.questions.find((question) => question.kind === kind);
  }

  /** The slider moved by arrow keys: the one moved last, or else the first that is not set. */
  get slider() {
    const sliders = this.questions.filter(({ kind, grade }) => kind === "slider" && grade);
    return sliders.find(({ name }) => name === this.last) ?? sliders.find(({ name }) => this.said[name] === undefined) ?? this.#first("slider");
  }

  /** The buttons pressed by digit keys: those of the first missing grade. */
  get choice() {
    const choices = this.questions.filter(({ kind, grade }) => kind === "choice" && grade);
    return choices.length > 1 ? choices.find(({ name }) => this.said[name] === undefined) ?? choices.at(-1) : this.#first("choice");
  }

  /** The required questions without an answer. */
  get open() {
    return this.questions.filter(({ name, required }) => required && this.said[name] === undefined);
  }

  /** Show earlier answers, or none. */
  show(said = {}) {
    this.said = {};
    this.last = null;
    for (const { name } of this.questions) if (said[name] != null) this.said[name] = said[name];
    this.#draw();
  }

  set(name, answer) {
    this.last = name;
    if (answer === "") delete this.said[name];
    else this.said[name] = answer;
    this.#draw();
    this.dispatchEvent(new Event("change"));
  }

  /** Press the button at a digit key's place; true if there is one. */
  digit(digit) {
    const { choice } = this;
    if (!choice || digit >= choice.levels.length) return false;
    this.set(choice.name, choice.levels[digit]);
    return true;
  }

  /** Move the slider; true if there is one. The first move only puts it at its start. */
  move(steps) {
    const { slider: question } = this;
    if (!question) return false;
    const { levels, name } = question;
    const now = this.said[name];
    const place = now === undefined ? startOf(question, this.said) : levels.indexOf(now) + steps;
    this.set(name, levels[Math.max(0, Math.min(levels.length - 1, place))]);
    return true;
  }

  #draw() {
    for (const question of this.questions) CONTROLS[question.kind].show(question, this.said[question.name], this.said);
  }
}

/** Identifier of a question's control; `id` tells several forms with the same questions apart. */
const idOf = ({ name, id = name }) => `answer-${id}`;

function choices(question, take) {
  const { name, levels, words } = question;
  const choice = (level, place) => {
    const id = `${idOf(question)}-${place}`;
    const input = element("input", { type: "radio", name, id, value: place, on: { change: () => take(level) } });
    const key = question.grade ? [element("kbd", { "aria-hidden": "true" }, String(place))] : [];
    return element("div", { class: "choice" }, input, element("label", { for: id }, wordOf(question, words[place]) || String(level), ...key));
  };
  return element("fieldset", {}, element("legend", {}, headingOf(question)), element("div", { class: "choices" }, ...levels.map(choice)));
}

function checkChoice(question, answer) {
  question.levels.forEach((level, place) => (byId(`${idOf(question)}-${place}`, HTMLInputElement).checked = level === answer));
}

function slider(question, take) {
  const { levels, ends } = question;
  const id = idOf(question);
  const takePlace = () => take(levels[Number(input.value)]);
  // A click or tap exactly at the thumb's start does not change the value, but is an answer; the thumb swallows a tap's click.
  const input = element("input", { type: "range", id, name: question.name, class: "slider", min: 0, max: levels.length - 1, step: 1, on: { input: takePlace, click: takePlace, pointerup: takePlace } });
  const words = ends.length ? [element("div", { class: "ends", "aria-hidden": "true" }, ...ends.map((word) => element("span", {}, wordOf(question, word))))] : [];
  return element(
    "div",
    {},
    element("div", { class: "slider-line" }, element("label", { for: id }, headingOf(question)), element("output", { id: `${id}-value`, for: id, class: "slider-value" })),
    input,
    ...words,
  );
}

/** An unset slider must not look like an answer, so it has no thumb and no filled part. */
function moveSlider(question, answer, said) {
  const { levels } = question;
  const [input, shown] = [byId(idOf(question), HTMLInputElement), byId(`${idOf(question)}-value`)];
  const unset = answer === undefined;
  input.value = String(unset ? startOf(question, said) : levels.indexOf(answer));
  input.style.setProperty("--set", String(unset ? 0 : levels.indexOf(answer) / (levels.length - 1)));
  for (const one of [input, shown]) one.classList.toggle("unset", unset);
  shown.textContent = unset ? t("not set") : String(answer);
  input.setAttribute("aria-valuetext", unset ? t("not set") : String(answer));
}

function text(question, take) {
  const id = idOf(question);
  const area = element("textarea", { id, name: question.name, rows: 2, maxlength: 4000, on: { input: () => take(area.value.trim()) } });
  if (question.required) return element("div", {}, element("label", { for: id }, headingOf(question)), area);
  const label = element("label", { for: id, class: "hidden-visually" }, headingOf(question));
  const write = () => setTimeout(() => area.checkVisibility() && area.focus()); // letters typed elsewhere are shortcuts
  return element("details", { id: `${id}-box` }, element("summary", { on: { click: write } }, headingOf(question)), label, area);
}

function writeText(question, answer = "") {
  const area = byId(idOf(question), HTMLTextAreaElement);
  if (area.value.trim() !== answer) area.value = answer; // otherwise typed text would lose its last space
  const box = question.required ? null : byId(`${idOf(question)}-box`, HTMLDetailsElement);
  if (box && answer) box.open = true;
  if (box && !answer && document.activeElement !== area) box.open = false;
}
