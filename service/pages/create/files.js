// The files of a draft: sending, listing, changing their kind, removing.

import { ask, get } from "../api.js";
import { announce, byId, element } from "../page.js";
import { count, named } from "../text.js";
import { allow } from "./outcome.js";
import { chosen, dropped, holdsSettings, send } from "./upload.js";

const KINDS = {
  recording: "recording",
  runs: "runs of systems",
  documents: "documents: artist, genre, path",
  queries: "documents of the queries",
  systems: "teams of systems",
  judgments: "people's judgments",
  comparisons: "people's comparisons",
  judge: "a machine's grades",
  task: "what assessors are asked",
  prompts: "prompts in text",
  prompt: "a prompt in text",
};
const SHOWN = 40; // rows; further recordings are only counted

export class Files {
  /**
   * path     address of the draft at the service
   * changed  called after files were added or removed
   */
  constructor(path, changed) {
    this.path = path;
    this.changed = changed;
    this.listed = new Map(); // by name
    this.sources = new Map(); // files on this device, by name
    this.queue = Promise.resolve();
    this.sending = false; // true: the collection cannot be created yet
    this.#connect();
  }

  show(files) {
    const said = new Map([...this.listed.values()].map((one) => [`${one.kind} ${one.sent}`, one.said]));
    this.listed = new Map(files.map((one) => [one.name, { ...one, said: said.get(`${one.kind} ${one.sent}`) ?? "" }]));
    this.#draw();
  }

  /** Names of the folders with recordings. */
  get folders() {
    const found = [...this.listed.values()].filter(({ kind }) => kind === "recording").map(({ name }) => name.split("/").slice(1, -1).at(-1));
    return [...new Set(found.filter(Boolean))].sort();
  }

  has(kind) {
    return [...this.listed.values()].some((one) => one.kind === kind);
  }

  #connect() {
    const drop = byId("drop");
    const over = (event) => {
      event.preventDefault();
      drop.classList.toggle("over", event.type === "dragover");
    };
    for (const type of ["dragover", "dragleave", "drop"]) drop.addEventListener(type, over);
    drop.addEventListener("drop", (event) => dropped(event.dataTransfer).then((files) => this.add(files)));
    for (const id of ["some-files", "a-folder"]) {
      const field = byId(id, HTMLInputElement);
      field.addEventListener("change", () => {
        this.add(chosen(field.files));
        field.value = "";
      });
    }
  }

  /** Send files, one after the other. */
  add(files) {
    this.queue = this.queue.then(() => this.#sendAll(files)).catch((error) => this.#refuse("", error));
    return this.queue;
  }

  async #sendAll(files) {
    this.sending = true;
    allow("Files are being sent.");
    byId("sending").hidden = false;
    byId("refused").replaceChildren();
    let sent = 0;
    for (const [place, one] of files.entries()) {
      byId("sending-said").replaceChildren(`Sending ${place + 1} of ${files.length}: `, named(one.name, 50));
      byId("sent", HTMLProgressElement).value = place / files.length;
      if (await this.#send(one)) sent += 1;
    }
    byId("sending").hidden = true;
    this.sending = false;
    this.show((await get(this.path)).files); // a file may have moved to make room for another of its name
    announce(sent < files.length ? `${sent} of ${count(files.length, "file")} sent` : `${count(sent, "file")} sent`);
    await this.changed();
  }

  async #send(one, kind = "") {
    try {
      if (!one.file.size) throw new Error("the file is empty");
      if (holdsSettings(one.name)) return this.#note(`${one.name} is not used: scale, goal and the other settings are chosen below`, "warn");
      const said = await send(this.path, one, kind);
      if (!["recording", "runs", "judge", "prompt"].includes(said.kind))
        for (const [name, other] of this.listed)
          if (other.kind === said.kind) {
            this.listed.delete(name);
            if (other.sent !== said.sent) this.#note(`${said.sent} replaces ${other.sent}: a collection has one file of ${KINDS[said.kind]}`, "warn");
          }
      this.listed.set(said.name, said);
      this.sources.set(said.sent, one);
      return said;
    } catch (error) {
      this.#refuse(one.name, error);
      return null;
    }
  }

  #refuse(name, error) {
    const said = error.message.startsWith(name) ? error.message : `${name}: ${error.message}`;
    this.#note(said, "bad");
  }

  #note(said, kind) {
    byId("refused").append(element("li", { class: `note ${kind}` }, element("span", { role: "alert" }, `${said}.`)));
  }

  async #remove(name) {
    await ask(`${this.path}/files?${new URLSearchParams({ name })}`, { method: "DELETE", accept: "text" });
    const { sent } = this.listed.get(name);
    this.listed.delete(name);
    this.#draw();
    announce(`${sent} removed`);
    await this.changed();
  }

  /** Change the kind of a file: send it again as that kind, and remove the first one. */
  async #retake(name, kind) {
    byId("refused").replaceChildren();
    const said = await this.#send(this.sources.get(this.listed.get(name).sent), kind);
    if (said && said.name !== name) await this.#remove(name);
    else await this.changed();
    this.#draw();
  }

  #draw() {
    const all = [...this.listed.values()].sort((one, other) => (one.sent < other.sent ? -1 : 1));
    const sounds = all.filter(({ kind }) => kind === "recording");
    const rows = all.length > SHOWN ? all.filter(({ kind }) => kind !== "recording") : all;
    const more = rows.length < all.length ? [this.#counted(sounds)] : [];
    byId("files", HTMLTableElement).tBodies[0].replaceChildren(...rows.map((one) => this.#row(one)), ...more);
    byId("files-frame").hidden = !all.length;
  }

  #counted(sounds) {
    const where = this.folders.length ? ` in ${count(this.folders.length, "folder")}` : "";
    return element("tr", {}, element("th", { scope: "row" }, `${count(sounds.length, "recording")}${where}`), element("td", {}, KINDS.recording), element("td", {}), element("td", {}));
  }

  #row({ name, sent, kind, said }) {
    const remove = element("button", { type: "button", class: "plain", on: { click: () => this.#remove(name) } }, "Remove", element("bdi", { class: "hidden-visually" }, ` ${sent}`));
    const taken = kind === "recording" || !this.sources.has(sent) ? KINDS[kind] : this.#choice(name, sent, kind);
    return element("tr", {}, element("th", { scope: "row" }, named(sent, 60)), element("td", {}, taken), element("td", {}, said), element("td", {}, remove));
  }

  #choice(name, sent, kind) {
    const options = Object.entries(KINDS).filter(([key]) => key !== "recording").map(([key, words]) => element("option", { value: key, selected: key === kind }, words));
    const select = element("select", { "aria-label": `Kind of ${sent}` }, ...options);
    select.addEventListener("change", () => this.#retake(name, select.value));
    return select;
  }
}
