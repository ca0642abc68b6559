// Results as a page for anybody: publishing, listing, withdrawing.

import { get, latest, post } from "../api.js";
import { announce, byId, element } from "../page.js";
import { named, when, whole } from "../text.js";
import { attempting } from "./attempt.js";
import { rowOf } from "./tables.js";

const PATIENCE_MS = 300_000; // a bundle needs many draws of the missing grades

const area = (id) => byId(id, HTMLTextAreaElement);
const box = (id) => byId(id, HTMLInputElement);

/**
 * Wire the form that publishes the results, and the list of publications.
 *
 * path    address of the collection at the service
 * closed  called after this page closed the campaign
 */
export function publishing(path, closed) {
  const place = `${path}/publications`;
  const attempt = attempting("publish-trouble");
  const look = latest();
  const list = (request) => look(request, ({ publications }) => show(publications, withdraw));
  const withdraw = (number) =>
    confirm(`Withdraw publication ${number}? Its page and its files are deleted for good.`) &&
    attempt(async () => {
      await list(post(`${place}/withdraw`, { number }));
      byId("publish-said").replaceChildren(); // its address may stand there
      announce(`Publication ${number} withdrawn`);
      byId("publish-authors").focus();
    });
  byId("publish").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(() => publish(path, place, closed, list));
  });
  return () => attempt(() => list(get(place)), true);
}

async function publish(path, place, closed, list) {
  const button = byId("publish-make", HTMLButtonElement);
  button.disabled = true;
  byId("publish-said").textContent = "Publishing…";
  try {
    if (!byId("publish-close-field").hidden && box("publish-close").checked) {
      await post(`${path}/close`, {});
      closed();
    }
    const authors = area("publish-authors").value.split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
    const licence = byId("publish-licence", HTMLSelectElement).value;
    const made = await post(place, { authors, licence, words: area("publish-words").value.trim(), named: box("publish-named").checked }, { patienceMs: PATIENCE_MS, tries: 1 });
    await list(get(place));
    byId("publish-said").replaceChildren("Published: ", element("a", { href: made.page }, new URL(made.page, location.origin).href));
    announce("Published");
  } catch (error) {
    byId("publish-said").textContent = "";
    throw error;
  } finally {
    button.disabled = false;
  }
}

function show(publications, withdraw) {
  byId("published-frame").hidden = !publications.length;
  byId("published", HTMLTableElement).tBodies[0].replaceChildren(...publications.map((one) => row(one, withdraw)));
}

function row({ number, page, bundle, time, by, judgments, withdrawn }, withdraw) {
  const button = element("button", { type: "button", class: "plain", on: { click: () => withdraw(number) } }, "Withdraw", element("span", { class: "hidden-visually" }, ` number ${number}`));
  const links = [element("a", { href: page }, "Page", element("span", { class: "hidden-visually" }, ` number ${number}`)), ", ", element("a", { href: bundle, download: true }, "bundle", element("span", { class: "hidden-visually" }, ` number ${number}`))];
  const shown = withdrawn ? [`withdrawn ${when(withdrawn)}`] : links;
  return rowOf(
    { number, page, bundle, time, by, judgments, withdrawn },
    element("th", { scope: "row" }, String(number)),
    element("td", {}, when(time), ...(by ? [" by ", named(by, 24)] : [])),
    element("td", { class: "number" }, whole(judgments)),
    element("td", {}, ...shown),
    element("td", {}, ...(withdrawn ? [] : [button])),
  );
}
