// The pairs on which assessors differ most, and the dialog that asks one more person to judge such a pair.

import { get, latest, post } from "../api.js";
import { announce, byId, element } from "../page.js";
import { apart, count, named } from "../text.js";
import { attempting } from "./attempt.js";
import { recording } from "./pictures.js";
import { number, rowOf } from "./tables.js";

const STATUS = { waiting: "waiting", cannot: "cannot judge it", "set aside": "set aside" };
let chosen = { query: "", document: "" };

/** Wire the dialog; `people` returns the judges, the people set aside and the number of pairs that several judged, `done` is called after each request. */
export function adjudicating(path, people, done) {
  const dialog = byId("adjudicate", HTMLDialogElement);
  byId("adjudicate-no").addEventListener("click", () => dialog.close());
  const attempt = attempting("adjudicate-trouble");
  byId("adjudicate-form").addEventListener("submit", (event) => {
    event.preventDefault(); // the dialog stays open until the service has answered
    const assessor = byId("adjudicate-who", HTMLSelectElement).value;
    attempt(async () => {
      await post(`${path}/adjudications`, { ...chosen, assessor });
      dialog.close();
      announce(`${apart(assessor)} is asked`);
      byId("disputed-frame").focus();
      done();
    });
  });
  const offering = latest();
  const ask = ({ query, document, grades }, asked) => {
    chosen = { query, document };
    byId("adjudicate-pair").replaceChildren("Document ", named(document), " for query ", named(query));
    byId("adjudicate-who").replaceChildren();
    byId("adjudicate-yes", HTMLButtonElement).disabled = true;
    dialog.showModal();
    const show = ({ invited }) => offer(new Set([...people().names, ...invited.filter((one) => !one.ended).map((one) => one.name)]), new Set([...Object.keys(grades), ...people().aside, ...asked.map((one) => one.assessor)]));
    attempt(() => offering(get(`${path}/invitations`), show, chosen));
  };
  const look = latest();
  return () => look(Promise.all([get(`${path}/disagreements`, { patienceMs: 60_000 }), get(`${path}/adjudications`)]), ([{ pairs }, { adjudications }]) => showDisputed(pairs, adjudications, ask, people().shared));
}

/** Offer these names for a choice, except those to leave out. */
function offer(names, without) {
  const left = [...names].filter((name) => name && !without.has(name)).sort((one, other) => one.localeCompare(other));
  byId("adjudicate-who").replaceChildren(...left.map((name) => element("option", { value: name }, apart(name))));
  byId("adjudicate-yes", HTMLButtonElement).disabled = !left.length;
  if (!left.length) throw new Error("Everybody who judges here or is invited has judged this pair or been asked");
}

function showDisputed(pairs, adjudications, ask, shared) {
  byId("disputed-frame").hidden = !pairs.length;
  byId("disputed-about").textContent = pairs.length
    ? "Pairs judged by several people, greatest disagreement first, considering how each of them judges other pairs. Spread is 1 for the usual disagreement here; chance is the probability of at least as much. Discuss the first pairs, or ask one more person."
    : shared
      ? `${count(shared, "pair was", "pairs were")} judged by several people, but the model does not tell where they differ most.`
      : "No pair has been judged by two people yet.";
  byId("disputed", HTMLTableElement).tBodies[0].replaceChildren(...pairs.map((one) => disputedRow(one, adjudications.filter((asked) => asked.query === one.query && asked.document === one.document), ask)));
}

function disputedRow(one, asked, ask) {
  return rowOf(
    one,
    element("th", { scope: "row", title: apart(one.query) }, recording("query", one.query)),
    element("td", {}, recording("document", one.document)),
    element("td", {}, ...listed(Object.entries(one.grades).map(([name, grade]) => [named(name || "unnamed"), ` ${grade}`]))),
    number(one.spread.toFixed(1)),
    number(one.chance < 0.001 ? "< 0.001" : one.chance.toFixed(3)),
    element(
      "td",
      {},
      ...listed(asked.map(({ assessor, status, grade }) => [named(assessor), ` (${STATUS[status] ?? grade})`])),
      " ",
      element("button", { type: "button", class: "plain", "aria-haspopup": "dialog", on: { click: () => ask(one, asked) } }, "Ask…", element("bdi", { class: "hidden-visually" }, ` about ${one.document} for ${one.query}`)),
    ),
  );
}

/** Nodes of several items, separated by commas. */
function listed(items) {
  return items.flatMap((item, place) => [...(place ? [", "] : []), ...item]);
}
