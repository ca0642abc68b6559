// An assessor's work: their pairs, their answers, and the next step.

import { get, latest, newKey, post, serverNow, wait } from "../api.js";
import { inOrder, nameOf } from "./order.js";

const FLUSH_MS = 3_000;
const COMPARISONS = 5; // requested at a time; few, because the most informative ones change

export class Work {
  /**
   * comparing   true if the campaign has comparisons as well
   * candidates  largest number of candidates on a page
   */
  constructor({ collection, assessor, questions, settings, store, outbox, comparing = false, candidates = 1 }) {
    this.candidates = candidates;
    this.pages = []; // keys of the answers of each page of candidates, since this page was opened
    this.comparing = comparing;
    this.assessor = assessor;
    this.questions = questions;
    this.settings = settings;
    this.store = store;
    this.outbox = outbox;
    this.root = `/v1/collections/${encodeURIComponent(collection)}`;
    this.history = []; // answers that were not withdrawn, including revised ones, oldest first
    this.pairs = [];
    this.none = false; // true if the last request returned nothing
    this.filled = []; // moments at which questions about the person were answered
    this.comparisons = []; // comparisons to answer, instead of pairs
    this.onlyCompares = false; // true if the last request was answered with comparisons, were it none
    this.until = 0; // number of answers given once none of the questions known at the last request is left
    this.compared = []; // answers to comparisons since the page was opened
    this.comparedBefore = []; // earlier ones
    this.first = null; // name of the pair to show first
    this.renewAt = Infinity;
    this.leased = latest();
    outbox.addEventListener("sent", ({ detail }) => this.#numbered(detail));
  }

  /** Current state: the answers at the service, and the unsent ones. */
  async load() {
    const waiting = await this.store.waiting(); // read first, so that answers sent meanwhile are among the service's
    const answers = await this.#answered();
    await this.store.rememberClips(answers); // some may have been judged on another device
    this.history = answers.map((record) => readRecord(record, this.questions));
    for (const message of waiting) this.#apply(message);
  }

  /** All answers at the service, which sends them in parts. */
  async #answered() {
    let answers = [];
    for (let more = true; more; ) {
      const before = answers.length ? { before: answers[0].number } : {};
      const part = await get(`${this.root}/answers?${new URLSearchParams({ assessor: this.assessor, ...before })}`);
      answers = [...part.answers, ...answers];
      more = part.more;
      if (!before.before) this.comparedBefore = part.comparisons.map(({ details, ...record }) => ({ ...record, said: details.answer }));
      this.filled = part.questionnaires;
      this.screening = part.headphones;
    }
    return answers;
  }

  #apply(message) {
    if (message.kind === "comparison") {
      this.comparedBefore = this.comparedBefore.filter(({ key }) => key !== message.key);
      this.comparedBefore.push({ said: message.body.answer, time: message.body.time, key: message.key });
    } else if (message.kind === "judgment") {
      this.history = this.history.filter((answer) => answer.key !== message.key);
      this.history.push({ ...spread(message.body), key: message.key, place: message.place });
    } else {
      this.history = this.history.filter((answer) => !matches(answer, message));
      this.comparedBefore = this.comparedBefore.filter((answer) => !matches(answer, message));
    }
  }

  /** The latest answer to each pair, by name, in the order of these answers. */
  get answers() {
    const latest = new Map();
    for (const answer of this.history) {
      latest.delete(nameOf(answer));
      latest.set(nameOf(answer), answer);
    }
    return latest;
  }

  /** Number of pairs and comparisons answered. */
  get given() {
    return this.answers.size + this.comparedBefore.length + this.compared.length;
  }

  /** Number of these in the current batch. */
  get done() {
    return this.given % this.settings.batch;
  }

  /** Number of questions left in the current batch, or in all if these are fewer. */
  get left() {
    return Math.min(this.settings.batch - this.done, this.until - this.given);
  }

  /** Number of questions in the current batch. */
  get all() {
    return this.done + this.left;
  }

  /** True if the last answer is about a comparison. */
  get comparedLast() {
    return this.compared.length > 0 && this.compared.at(-1).after === this.history.length;
  }

  /** Request the rest of the batch; pairs that this assessor holds come first, and their leases are extended. */
  lease() {
    return this.leased(this.#handedOut(), (found) => this.#hold(found));
  }

  /** Comparisons if they are more informative than grades, and so come next; otherwise pairs, with what is left of
  both. */
  async #handedOut() {
    // An answered pair whose answer is not sent yet would be handed out again.
    await Promise.race([this.outbox.flush(), wait(FLUSH_MS)]);
    const asked = (what, count, more = {}) => post(`${this.root}/${what}`, { assessor: this.assessor, count: Math.min(count, this.settings.batch - this.done), ...more }, { repeatable: true });
    const compared = this.comparing ? await asked("comparisons/next", COMPARISONS) : {};
    if (compared.kind === "comparison") return { pairs: [], ...compared };
    const graded = await asked("next", this.settings.batch, { by_query: true });
    await this.store.rememberClips(graded.pairs);
    return { ...compared, ...graded };
  }

  #hold({ kind, comparisons = [], pairs, left }) {
    this.comparisons = comparisons;
    this.onlyCompares = kind === "comparison";
    const { answers } = this;
    const unsent = new Set(this.history.filter((answer) => answer.place !== undefined).map(nameOf));
    // A pair to judge again is already among the answers.
    const open = pairs.filter((pair) => (pair.again ? !unsent.has(nameOf(pair)) : !answers.has(nameOf(pair))));
    const order = inOrder(open, this.assessor);
    order.sort((one, other) => Number(nameOf(other) === this.first) - Number(nameOf(one) === this.first));
    this.pairs = order;
    this.until = this.given + left;
    this.none = !order.length && !comparisons.length;
    const ends = Math.min(...pairs.map((pair) => Date.parse(pair.until)));
    this.renewAt = (Number(serverNow()) + ends) / 2;
  }

  /**
   * Store the answer to the first comparison; resolves once it is on disk.
   *
   * said    "a", "b" or "="; or else
   * cannot  why the candidates at some `places` cannot be judged
   */
  async compare({ said = null, cannot = "", places = [], note, details }) {
    const [one, ...rest] = this.comparisons;
    const { query, document_a, document_b } = one;
    const time = serverNow().toISOString();
    const bodies = cannot
      ? places.map((place) => ({ query, document: [document_a, document_b][place], time, cannot, answers: note ? { note } : {} }))
      : [{ query, document_a, document_b, answer: said, time, ...(note && { note }), ...details }];
    const sent = [];
    for (const body of bodies) {
      const key = newKey();
      const { place } = await this.outbox.put({ kind: cannot ? "judgment" : "comparison", key, body });
      sent.push({ key, place });
    }
    this.compared.push({ comparison: one, said, cannot, note, time, sent, after: this.history.length });
    this.comparisons = rest;
  }

  /** Undo the last comparison, to answer it again; resolves with it, or null if there is none. */
  async undoComparison() {
    const last = this.compared.pop();
    if (!last) return null;
    for (const one of last.sent) await this.#withdraw(one);
    this.comparisons = [last.comparison, ...this.comparisons];
    return last;
  }

  /** Progress of this person, and whether they are done; null if the service does not answer. */
  async completion() {
    await Promise.race([this.outbox.flush(), wait(FLUSH_MS)]);
    const of = new URLSearchParams({ assessor: this.assessor });
    return get(`${this.root}/completion?${of}`, { tries: 1 }).catch(() => null);
  }

  get shouldRenew() {
    return this.pairs.length > 0 && Number(serverNow()) > this.renewAt;
  }

  /** The pairs of the next page: of one query, in their order; a single pair if candidates are shown one by one. */
  get page() {
    const [first] = this.pairs;
    return this.candidates > 1 ? this.pairs.filter(({ query }) => query === first.query).slice(0, this.candidates) : [first];
  }

  /** Store the answers about each candidate of a page; resolves once they are on disk. */
  async answerPage(pairs, answers) {
    const keys = new Set();
    for (const [place, pair] of pairs.entries()) {
      const { said, details, since } = answers[place];
      keys.add(await this.answer(pair, said, details, since));
    }
    this.pages.push(keys);
  }

  /** Undo the last page, or only the last answer if its page is unknown; resolves with the answers, each with its
  `pair`. */
  async undoPage() {
    const keys = this.pages.at(-1) ?? new Set();
    const of = (answer) => answer !== undefined && keys.has(answer.key);
    if (!of(this.history.at(-1))) return [await this.undo()].filter(Boolean);
    const found = [];
    while (of(this.history.at(-1))) found.unshift(await this.undo());
    this.pages.pop();
    return found;
  }

  /**
   * Store the answers about a pair, `answers` by question or `cannot`, with details; resolves with the key once on
   disk. * * since  seconds since the answer
   */
  async answer(pair, said, details, since = 0) {
    const time = new Date(Number(serverNow()) - 1000 * since).toISOString();
    const body = { query: pair.query, document: pair.document, time, ...said, ...details };
    const key = newKey();
    const { place } = await this.outbox.put({ kind: "judgment", key, body });
    this.history.push({ ...spread(body), key, place });
    this.pairs = this.pairs.filter((other) => nameOf(other) !== nameOf(pair));
    this.first = null;
    return key;
  }

  /** Undo the last answer; resolves with it and its `pair` to judge again, or null if there is none. */
  async undo() {
    const last = this.history.at(-1);
    if (!last) return null;
    this.history.pop();
    await this.#withdraw(last);
    this.first = nameOf(last);
    const pair = await this.pairOf(last);
    if (!this.answers.has(nameOf(pair))) this.pairs = [pair, ...this.pairs.filter((one) => nameOf(one) !== this.first)];
    return { ...last, pair };
  }

  /** An earlier judged pair, with the addresses of its clips if known. */
  async pairOf({ query, document }) {
    const [one, other] = await Promise.all([this.store.clip(`query ${query}`), this.store.clip(`document ${document}`)]);
    return { query, document, query_text: one?.text, query_sound: one?.sound, query_peaks: one?.peaks, document_sound: other?.sound, document_peaks: other?.peaks };
  }

  /** Remove an answer that was not sent yet, or have it undone. */
  async #withdraw({ key, place, number }) {
    const free = place !== undefined && (await this.outbox.withdraw(place));
    if (!free) await this.outbox.put({ kind: "undo", key: newKey(), number, of: key });
  }

  async #numbered(message) {
    const answer = [...this.history, ...this.compared.flatMap(({ sent }) => sent)].find((one) => one.key === message.key);
    if (!answer) return;
    answer.number = await this.store.numberOf(message.key);
    delete answer.place;
  }
}

const matches = (answer, { number, of }) => (number ? answer.number === number : answer.key === of);

/** The body to send for a pair: its answers, and its other fields. */
export const spread = ({ answers, ...rest }) => ({ ...rest, ...answers });

/** @param {{details?: Record<string, any>, [field: string]: any}} record */
function readRecord({ query, document, time, number, key, details = {}, ...grades }, questions) {
  const answer = { query, document, time, number, key };
  for (const { name } of questions) {
    const said = grades[name] ?? details[name];
    if (said != null) answer[name] = said;
  }
  if (details.reason) answer.cannot = details.reason;
  return answer;
}
