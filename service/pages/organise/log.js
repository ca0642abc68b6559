// The events of a campaign, latest first.

import { get, latest } from "../api.js";
import { byId, element } from "../page.js";
import { count, named, NOT_OPENED, when } from "../text.js";
import { rowOf } from "./tables.js";

const CLOSER = { a: "the first", b: "the second", "=": "neither" };
const TEXTS = { language: "language of the texts", languages: "languages that people read" }; // those with other names on the page

/** The reason that the log gives where a campaign was opened for the first time; the event is that of resuming. */
export const OPENED = "opened";

/** The words for each kind of event, as nodes: those of the page's buttons. */
const SAID = {
  cannot: ({ details }) => ["cannot judge: ", named(details.reason)],
  comparison: ({ query, document, details }) => [`compared, ${CLOSER[details.answer]} closer`, element("div", { class: "muted" }, named(query), ": ", named(document), ", ", named(details.document_b))],
  undo: ({ refers }) => [`undid #${refers}`],
  pause: (event) => (event.details?.reason === NOT_OPENED ? ["created the campaign, which is not open yet"] : because("paused the campaign")(event)),
  resume: (event) => (event.details?.reason === OPENED ? ["opened the campaign"] : because("resumed the campaign")(event)),
  close: because("closed the campaign"),
  set_aside: ({ details }) => ["set aside ", named(details.judge), ...quoted(details.reason)],
  take_back: ({ details }) => ["took back ", named(details.judge), ...quoted(details.reason)],
  questionnaire: ({ details }) => [`answered the questions ${details.moment} judging`],
  model: ({ details }) => [...(details.model ? ["chose the model ", named(details.model)] : ["chose the usual model"]), ...quoted(details.reason)],
  words: ({ details: { query, prompt: _, reason, ...texts } }) => [...(query ? ["changed the prompt of ", named(query)] : [`changed ${Object.keys(texts).map((name) => TEXTS[name] ?? name).join(", ")}`]), ...quoted(reason)],
  learn: () => ["the model learned from the judgments so far"],
};
const PAIR = new Set(["judgment", "cannot"]);

/** Show the log of a campaign; returns a function that shows it again. `failed` is called if earlier events do not come. */
export function eventLog(path, failed) {
  let oldest = null;
  const rows = byId("log", HTMLTableElement).tBodies[0];
  const take = ({ events, more }) => {
    oldest = events[0]?.number ?? oldest;
    byId("log-more").hidden = !more;
    return events.map(row).reverse();
  };
  const look = latest();
  byId("log-more").addEventListener("click", () => {
    const before = oldest;
    look(get(`${path}?before=${before}`), (found) => {
      if (before !== oldest) return; // shown already, by a click before
      rows.append(...take(found));
      describe();
    }).catch(failed);
  });
  return () => look(get(path), (found) => {
    rows.replaceChildren(...take(found));
    describe();
  });
}

function describe() {
  const { length } = byId("log", HTMLTableElement).tBodies[0].rows;
  byId("log-about").textContent = length ? `${count(length, "event")} shown, without the pairs handed out; the whole log is among the files above.` : "Nothing yet.";
}

function row(event) {
  return rowOf(
    event,
    element("td", { class: "number" }, String(event.number)),
    element("td", {}, element("time", { datetime: event.time }, when(event.time))),
    element("td", {}, element("bdi", {}, event.assessor || "–")),
    element("td", {}, ...inWords(event), ...(PAIR.has(event.kind) ? [element("div", { class: "muted" }, named(event.query), ", ", named(event.document))] : [])),
  );
}

/** An event in words, without its author, as nodes. */
export const inWords = (event) => (SAID[event.kind] ?? judged)(event);

/** @param {{details?: Record<string, any>, [field: string]: any}} event */
function judged({ kind, fine, broad, grade, details = {} }) {
  if (kind !== "judgment") return [kind];
  const grades = Object.entries({ broad, fine, grade }).filter(([, value]) => value != null);
  return [`judged ${grades.map(([name, value]) => `${name} ${value}`).join(", ")}`, ...quoted(details.note)];
}

function because(done) {
  return ({ details }) => [done, ...quoted(details?.reason)];
}

const quoted = (words) => (words ? [": “", named(words), "”"] : []);
