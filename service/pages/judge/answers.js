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
  const rows = all.map((one, place) => (compared.includes(one) ? comparisonRow(one, place + 1, own, revise) : row(one, place + 1, work.questions, revise)));
  byId("answers-rows").replaceChildren(...rows.reverse());
  const refused = await work.store.refused();
  byId("refused").replaceChildren(...refused.map((message) => refusal(work, message, () => listAnswers(work, own, revise))));
}

function row(answer, place, questions, revise) {
  const texts = textsOf(answer, questions);
  return rowOf(answer, place, [inWords(answer, questions), ...texts], t("Revise the answer to pair {place}", { place }), revise);
}

function comparisonRow(answer, place, own, revise) {
  const said = `${t("a comparison")}: ${saidInWords(answer.said, own)}`;
  return rowOf(answer, place, [said, ...(answer.note ? [answer.note] : [])], t("Revise comparison {place}", { place }), revise);
}

function rowOf(answer, place, [said, ...texts], label, revise) {
  return element(
    "tr",
    {},
    element("td", { class: "number" }, String(place)),
    element("td", {}, said, ...texts.map((text) => element("div", { class: "small muted" }, text))),
    element("td", { class: "small muted" }, element("time", { datetime: answer.time }, moment(new Date(answer.time)))),
    element("td", {}, element("button", { class: "plain", "aria-label": label, on: { click: () => revise(answer) } }, t("Revise"))),
  );
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
