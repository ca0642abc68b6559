// Pictures of recordings, drawn by the service on request and shown in a dialog.

import { ask, latest } from "../api.js";
import { byId, element } from "../page.js";
import { named } from "../text.js";

const PATIENCE_MS = 60_000; // for the first picture the service loads a library
let path = "";
let heard = false;
const look = latest();

/** Wire the dialog. */
export function pictureDialog(collectionPath) {
  path = collectionPath;
  byId("picture-close").addEventListener("click", () => byId("picture", HTMLDialogElement).close());
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
  const image = byId("picture-image", HTMLImageElement);
  byId("picture-title").replaceChildren(kind === "query" ? "Query " : "Document ", named(name));
  byId("picture-about").textContent = "Drawing…";
  byId("picture-trouble").hidden = image.hidden = true;
  byId("picture", HTMLDialogElement).showModal();
  try {
    await look(ask(`${path}/picture?${kind}=${encodeURIComponent(name)}`, { accept: "bytes", patienceMs: PATIENCE_MS }).then(dataAddress), (address) => {
      image.src = address;
      image.alt = `Mel spectrogram of ${kind} ${name}`;
      image.hidden = false;
      byId("picture-about").textContent = "Mel spectrogram: brighter is louder, in dB below the loudest.";
    }, `${kind} ${name}`);
  } catch (error) {
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
