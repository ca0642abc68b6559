// Unsent answers: sent in order, each until the service accepts it, whatever the network does.

import { post } from "../api.js";

const LONGEST_WAIT_MS = 30_000;
const FIRST_WAIT_MS = 1_000;
const HELD_WAIT_MS = 5_000;
const PATHS = { judgment: "judgments", comparison: "comparisons" };

/**
 * Sends the messages in the store. `change` events report a new `state`:
 *
 * state    "saved", "saving", "offline" (the service cannot be reached), "held" (it accepts nothing now: `reason`),
 *          "signed-out" (it needs a token)
 * waiting  number of unsent answers
 * refused  number of answers that it will never accept unchanged
 */
export class Outbox extends EventTarget {
  constructor(store, collection, assessor) {
    super();
    this.store = store;
    this.root = `/v1/collections/${encodeURIComponent(collection)}`;
    this.assessor = assessor;
    this.state = "saved";
    this.reason = "";
    this.waiting = 0;
    this.refused = 0;
    this.sending = null;
    this.wake = () => {};
    addEventListener("online", () => this.flush());
  }

  /** Add an answer; resolves once it is on disk. It is sent as soon as possible. */
  async put(message) {
    if (this.state === "saved") this.#tell("saving");
    const added = await this.store.add(message);
    this.waiting += 1;
    this.flush();
    return added;
  }

  /** Remove an answer if it was not sent yet; resolves with true if so. */
  async withdraw(place) {
    const free = await this.store.withdraw(place);
    if (free) this.waiting -= 1;
    if (free) this.#tell(this.waiting ? this.state : "saved");
    return free;
  }

  /** Send all waiting answers now; resolves when none is left. */
  flush() {
    this.wake();
    this.sending ??= this.#sendAll().finally(() => {
      this.sending = null;
    });
    return this.sending;
  }

  async #sendAll() {
    let failures = 0;
    await this.#count();
    for (let message = await this.#first(); message; message = await this.#first()) {
      if (failures === 0) this.#tell("saving");
      try {
        await this.#send(message);
        failures = 0;
      } catch (error) {
        failures = await this.#failed(message, error, failures);
      }
      await this.#count();
    }
    this.#tell("saved");
  }

  async #first() {
    return (await this.store.waiting())[0];
  }

  async #count() {
    this.waiting = (await this.store.waiting()).length;
    this.refused = (await this.store.refused()).length;
  }

  async #send(message) {
    const { kind, key } = message;
    if (!message.tried) await this.store.tried(message);
    if (kind in PATHS) {
      const record = await post(`${this.root}/${PATHS[kind]}`, { ...message.body, assessor: this.assessor }, { key, tries: 1 });
      await this.store.sent(message, record.number);
    } else {
      const number = message.number ?? (await this.store.numberOf(message.of));
        // A refused answer needs no undo; without a number, the service would withdraw the last one.
      if (number === undefined) return this.store.drop(message);
      const record = await post(`${this.root}/undo`, { assessor: this.assessor, number }, { key, tries: 1 });
      await this.store.sent(message, record.number);
    }
    this.dispatchEvent(new CustomEvent("sent", { detail: message }));
  }

  /** Wait if retrying may help, or put the message aside; returns the number of failures in a row. */
  async #failed(message, error, failures) {
    if (error.passing) {
      this.#tell("offline", error.message);
      await this.#pause(Math.min(LONGEST_WAIT_MS, (error.retryAfterS ?? 0) * 1000 || FIRST_WAIT_MS * 2 ** failures));
    } else if (error.status === 401) {
      this.#tell("signed-out", error.message);
      await this.#pause(LONGEST_WAIT_MS);
    } else if (error.status === 409) {
      this.#tell("held", error.message);
      await this.#pause(HELD_WAIT_MS);
    } else if (error.status) {
      await this.store.refuse(message, error.message);
      return 0;
    } else {
      throw error;
    }
    return failures + 1;
  }

  #pause(ms) {
    return new Promise((done) => {
      const timer = setTimeout(done, ms);
      this.wake = () => {
        clearTimeout(timer);
        done();
      };
    });
  }

  #tell(state, reason = "") {
    this.state = state;
    this.reason = reason;
    this.dispatchEvent(new Event("change"));
  }
}
