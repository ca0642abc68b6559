// Links to the live results: made, listed and revoked by the organiser.

import { get, latest, newKey, post } from "../api.js";
import { announce, byId, copying, element } from "../page.js";
import { day, named, onlyHere } from "../text.js";
import { attempting } from "./attempt.js";
import { rowOf } from "./tables.js";

/** The form that makes links to the results, and the list of existing links. */
export function resultLinks(path) {
  const attempt = attempting("share-trouble");
  const look = latest();
  const list = (request) => look(request, (found) => showLinks(found, revoke));
  const offer = copying(byId("share-copy"), byId("shared", HTMLInputElement));
  const revoke = (name) =>
    attempt(async () => {
      await list(post(`${path}/revoke`, { name }, { key: newKey() }));
      announce(`Link for ${name} revoked`);
      byId("share-name").focus();
    });
  byId("share").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(async () => {
      const days = byId("share-days", HTMLInputElement).value;
      const name = byId("share-name", HTMLInputElement).value.trim();
      showShared(await post(path, { name, ...(days && { days: Number(days) }) }), offer);
      byId("share", HTMLFormElement).reset();
      await list(get(path));
    });
  });
  return attempt(() => list(get(path)));
}

function showShared({ name, link }, offer) {
  byId("shared-label").replaceChildren("Link to the results for ", named(name));
  byId("shared-note").textContent = link.includes("#token=") ? "Copy it now: it contains a token, which is shown only once." : "It contains no token: everybody on this machine sees the results.";
  byId("shared-note").append(onlyHere());
  byId("shared-link").hidden = false;
  offer(new URL(link, location.origin).href);
}

function showLinks({ tokens, links }, revoke) {
  byId("share-days-field").hidden = !tokens;
  byId("links-frame").hidden = !links.length;
  byId("links", HTMLTableElement).tBodies[0].replaceChildren(
    ...links.map(({ name, created, expires, ended }) => {
      const button = element("button", { type: "button", class: "plain", on: { click: () => revoke(name) } }, "Revoke", element("bdi", { class: "hidden-visually" }, ` ${name}`));
      const until = ended ? `ended ${day(expires)}` : expires ? day(expires) : "no end";
      return rowOf({ name, created, expires, ended }, element("th", { scope: "row" }, element("bdi", {}, name)), element("td", {}, day(created)), element("td", {}, until), element("td", {}, button));
    }),
  );
}
