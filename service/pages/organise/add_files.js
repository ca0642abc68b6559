// Files added to a collection in use: runs, metadata, machines' grades, judgments; each is sent and answered with a
// line.

import { ask, newKey } from "../api.js";
import { chosen, dropped, holdsSettings } from "../create/upload.js";
import { announce, byId, element } from "../page.js";
import { count, named } from "../text.js";

const PATIENCE_MS = 300_000; // the service reopens the collection for a run

/**
 * Wire the area for dropping or choosing files.
 *
 * path     address of the collection at the service
 * changed  called after files were added
 */
export function addingFiles(path, changed) {
  const drop = byId("add-drop");
  const over = (event) => {
    event.preventDefault();
    drop.classList.toggle("over", event.type === "dragover");
  };
  const add = async (files) => {
    byId("added").replaceChildren();
    byId("adding").hidden = false;
    for (const [place, one] of files.entries()) {
      byId("adding").replaceChildren(`Sending ${place + 1} of ${files.length}: `, named(one.name, 50));
      byId("added").append(await send(path, one));
    }
    byId("adding").hidden = true;
    announce(`${count(files.length, "file")} sent`);
    changed();
  };
  for (const type of ["dragover", "dragleave", "drop"]) drop.addEventListener(type, over);
  drop.addEventListener("drop", async (event) => add(await dropped(event.dataTransfer)));
  const field = byId("add-files", HTMLInputElement);
  field.addEventListener("change", () => {
    add(chosen(field.files));
    field.value = "";
  });
}

/** The line on the result for a file. */
async function send(path, { name, file }) {
  if (holdsSettings(name)) return element("li", { class: "note warn" }, `${name} is not used: the settings stay as they were given at the creation.`);
  const asked = { replace: String(byId("add-replace", HTMLInputElement).checked), partial: String(byId("add-partial", HTMLInputElement).checked) };
  try {
    const found = await ask(`${path}/files?${new URLSearchParams({ name, ...asked })}`, { body: file, key: newKey(), patienceMs: PATIENCE_MS });
    return element("li", {}, named(found.name, 50), `: ${found.said}.`);
  } catch (error) {
    const said = inWordsOfTheForm(error.message.startsWith(name) ? error.message : `${name}: ${error.message}`);
    return element("li", { class: "note bad" }, element("span", { role: "alert" }, `${said}.`));
  }
}

/** A message with the boxes of this form in place of the parameters of the address, such as ?partial=true. */
const inWordsOfTheForm = (said) =>
  ["partial", "replace"].reduce((text, name) => text.replace(`?${name}=true`, `“${byId(`add-${name}`, HTMLInputElement).labels?.[0].textContent}”`), said);
