// Links to the live results: made, listed and revoked by the organiser.

import { get, newKey, post } from "../api.js";
import { announce, byId, element } from "../page.js";
import { day, named } from "../text.js";
import { attempting } from "./attempt.js";

/** The form that makes links to the results, and the list of existing links. */
export function resultLinks(path) {
  const attempt = attempting("share-trouble");
  const revoke = (name) =>
    attempt(async () => {
      showLinks(await post(`${path}/revoke`, { name }, { key: newKey() }), revoke);
      announce(`Link for ${name} revoked`);
      byId("share-name").focus();
    });
  byId("share").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(async () => {
      const days = byId("share-days", HTMLInputElement).value;
      const name = byId("share-name", HTMLInputElement).value.trim();
      showShared(await post(path, { name, ...(days && { days: Number(days) }) }));
      byId("share", HTMLFormElement).reset();
      showLinks(await get(path), revoke);
    });
  });
  byId("share-copy").addEventListener("click", async () => {
    byId("shared", HTMLInputElement).select();
    try {
      await navigator.clipboard.writeText(byId("shared", HTMLInputElement).value);
      announce("Link copied");
      byId("share-copy").textContent = "Copied";
    } catch {
      announce("Link selected: copy it with the keyboard"); // the clipboard may be forbidden
    }
  });
  return attempt(async () => showLinks(await get(path), revoke));
}

function showShared({ name, link }) {
  byId("shared-label").replaceChildren("Link to the results for ", named(name));
  byId("shared", HTMLInputElement).value = new URL(link, location.origin).href;
  byId("shared-note").textContent = link.includes("#token=") ? "Copy it now: it contains a token, which is shown only once." : "It contains no token: everybody on this machine sees the results.";
  byId("share-copy").textContent = "Copy";
  byId("shared-link").hidden = false;
  byId("shared", HTMLInputElement).focus();
  byId("shared", HTMLInputElement).select();
}

function showLinks({ tokens, links }, revoke) {
  byId("share-days-field").hidden = !tokens;
  byId("links-frame").hidden = !links.length;
  byId("links", HTMLTableElement).tBodies[0].replaceChildren(
    ...links.map(({ name, created, expires, ended }) => {
      const button = element("button", { type: "button", class: "plain", on: { click: () => revoke(name) } }, "Revoke", element("bdi", { class: "hidden-visually" }, ` ${name}`));
      const until = ended ? `ended ${day(expires)}` : expires ? day(expires) : "no end";
      return element("tr", {}, element("th", { scope: "row" }, element("bdi", {}, name)), element("td", {}, day(created)), element("td", {}, until), element("td", {}, button));
    }),
  );
}
