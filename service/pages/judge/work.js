// An assessor's work: their pairs, their answers, and the next step.

import { get, latest, newKey, post, serverNow, wait } from "../api.js";
import { inOrder, nameOf } from "./order.js";

const FLUSH_MS = 3_000;
const LOOK = 20; // answers requested to see whether there are new ones
const COMPARISONS = 5; // requested at a time; few, because the most informative ones change

export class Work {
  /**
   * comparing   part of the questions that are comparisons: none, some or only
   * candidates  largest number of candidates on a page
   */
  constructor({ collection, assessor, questions, settings, store, outbox, comparing = "none", candidates = 1 }) {
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
    this.elsewhere = false; // true once this person is known to answer on another device too
    this.first = null; // name of the pair to show first
    this.renewAt = Infinity;
    this.leased = latest();
    this.acts = 0; // number of changes made here, to drop a state from before them
    outbox.addEventListener("sent", ({ detail }) => this.#numbered(detail));
  }

  /** Current state: the answers at the service, and the unsent ones; resolves with false if something was answered or
  undone here meanwhile. */
  async load() {
    const { acts } = this;
    const waiting = await this.store.waiting(); // read first, so that answers sent meanwhile are among the service's
    const { answers, comparisons, questionnaires, headphones } = await this.#answered();
    await this.store.rememberClips([...answers, ...comparisons.flatMap(recordedSides)]); // some may be of another device
    const made = new Set([...(await this.store.keys()), ...waiting.map(({ key }) => key)]);
    if (acts !== this.acts) return false;
    this.filled = questionnaires;
    this.screening = headphones;
    const here = new Set(this.compared.flatMap(({ sent }) => sent).map(({ key }) => key));
    const others = (records) => records.filter(({ key }) => !here.has(key));
    this.elsewhere ||= [...answers, ...comparisons].some(({ key }) => key && !made.has(key));
    this.history = others(answers).map((record) => readRecord(record, this.questions));
    this.comparedBefore = others(comparisons).map(({ details, ...record }) => ({ ...record, said: details.answer, note: details.note, document_b: details.document_b }));
    for (const message of others(waiting)) this.#apply(message);
    return true;
  }

  /** All answers at the service, which sends them in parts. */
  async #answered() {
    const found = await get(this.#past({}));
    for (let { more } = found; more; ) {
      const part = await get(this.#past({ before: found.answers[0].number }));
      found.answers = [...part.answers, ...found.answers];
      more = part.more;
    }
    return found;
  }

  #past(which) {
    return `${this.root}/answers?${new URLSearchParams({ assessor: this.assessor, ...which })}`;
  }

  /** Take over what this person did on other devices, once everything of this one is sent; resolves with the answers
  and comparisons made there. */
  async catchUp() {
    if (this.outbox.waiting || !(await this.#behind())) return [];
    const known = new Set([...this.history, ...this.comparedBefore].map(idOf));
    if (!(await this.load())) return [];
    const found = [...this.history, ...this.comparedBefore].filter((one) => !known.has(idOf(one)));
    const names = new Set(found.map(nameOf));
    this.pairs = this.pairs.filter((pair) => !names.has(nameOf(pair)));
    this.comparisons = this.comparisons.filter((one) => !names.has(nameOf(one)));
    return found;
  }

  /** True if an answer given elsewhere was replaced by a later one. */
  replaces(earlier) {
    const later = this.answers.get(nameOf(earlier)) ?? this.comparisonsMade.get(nameOf(earlier));
    return later !== undefined && Date.parse(later.time) > Date.parse(earlier.time);
  }

  /** True if one of the service's last answers is unknown here, or the last one here unknown there. */
  async #behind() {
    const { acts } = this;
    const part = await get(this.#past({ count: LOOK }), { tries: 1 }).catch(() => null);
    if (part === null || acts !== this.acts) return false;
    const [there, here] = [[...part.answers, ...part.comparisons], [...this.history, ...this.comparedBefore, ...this.compared.flatMap(({ sent }) => sent)]].map(numbersOf);
    return [...there].some((number) => !here.has(number)) || (here.size > 0 && !there.has(Math.max(...here)));
  }

  #apply(message) {
    if (message.kind === "comparison") {
      this.comparedBefore = this.comparedBefore.filter(({ key }) => key !== message.key);
      this.comparedBefore.push({ ...message.body, said: message.body.answer, key: message.key });
    } else if (message.kind === "judgment") {
      this.history = this.history.filter((answer) => answer.key !== message.key);
      this.history.push({ ...spread(message.body), key: message.key, place: message.place });
    } else {
      this.history = this.history.filter((answer) => !matches(answer, message));
      this.comparedBefore = this.comparedBefore.filter((answer) => !matches(answer, message));
    }
  }

  /** The latest answer to each pair, by name, in the order of the first answers. */
  get answers() {
    return new Map(this.history.map((answer) => [nameOf(answer), answer]));
  }

  /** The latest answer to each comparison, by name, in the order of the first answers. */
  get comparisonsMade() {
    const here = this.compared.map(({ comparison, ...answer }) => ({ ...comparison, ...answer }));
    return new Map([...this.comparedBefore, ...here].map((answer) => [nameOf(answer), answer]));
  }

  /** The time of the first answer to each pair and comparison, by name: its place, also once it is revised. */
  get firsts() {
    const here = this.compared.map(({ comparison, time }) => ({ ...comparison, time }));
    return new Map([...this.history, ...this.comparedBefore, ...here].toReversed().map((answer) => [nameOf(answer), Date.parse(answer.time)]));
  }

  /** Number of pairs and comparisons answered. */
  get given() {
    return this.answers.size + this.comparisonsMade.size;
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
    const [compared, graded] = [this.compared, this.history].map((made) => Date.parse(made.at(-1)?.time ?? "1970"));
    return this.compared.length > 0 && compared >= graded;
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
    const compared = this.comparing !== "none" ? await asked("comparisons/next", COMPARISONS) : {};
    await this.store.rememberClips((compared.comparisons ?? []).flatMap(leasedSides));
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
   * Store the answer to a comparison; resolves once it is on disk.
   *
   * said    "a", "b" or "="; or else
   * cannot  why the candidates at some `places` cannot be judged
   */
  async compare(one, { said = null, cannot = "", places = [], note, details }) {
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
    this.compared.push({ comparison: one, said, cannot, note, time, sent });
    this.comparisons = this.comparisons.filter((other) => nameOf(other) !== nameOf(one));
    this.acts++;
  }

  /** Undo the last comparison, to answer it again unless an earlier answer to it counts now; resolves with it, or null
  if there is none. */
  async undoComparison() {
    const last = this.compared.pop();
    if (!last) return null;
    this.acts++;
    for (const one of last.sent) await this.#withdraw(one);
    this.acts++;
    if (!this.comparisonsMade.has(nameOf(last.comparison))) this.comparisons = [last.comparison, ...this.comparisons];
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
    this.acts++;
    this.pairs = this.pairs.filter((other) => nameOf(other) !== nameOf(pair));
    this.first = null;
    return key;
  }

  /** Undo the last answer; resolves with it and its `pair` to judge again, or null if there is none. */
  async undo() {
    const last = this.history.at(-1);
    if (!last) return null;
    this.history.pop();
    this.acts++;
    await this.#withdraw(last);
    this.acts++; // also after it is on disk: until then the service alone knows what to show
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

  /** An earlier comparison, with the addresses of its clips if known. */
  async comparisonOf({ query, document, document_a = document, document_b }) {
    const named = [`query ${query}`, `document ${document_a}`, `document ${document_b}`];
    const [one, a, b] = await Promise.all(named.map((name) => this.store.clip(name)));
    return { query, document_a, document_b, query_text: one?.text, query_sound: one?.sound, query_peaks: one?.peaks, a_sound: a?.sound, a_peaks: a?.peaks, b_sound: b?.sound, b_peaks: b?.peaks };
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

const numbersOf = (records) => new Set(records.map(({ number = 0 }) => number).filter(Boolean));

const idOf = ({ key, number }) => key || number; // an imported answer has no key

const matches = (answer, { number, of }) => (number ? answer.number === number : answer.key === of);

/** The pairs of a comparison on lease, with the addresses of their clips. */
const leasedSides = (one) => ["a", "b"].map((side) => ({ ...one, document: one[`document_${side}`], document_sound: one[`${side}_sound`], document_peaks: one[`${side}_peaks`] }));

/** The same of an answer to a comparison, which has the addresses of its first document: the other's name differs. */
const recordedSides = ({ details: { document_b }, ...one }) => {
  const [document_sound, document_peaks] = [one.document_sound, one.document_peaks].map((address) => address?.replace(/(?<=\/documents\/)[^/]+/, encodeURIComponent(document_b)));
  return [one, { ...one, document: document_b, document_sound, document_peaks }];
};

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
