// An assessor's work on this device: unsent answers, addresses of clips, the draft of a grade.

// @ts-types="./idb.d.ts"
import { deleteDB, openDB } from "../vendor/idb/index.js";
import { newKey } from "../api.js";

const VERSION = 1;

const PREFIX = "audiosim judging ";
const DEVICE = "audiosim-device"; // mark by which an open link recognises a browser
const NAME = "audiosim-name"; // name of the assessor, for services without tokens
const DRAWN = "audiosim-drawn"; // name drawn for a person who came by an open link and gave none

/** The store of one assessor in one collection. */
export class Store {
  static async open(collection, assessor) {
    const database = await openDB(`${PREFIX}${JSON.stringify([collection, assessor])}`, VERSION, {
      upgrade(fresh) {
        fresh.createObjectStore("waiting", { keyPath: "place", autoIncrement: true });
        fresh.createObjectStore("refused", { keyPath: "place" });
        fresh.createObjectStore("numbers"); // of the service's records, by idempotency key
        fresh.createObjectStore("clips"); // addresses, by query or document
        fresh.createObjectStore("kept");
      },
      blocking: () => database.close(),
    });
    return new Store(database);
  }

  /** Delete everything about assessors on this device except unsent answers, which exist nowhere else. */
  static async forgetAll() {
    assessorName.write("");
    drawnName.write("");
    forgetDevice();
    const all = (await globalThis.indexedDB?.databases?.().catch(() => [])) ?? [];
    for (const { name } of all) if (name.startsWith(PREFIX)) await forget(name);
  }

  constructor(database) {
    this.database = database;
  }

  /** Add a message to the end of the queue; resolves once it is on disk. */
  async add(message) {
    const transaction = this.database.transaction("waiting", "readwrite", { durability: "strict" });
    const place = await transaction.store.add(message);
    await transaction.done;
    return { ...message, place };
  }

  waiting() {
    return this.database.getAll("waiting");
  }

  refused() {
    return this.database.getAll("refused");
  }

  /** Remove an accepted message from the queue; its record has this number. */
  async sent(message, number) {
    const transaction = this.database.transaction(["waiting", "numbers"], "readwrite");
    await Promise.all([
      transaction.objectStore("waiting").delete(message.place),
      transaction.objectStore("numbers").put(number, message.key),
      transaction.done,
    ]);
  }

  /** Keys of the answers that were sent from this device. */
  keys() {
    return this.database.getAllKeys("numbers");
  }

  numberOf(key) {
    return this.database.get("numbers", key);
  }

  /** Remove a message refused for good from the queue, and keep it with the reason. */
  async refuse(message, reason) {
    const transaction = this.database.transaction(["waiting", "refused"], "readwrite");
    await Promise.all([
      transaction.objectStore("waiting").delete(message.place),
      transaction.objectStore("refused").put({ ...message, reason }),
      transaction.done,
    ]);
  }

  /** Remove a message that need not be sent from the queue. */
  drop(message) {
    return this.database.delete("waiting", message.place);
  }

  /** Remove a message from the queue if it is there and was never sent. */
  async withdraw(place) {
    const transaction = this.database.transaction("waiting", "readwrite");
    const message = await transaction.store.get(place);
    const free = message !== undefined && !message.tried;
    if (free) await transaction.store.delete(place);
    await transaction.done;
    return free;
  }

  tried(message) {
    return this.database.put("waiting", { ...message, tried: true });
  }

  /** Send a refused message again, or delete it. */
  async retry(message) {
    const { place, reason: _, ...again } = message;
    await this.database.delete("refused", place);
    return this.add(again);
  }

  forget(message) {
    return this.database.delete("refused", message.place);
  }

  async rememberClips(pairs) {
    const transaction = this.database.transaction("clips", "readwrite");
    for (const pair of pairs) {
      transaction.store.put({ text: pair.query_text, sound: pair.query_sound, peaks: pair.query_peaks }, `query ${pair.query}`);
      transaction.store.put({ sound: pair.document_sound, peaks: pair.document_peaks }, `document ${pair.document}`);
    }
    await transaction.done;
  }

  clip(name) {
    return this.database.get("clips", name);
  }

  keep(name, value) {
    return this.database.put("kept", value, name);
  }

  kept(name) {
    return this.database.get("kept", name);
  }
}

async function forget(name) {
  const database = await openDB(name);
  const unsent = (await database.count("waiting")) + (await database.count("refused"));
  for (const store of unsent ? ["clips", "kept"] : []) await database.clear(store);
  database.close();
  if (!unsent) await deleteDB(name);
}

let device = null; // if storage is forbidden, it is kept as long as the page is open

/** Mark by which open links recognise this browser: 128 random bits, generated once. */
export function deviceKey() {
  try {
    device ??= localStorage.getItem(DEVICE);
    device ??= newKey();
    localStorage.setItem(DEVICE, device);
  } catch {
    device ??= newKey();
  }
  return device;
}

function forgetDevice() {
  device = null;
  try {
    localStorage.removeItem(DEVICE);
  } catch {
    // see above
  }
}

/** A text kept on this device under a key; if storage is forbidden, nothing is kept. */
const remembered = (key) => ({
  read() {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  },
  write(text) {
    try {
      if (text) localStorage.setItem(key, text);
      else localStorage.removeItem(key);
    } catch {
      // see above
    }
    return text;
  },
});

/** The assessor's name last given on this device. */
export const assessorName = remembered(NAME);

/** The name last drawn for the person on this device, which means nothing to them. */
export const drawnName = remembered(DRAWN);
