// The views behind a row of the ranking: a system's queries, its results for one, two systems; each has its own
// address.

import { get, latest } from "../api.js";
import { announce, byId, element } from "../page.js";
import { addressOf, readAddress } from "./address.js";
import { recording } from "./pictures.js";
import { playButton, silence } from "./play.js";
import { whiskers, widened } from "./ranking.js";
import { expectedGrade, grade, rowOf, table } from "./tables.js";
import { openTab } from "./tabs.js";
import { twoSystems } from "./two.js";
import { count, longName, named, score, whole } from "../text.js";

const PATIENCE_MS = 60_000; // by one aspect the model learns anew
const MANY = 15; // queries; a filter is offered for more
const PARTS = { system: "system-queries", query: "result-list", two: "two-systems" };

let path = "";
let collection = "";
const look = latest();
let shown = "";
let wanted = "";
let other = (/** @type {string} */ _) => {};

/** Follow the page's address; `onAspect` is called when its aspect changes. */
export function drillDown(collectionPath, name, onAspect) {
  [path, collection, other] = [collectionPath, name, onAspect];
  addEventListener("popstate", () => follow(true));
  follow(false);
}

/** Load the current view again after new judgments. */
export const refreshDetail = () => load(readAddress(), false);

let aspect = "";
let failed = false; // true if the last request failed

function follow(moved) {
  const address = readAddress();
  byId("detail").hidden = !address.view;
  for (const id of ["part-systems", "part-pairs"]) byId(id).hidden = Boolean(address.view);
  openTab(location.hash.includes("=") ? "ranking" : location.hash.slice(1));
  if (aspect !== address.aspect) other((aspect = address.aspect));
  if (!address.view) {
    silence();
    shown = "";
  } else load(address, moved);
}

async function load(address, moved) {
  if (!address.view) return;
  const { view, ...names } = address;
  const key = addressOf(names);
  if (key !== shown) {
    silence();
    byId("detail-path").replaceChildren(...crumbs(address));
    byId("detail-title").replaceChildren(...titleOf(address));
    byId("detail-about").textContent = "Computing…";
    byId("detail-shown").replaceChildren();
    byId("detail-trouble").hidden = true;
    [shown, wanted] = [key, ""];
    if (moved) byId("detail-title").focus();
  }
  const query = new URLSearchParams(Object.entries(names).filter(([, value]) => value !== null && value !== ""));
  try {
    await look(get(`${path}/${PARTS[view]}?${query}`, { patienceMs: PATIENCE_MS }), (found) => {
      if (failed) byId("detail-trouble").hidden = true;
      failed = false;
      draw(view, found);
      if (moved) announce(byId("detail-about").textContent);
    }, key);
  } catch (error) {
    failed = true;
    byId("detail-about").textContent = "";
    byId("detail-trouble").textContent = `${error.message}.`;
    byId("detail-trouble").hidden = false;
  }
}

function draw(view, found) {
  const parts = view === "system" ? systemView(found) : view === "query" ? queryView(found) : twoSystems(found);
  byId("detail-about").replaceChildren(...parts.about);
  byId("detail-shown").replaceChildren(...parts.shown);
}

const link = (names, ...children) => element("a", { href: addressOf(names), "data-key": addressOf(names) }, ...children);

function crumbs({ view, system, aspect: of }) {
  const items = [link({ aspect: of }, "Ranking"), ...(view === "query" ? [link({ system, aspect: of }, named(system, 24))] : [])];
  return items.map((item) => element("li", {}, item));
}

function titleOf({ view, system, query, a, b }) {
  if (view === "two") return [named(a, 38), " compared with ", named(b, 38)];
  return view === "query" ? ["Query ", named(query, 38), " by ", named(system, 38)] : ["System ", named(system, 60)];
}

const byAspect = (found) => (found.aspect && found.aspect !== "mean" ? ` for ${found.aspect}` : "");

function systemView(found) {
  const { queries } = found;
  const about = `Rank ${found.rank}. Expected ${found.measure}${byAspect(found)}: ${score(found.expectation)}, 95 % interval ${score(found.low)}–${score(found.high)}. It is the mean over ${count(queries.length, "query", "queries")}; each interval below is about its query alone.`;
  const body = element("tbody");
  const range = widened(queries);
  const fill = () => {
    const some = queries.filter((one) => one.query.toLowerCase().includes(wanted));
    body.replaceChildren(...some.map((one) => queryRow(found, one, range)));
  };
  fill();
  const heads = [["Query", "", "query"], ["Score", "number", "expectation", "-"], ["95 % interval", "interval", "variance", "-"], ["Judged", "number", "judged"]];
  return { about: [about], shown: [...filtering(queries, fill), table("queries", "Queries", heads, body, "ranking queries")] };
}

/** A field that leaves out the queries with other names. */
function filtering(queries, fill) {
  const field = element("input", { id: "queries-filter", type: "search", autocomplete: "off", "data-key": "filter", value: wanted, on: { input: () => ((wanted = field.value.trim().toLowerCase()), fill()) } });
  return queries.length > MANY ? [element("div", { class: "row" }, element("label", { for: "queries-filter" }, "Queries with a name containing"), field)] : [];
}

const ends = (one) => element("span", { class: "ends" }, `${score(one.low)}–${score(one.high)}`);

function rowLink(names, name) {
  const made = link(names, longName(name));
  made.setAttribute("aria-label", name); // a long name is shown in two parts
  return made;
}

function queryRow({ system, aspect: of }, one, range) {
  return rowOf(
    one,
    element("th", { scope: "row", title: one.query }, rowLink({ system, query: one.query, aspect: of }, one.query)),
    element("td", { class: "number" }, score(one.expectation)),
    element("td", { class: "interval" }, element("div", { class: "whiskers" }, whiskers(one, range), ends(one))),
    element("td", { class: "number" }, `${whole(one.judged)} of ${whole(one.pairs)}`),
  );
}

function queryView(found) {
  const { clips, query, score: own } = found;
  const unjudged = clips.filter((clip) => !clip.judged).length;
  const scored = own ? `Expected ${found.measure}${byAspect(found)}: ${score(own.expectation)}, 95 % interval ${score(own.low)}–${score(own.high)}. ` : "";
  const left = unjudged ? `${count(unjudged, "result")} not judged: an expected grade, with the 95 % interval of a single grade.` : "All results are judged.";
  const asked = found.query_sound ? [element("p", { class: "row" }, playButton(found.query_sound, `query ${query}`), element("span", {}, "The query ", recording("query", query)))] : [];
  const heads = [["#", "number", "rank"], ["Document", "", "document"], ["Grade", "number", "expectation", "-"], ["Judged by"]];
  const body = element("tbody", {}, ...clips.map((clip) => clipRow(clip)));
  const judge = unjudged ? [element("p", {}, element("a", { href: `/judge/${encodeURIComponent(collection)}` }, "Open the judging page"), ", which hands out the most informative unjudged pairs.")] : [];
  return { about: [`${scored}${left} Grades go to ${found.highest}.`], shown: [...asked, table("results", `Results for query ${query}`, heads, body, "clips"), ...judge] };
}

function clipRow(clip) {
  const by = Object.entries(clip.grades).flatMap(([name, said], place) => [place ? ", " : "", name ? named(name, 24) : "unnamed", ` ${grade(said)}`]);
  return rowOf(
    clip,
    element("td", { class: "number" }, String(clip.rank)),
    element("th", { scope: "row" }, element("span", { class: "row tight-row" }, playButton(clip.sound, `document ${clip.document}`), recording("document", clip.document))),
    element("td", { class: "number" }, clip.judged ? grade(clip.expectation) : `≈ ${expectedGrade(clip)}`),
    element("td", {}, ...(clip.judged ? by : ["nobody yet"])),
  );
}
