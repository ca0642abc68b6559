// Links for many people: names go in, and one link for each comes out, with a CSV file of all links to send.

import { post } from "../api.js";
import { announce, byId, element } from "../page.js";
import { count, named } from "../text.js";
import { csvOf } from "./tables.js";

const MOST = 1000;

/** The names in a text: one per line, or the first column of a CSV file without its heading. */
export function namesIn(text) {
  const cell = (line) => /^\s*"((?:[^"]|"")*)"/.exec(line)?.[1].replaceAll('""', '"') ?? line.split(/[,;\t]/)[0];
  const first = text.split(/\r?\n/).map((line) => cell(line).trim());
  const names = first.filter((name, place) => name && !(place === 0 && /^(name|assessor)$/i.test(name)));
  return [...new Set(names)];
}

/**
 * Wire the form for many names.
 *
 * path  address of the invitations at the service
 * done  called when links were made
 */
export function inviteMany(path, done) {
  let address = "";
  byId("invite-many").addEventListener("submit", async (event) => {
    event.preventDefault();
    const names = namesIn(byId("invite-names", HTMLTextAreaElement).value);
    if (!names.length) return;
    if (names.length > MOST) {
      byId("invite-many-said").textContent = `${count(names.length, "name")}: at most ${MOST} at a time, no link was made.`;
      announce(byId("invite-many-said").textContent);
      return;
    }
    const button = byId("invite-many-make", HTMLButtonElement);
    button.disabled = true;
    const days = byId("invite-days", HTMLInputElement).value;
    const rows = [["name", "link", "until"]];
    const refused = [];
    for (const [place, name] of names.entries()) {
      byId("invite-many-said").textContent = `${place + 1} of ${names.length}…`;
      try {
        const { link, expires } = await post(path, { name, ...(days && { days: Number(days) }) });
        rows.push([name, new URL(link, location.origin).href, expires ?? ""]);
      } catch (error) {
        refused.push(element("li", { class: "note bad" }, named(name, 50), `: ${error.message}.`));
      }
    }
    button.disabled = false;
    byId("invite-many-refused").replaceChildren(...refused);
    byId("invite-many-said").textContent = `${count(rows.length - 1, "link")} made.`;
    announce(byId("invite-many-said").textContent);
    const file = byId("invite-many-file", HTMLAnchorElement);
    URL.revokeObjectURL(address);
    address = URL.createObjectURL(new Blob([csvOf(rows)], { type: "text/csv;charset=utf-8" }));
    Object.assign(file, { href: address, hidden: rows.length < 2 });
    done();
  });
}
