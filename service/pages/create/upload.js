// Files on their way to the service: those of a drop or of a field, whole folders too, in parts where they are large.

import { post } from "../api.js";

const PART = 4 * 2 ** 20;
const PATIENCE_MS = 300_000; // the service reads a file before it answers
const TWIN = /^(\.|__MACOSX|Thumbs\.db$|desktop\.ini$)/i; // what systems leave in folders

/** The files of a drop, with the folders they lie in: `{name, file}` each. */
export async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return chosen(transfer.files);
  const found = await Promise.all(entries.map((entry) => below(entry, "")));
  return wanted(found.flat());
}

/** The files of a field; of a folder with their paths in it. */
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

/** Send a file; answers with what the service took it for. */
export async function send(path, { name, file }, kind = "") {
  for (let offset = 0; ; ) {
    const part = file.slice(offset, offset + PART);
    const about = new URLSearchParams({ name, size: String(file.size), offset: String(offset), ...(kind && { kind }) });
    const said = await post(`${path}/files?${about}`, part, { patienceMs: PATIENCE_MS, tries: 1 });
    if (!said.partial) return said;
    offset += part.size;
  }
}
