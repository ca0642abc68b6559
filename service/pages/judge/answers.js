// The list of a person's answers, to look at and revise, with those that the service refused.

import { moment, t } from "../language.js";
import { byId, element } from "../page.js";
import { spread } from "./work.js";
import { inWords, textsOf } from "./answered.js";
import { saidInWords } from "./compare.js";
import { nameOf } from "./order.js";

/** Fill the list; `own` is the organiser's own question, and `revise` is called with the answer whose button is pressed. */
export async function listAnswers(work, own, revise) {
  const compared = [...work.comparisonsMade.values()].filter(({ cannot }) => !cannot);
  const { firsts } = work;
  const all = [...compared, ...work.answers.values()].toSorted((one, other) => firsts.get(nameOf(one)) - firsts.get(nameOf(other)));
  const none = !all.length;
  byId("answers-none").hidden = !none;
  byId("answers-table").hidden = none;
  const rows = all.map((one, place) => (compared.includes(one) ? comparisonRow(one, place + 1, own) : row(one, place + 1, work.questions, revise)));
  byId("answers-rows").replaceChildren(...rows.reverse());
  const refused = await work.store.refused();
  byId("refused").replaceChildren(...refused.map((message) => refusal(work, message, () => listAnswers(work, own, revise))));
}

function row(answer, place, questions, revise) {
  const when = new Date(answer.time);
  const button = element("button", { class: "plain", "aria-label": t("Revise the answer to pair {place}", { place }), on: { click: () => revise(answer) } }, t("Revise"));
  return element(
    "tr",
    {},
    element("td", { class: "number" }, String(place)),
    element("td", {}, inWords(answer, questions), ...textsOf(answer, questions).map((text) => element("div", { class: "small muted" }, text))),
    element("td", { class: "small muted" }, element("time", { datetime: answer.time }, moment(when))),
    element("td", {}, button),
  );
}

/** A comparison, which cannot be revised, only undone while it is the last. */
function comparisonRow({ said, time }, place, own) {
  const words = saidInWords(said, own);
  const when = element("time", { datetime: time }, moment(new Date(time)));
  return element("tr", {}, element("td", { class: "number" }, String(place)), element("td", {}, `${t("a comparison")}: ${words}`), element("td", { class: "small muted" }, when), element("td"));
}

function refusal(work, message, listAgain) {
  const again = async (act) => {
    await act;
    work.outbox.flush();
    await listAgain();
  };
  const retry = element("button", { class: "plain", on: { click: () => again(work.store.retry(message)) } }, t("Send again"));
  const forget = element("button", { class: "plain", on: { click: () => again(work.store.forget(message)) } }, t("Discard"));
  const named = { judgment: () => inWords(spread(message.body), work.questions), comparison: () => t("a comparison") };
  const what = (named[message.kind] ?? (() => t("Undo")))();
  return element("div", { class: "note bad" }, element("p", {}, t("Rejected: {what}. The service said: {why}.", { what, why: message.reason })), element("div", { class: "row" }, retry, forget));
}
