// Two systems side by side: the difference, the queries that decide it, and the most informative pairs to judge.

import { element } from "../page.js";
import { addressOf } from "./address.js";
import { recording } from "./pictures.js";
import { playButton } from "./play.js";
import { whiskers, widened } from "./ranking.js";
import { expectedGrade, rowOf, table } from "./tables.js";
import { longName, named, percent, withNames } from "../text.js";

const MINUS = "\u2212";

/** A difference with its sign. */
const gap = (value) => `${value < 0 ? MINUS : "+"}${Math.abs(value).toFixed(3)}`;

export function twoSystems(found) {
  const { a, b, aspect } = found;
  const names = [a, b];
  const link = (system) => element("a", { href: addressOf({ system, aspect }), "data-key": `system ${system}` }, named(system, 38));
  const figures = element(
    "dl",
    { class: "figures" },
    figure(["Probability that ", named(a, 24), " is better, one-sided"], found.verdict === "equal" ? "equal" : percent(found.above)),
    figure([`Difference of expected ${found.measure}`], gap(found.expectation)),
    figure(["95 % interval, two-sided"], `${gap(found.low)} to ${gap(found.high)}`),
  );
  const beside = found.beside ? [`About ${found.beside.about.queries === "queries" ? "queries of this kind" : "these queries"}: ${VERDICTS[found.beside.verdict]}${found.beside.verdict === "equal" ? "" : `, confidence ${percent(found.beside.confidence)}`}.`] : [];
  const more = element("p", { class: "small" }, "Queries of ", link(a), " and of ", link(b), ". ", element("a", { href: addressOf({ a: b, b: a, aspect }), "data-key": "swap" }, "Swap them"), ".");
  const range = widened([...found.largest, ...found.least_sure, { low: 0, high: 0 }]);
  const queries = (id, title, said, some) => part(title, said, table(id, title, HEADS, element("tbody", {}, ...some.map((one) => differenceRow(one, found, range))), "ranking queries"));
  const shown = [
    figures,
    ...(beside.length ? [element("p", { class: "small" }, ...beside)] : []),
    more,
    queries("deciding", "Queries that decide", "The largest expected differences, by size. Percentages are rounded down.", found.largest),
    ...(found.least_sure.length ? [queries("least-certain", "Least certain queries", "The largest variances of the difference: judgments there are most informative.", found.least_sure)] : []),
    telling(found),
  ];
  const sentence = found.sentence.replace(/confidence \S+ in their order/, `confidence ${percent(found.confidence)} in their order`);
  return { about: withNames(sentence, names, 38), shown };
}

const VERDICTS = { better: "better", worse: "worse", equal: "equal", "not told apart": "cannot be told apart" };
const HEADS = [["Query", "", "query"], ["Difference", "number", "expectation", "-"], ["95 % interval", "interval"], ["A better", "number next", "above", "-"]];

const figure = (said, value) => element("div", {}, element("dt", {}, ...said), element("dd", {}, element("span", { class: "figure" }, value)));

const part = (title, said, ...shown) => element("section", { class: "stack tight" }, element("h3", {}, title), element("p", { class: "small muted" }, said), ...shown);

function differenceRow(one, { a, b, aspect }, range) {
  const to = (system, said) => element("a", { href: addressOf({ system, query: one.query, aspect }), "data-key": `${system} ${one.query}`, "aria-label": `${said}: results of ${system} for query ${one.query}`, class: "side-of" }, said);
  return rowOf(
    one,
    element("th", { scope: "row", title: one.query }, element("span", { class: "sides" }, longName(one.query), " ", to(a, "A"), " ", to(b, "B"))),
    element("td", { class: "number" }, gap(one.expectation)),
    element("td", { class: "interval" }, element("div", { class: "whiskers" }, whiskers(one, range, 0), element("span", { class: "ends" }, `${gap(one.low)} to ${gap(one.high)}`))),
    element("td", { class: "number next" }, one.equal ? "equal" : percent(one.above, 0)),
  );
}

function telling(found) {
  const title = "Most informative pairs to judge";
  if (!found.telling.length) return part(title, found.verdict === "equal" ? "None: no judgment can tell equal systems apart." : "All pairs that distinguish these two systems are judged.");
  const known = found.telling.some((one) => one.share !== null);
  const heads = [["Query", "", "query"], ["Document", "", "document"], ["Rank in A", "number", "rank_a"], ["Rank in B", "number", "rank_b"], ["Expected grade", "number", "expectation", "-"], ...(known ? [["Variance removed", "number", "share", "-"]] : [])];
  const rows = found.telling.map((one) => tellingRow(one, known));
  const said = known ? "Not judged yet. A judgment removes this share of the variance of the difference." : "Not judged yet, most informative first.";
  return part(title, said, table("informative", title, heads, element("tbody", {}, ...rows), "clips"));
}

const ranked = (rank) => (rank === null ? "–" : String(rank));

function tellingRow(one, known) {
  const heard = (kind, name, address) => element("span", { class: "row tight-row" }, playButton(address, `${kind} ${name}`), recording(kind, name));
  return rowOf(
    one,
    element("th", { scope: "row" }, heard("query", one.query, one.query_sound)),
    element("td", {}, heard("document", one.document, one.sound)),
    element("td", { class: "number" }, ranked(one.rank_a)),
    element("td", { class: "number" }, ranked(one.rank_b)),
    element("td", { class: "number" }, expectedGrade(one)),
    ...(known ? [element("td", { class: "number" }, percent(one.share))] : []),
  );
}
