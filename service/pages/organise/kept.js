// The models that the service keeps: listing, download, deletion.

import { ask } from "../api.js";
import { announce, byId, element } from "../page.js";
import { apart, longName, named, when } from "../text.js";
import { attempting } from "./attempt.js";
import { rowOf } from "./tables.js";

let chosen = "";

/**
 * Wire the dialog that deletes a model; returns a function that lists the kept models.
 *
 * path     address of the collection at the service
 * deleted  called after a deletion
 */
export function keptModels(path, deleted) {
  const dialog = byId("forget-model", HTMLDialogElement);
  const place = (name) => `${path}/models?${new URLSearchParams({ name })}`;
  byId("forget-model-no").addEventListener("click", () => dialog.close());
  const attempt = attempting("forget-model-trouble");
  byId("forget-model-form").addEventListener("submit", (event) => {
    event.preventDefault(); // the dialog stays open until the service has answered
    attempt(async () => {
      await ask(place(chosen), { method: "DELETE", accept: "text" });
      dialog.close();
      announce(`${apart(chosen)} is deleted`);
      byId("model-other").focus();
      deleted();
    });
  });
  const forget = (name) => {
    chosen = name;
    byId("forget-model-trouble").hidden = true;
    byId("forget-model-title").replaceChildren("Delete ", named(name), "?");
    dialog.showModal();
  };
  return (kept) => {
    byId("kept-frame").hidden = !kept.length;
    byId("kept", HTMLTableElement).tBodies[0].replaceChildren(...kept.map((one) => row(one, place(one.name), forget)));
  };
}

function row({ name, origin, time, by }, file, forget) {
  const ofIt = () => element("bdi", { class: "hidden-visually" }, ` ${name}`);
  return rowOf(
    { name, origin, time, by },
    element("th", { scope: "row" }, longName(name)),
    element("td", {}, named(origin, 60)),
    element("td", {}, when(time), ...(by ? [" by ", named(by, 24)] : [])),
    element("td", {}, element("a", { href: file, download: true }, "File", element("span", { class: "hidden-visually" }, " of"), ofIt())),
    element("td", {}, element("button", { type: "button", class: "plain", "aria-haspopup": "dialog", on: { click: () => forget(name) } }, "Delete…", ofIt())),
  );
}
