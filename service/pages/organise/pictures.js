// Pictures of recordings, drawn by the service on request and shown in a dialog.

import { ask } from "../api.js";
import { byId, element } from "../page.js";
import { named } from "../text.js";

const PATIENCE_MS = 60_000; // for the first picture the service loads a library
let path = "";
let heard = false;
let asked = 0;

/** Wire the dialog. */
export function pictureDialog(collectionPath) {
  path = collectionPath;
  const dialog = byId("picture", HTMLDialogElement);
  byId("picture-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => asked++); // so that a late picture is dropped
}

/** True if the campaign has sound, so that names are buttons. */
export function allowPictures(campaign) {
  heard = campaign.heard;
}

/**
 * The name of a recording, which opens its picture if the campaign has sound.
 *
 * @param {"query" | "document"} kind
 * @param {string} name
 * @param {Node} [shown]
 */
export function recording(kind, name, shown = element("bdi", {}, name)) {
  if (!heard) return shown;
  return element("button", { type: "button", class: "recording", "aria-haspopup": "dialog", on: { click: () => show(kind, name) } }, shown);
}

async function show(kind, name) {
  const mine = ++asked;
  const image = byId("picture-image", HTMLImageElement);
  byId("picture-title").replaceChildren(kind === "query" ? "Query " : "Document ", named(name));
  byId("picture-about").textContent = "Drawing…";
  byId("picture-trouble").hidden = image.hidden = true;
  byId("picture", HTMLDialogElement).showModal();
  try {
    const address = await dataAddress(await ask(`${path}/picture?${kind}=${encodeURIComponent(name)}`, { accept: "bytes", patienceMs: PATIENCE_MS }));
    if (mine !== asked) return;
    image.src = address;
    image.alt = `Mel spectrogram of ${kind} ${name}`;
    image.hidden = false;
    byId("picture-about").textContent = "Mel spectrogram: brighter is louder, in dB below the loudest.";
  } catch (error) {
    if (mine !== asked) return;
    byId("picture-about").textContent = "";
    byId("picture-trouble").textContent = `${error.message}.`;
    byId("picture-trouble").hidden = false;
  }
}

/** The picture as an address; the page's policy allows only its own files and such addresses. */
function dataAddress(bytes) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result)));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(new Blob([bytes], { type: "image/jpeg" }));
  });
}
