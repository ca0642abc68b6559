// Upload of files from a drop or a file field, including whole folders; large files are sent in parts.

import { post } from "../api.js";

const PART = 4 * 2 ** 20;
const PATIENCE_MS = 300_000; // the service reads a file before it answers
const TWIN = /^(\.|__MACOSX|Thumbs\.db$|desktop\.ini$)/i; // files that operating systems leave in folders

/** The files of a drop as `{name, file}`, with their folders in the name. */
export async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return chosen(transfer.files);
  const found = await Promise.all(entries.map((entry) => below(entry, "")));
  return wanted(found.flat());
}

/** True for a file of settings, which the pages ask for or show instead of reading them. */
export const holdsSettings = (name) => ["collection.toml", "campaign.toml"].includes(name.split("/").at(-1));

/** The files of a file field; those of a folder have their path in the name. */
export const chosen = (files) => wanted([...files].map((file) => ({ name: file.webkitRelativePath || file.name, file })));

const wanted = (found) => found.filter(({ name }) => !name.split("/").some((part) => TWIN.test(part))).sort((one, other) => (one.name < other.name ? -1 : 1));

async function below(entry, before) {
  const name = before + entry.name;
  if (entry.isFile) return [{ name, file: await new Promise((done, failed) => entry.file(done, failed)) }];
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((done, failed) => reader.readEntries(done, failed)); // a hundred at a time
    if (!some.length) return (await Promise.all(found.map((one) => below(one, `${name}/`)))).flat();
    found.push(...some);
  }
}

/** Send a file; returns the service's description of it. */
export async function send(path, { name, file }, kind = "") {
  for (let offset = 0; ; ) {
    const part = file.slice(offset, offset + PART);
    const about = new URLSearchParams({ name, size: String(file.size), offset: String(offset), ...(kind && { kind }) });
    const said = await post(`${path}/files?${about}`, part, { patienceMs: PATIENCE_MS, tries: 1 });
    if (!said.partial) return said;
    offset += part.size;
  }
}
