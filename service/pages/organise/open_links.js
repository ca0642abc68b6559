// Open links: addresses for anybody, the people who joined by them, and their identifiers on other platforms.

import { get, latest, newKey, post } from "../api.js";
import { announce, byId, copying, element, saveFile } from "../page.js";
import { count, day, named, onlyHere, whole } from "../text.js";
import { attempting } from "./attempt.js";
import { rowOf } from "./tables.js";

const FIELDS = ["name", "people", "days", "parameter", "judgments", "completion", "return_to", "screened_out", "screened_return_to"];
const NUMBERS = ["people", "days", "judgments"];

/**
 * The form that makes open links, the list of links, and the list of people who joined.
 *
 * path  address of the collection at the service
 */
export function openLinks(path) {
  const attempt = attempting("open-link-trouble");
  const offer = copying(byId("open-link-copy"), byId("open-link-made", HTMLInputElement));
  const found = async () => {
    const { links } = await get(`${path}/open-links`);
    return { links, participants: [], ...(links.some(({ joined }) => joined) && (await get(`${path}/participants`))) };
  };
  const look = latest();
  const show = () => look(found(), ({ links, participants }) => {
    showLinks(links, close);
    showParticipants(participants, openData);
  });
  const openData = personalData(path, () => attempt(show));
  const close = (name) =>
    attempt(async () => {
      await post(`${path}/open-links/close`, { name }, { key: newKey() });
      announce(`Open link ${name} closed`);
      await show();
      byId("open-link-name").focus();
    });
  byId("open-link").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(async () => {
      const made = await post(`${path}/open-links`, asked());
      showMade(made, offer);
      byId("open-link", HTMLFormElement).reset();
      await show();
    });
  });
  byId("open-links").addEventListener("toggle", () => byId("open-links", HTMLDetailsElement).open && attempt(show));
  byId("participants-again").addEventListener("click", () => attempt(show));
}

function asked() {
  const body = {};
  for (const field of FIELDS) {
    const said = byId(`open-link-${field.replaceAll("_", "-")}`, HTMLInputElement).value.trim();
    if (said) body[field] = NUMBERS.includes(field) ? Number(said) : said;
  }
  return body;
}

/** The whole address of a link, with a placeholder for the identifier in the form used by recruiting services. */
function addressOf({ link, parameter }) {
  const whole = new URL(link, location.origin).href;
  return parameter ? `${whole}?${parameter}=` : whole;
}

function showMade(made, offer) {
  byId("open-link-label").replaceChildren("Open link ", named(made.name));
  byId("open-link-note").replaceChildren(made.parameter ? `Anybody may open it. Recruiting services fill in each person's identifier after ${made.parameter}=${made.parameter === "PROLIFIC_PID" ? ", Prolific where you add {{%PROLIFIC_PID%}}" : ""}.` : "Anybody may open it.");
  byId("open-link-note").append(onlyHere());
  byId("open-link-new").hidden = false;
  offer(addressOf(made));
}

function showLinks(links, close) {
  for (const id of ["open-links-frame", "participants-again"]) byId(id).hidden = !links.length;
  byId("open-links-table", HTMLTableElement).tBodies[0].replaceChildren(
    ...links.map((one) => {
      const { name, created, expires, people, joined, judgments, ended } = one;
      const shut = element("button", { type: "button", class: "plain", on: { click: () => close(name) } }, "Close", element("bdi", { class: "hidden-visually" }, ` the link ${name}`));
      const field = element("input", { class: "mono", readonly: true, value: addressOf(one), "aria-label": `Address of ${name}` });
      const until = ended ? ended : expires ? `until ${day(expires)}` : "open";
      return rowOf(
        one,
        element("th", { scope: "row" }, element("bdi", {}, name)),
        element("td", {}, day(created)),
        element("td", { class: "number" }, `${whole(joined)} of ${whole(people)}`),
        element("td", { class: "number" }, judgments === null ? "–" : whole(judgments)),
        element("td", {}, until),
        element("td", {}, field),
        element("td", {}, ...(ended === "this link is closed" ? [] : [shut])),
      );
    }),
  );
}

const doneWord = (done, screened) => (screened ? "screened out" : done ? "yes" : "no");

function showParticipants(participants, openData) {
  byId("participants-frame").hidden = !participants.length;
  const done = participants.filter((one) => one.done).length;
  byId("participants-about").textContent = participants.length
    ? `${count(participants.length, "person", "people")} joined, ${whole(done)} finished. Only organisers see their identifiers on other platforms; exports leave these out.`
    : "";
  byId("participants", HTMLTableElement).tBodies[0].replaceChildren(
    ...participants.map(({ name, link, reference, created, answers, done, screened }) =>
      rowOf(
        { name, identifier: reference, link, since: created, answers, done: doneWord(done, screened) },
        element("th", { scope: "row" }, element("bdi", {}, name)),
        element("td", {}, element("bdi", {}, reference ?? "–")),
        element("td", {}, element("bdi", {}, link)),
        element("td", {}, day(created)),
        element("td", { class: "number" }, whole(answers)),
        element("td", {}, doneWord(done, screened)),
        element("td", {}, element("button", { type: "button", class: "plain", on: { click: () => openData(name, answers) } }, "Data…", element("bdi", { class: "hidden-visually" }, ` of ${name}`))),
      ),
    ),
  );
}

/** Open the dialog about a person's data. `done` is called after a deletion. */
function personalData(path, done) {
  const dialog = byId("own-data", HTMLDialogElement);
  const attempt = attempting("own-data-trouble");
  let person = "";
  byId("own-data-no").addEventListener("click", () => dialog.close());
  byId("own-data-file").addEventListener("click", () =>
    attempt(async () => {
      const found = await get(`${path}/personal-data?${new URLSearchParams({ assessor: person })}`);
      saveFile(`${person}.json`, JSON.stringify(found, null, 1), "application/json");
    }),
  );
  byId("own-data-form").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(async () => {
      await post(`${path}/forget`, { assessor: person, set_aside: byId("own-data-aside", HTMLInputElement).checked });
      dialog.close();
      announce(`Data of ${person} deleted`);
      done();
    });
  });
  return (name, answers) => {
    person = name;
    byId("own-data-trouble").hidden = true;
    byId("own-data-aside", HTMLInputElement).checked = false;
    byId("own-data-title").replaceChildren("Data of ", named(name));
    byId("own-data-about").textContent = `Deleting forgets their identifier and ends their access. The log keeps their ${count(answers, "answer")} under a random name that can no longer be traced. This cannot be undone.`;
    dialog.showModal();
  };
}
