// The sequence of pairs: showing, answering, undoing, revising.

import { wait } from "../api.js";
import { t, tn } from "../language.js";
import { announce, byId } from "../page.js";
import { nameOf as nameOfCandidate } from "./beside.js";
import { enterAgain } from "./entry.js";
import { untilHeld, untilOpen } from "./held.js";
import { showCompleted } from "./completed.js";
import { nameOf } from "./order.js";
import { Several } from "./several.js";
import { openDialog, showScreen, shownScreen, trouble } from "./screens.js";

const AHEAD = 6; // pairs whose clips are fetched ahead
const RETRY_MS = 3_000;
const DRAFT_MS = 250;
export const JUDGING = ["desk", "several", "compare"]; // screens

/**
 * The current item has a `kind`: "training", "pair", "revision", or null if there is no pair.
 *
 * mode  the same kind, but null while its clips are being loaded or its answer is being stored
 */
export class Judging {
  constructor({ work, desk, compare, several, clips, player, pace, task }) {
    this.work = work;
    this.task = task; // the organiser's task, from the service
    this.atEnd = () => Promise.resolve(); // called when nothing is left to judge
    this.compare = compare;
    this.several = several;
    this.desk = desk;
    this.clips = clips;
    this.player = player;
    this.pace = pace;
    this.keeping = null; // the draft being stored
    this.kind = this.mode = null;
    this.keepingAnswer = null;
    this.showing = []; // pairs or the comparison to be answered next, while they may be answered
    this.catching = null; // the look at the person's other devices
    this.turn = 0; // number of items shown, to drop late results for earlier ones
    this.submit = null;
    this.drafts = {};
    this.signing = null;
    this.closed = false; // true while the page shows that the campaign was closed
    desk.addEventListener("change", () => this.#keepDraft());
    several.addEventListener("change", () => this.#keepDraft());
    addEventListener("pagehide", () => this.#keepDraft());
  }

  /** Show the next pair, or the next step if there is none. */
  async showNext() {
    if (this.closed) return;
    const { work } = this;
    const out = () => !work.pairs.length && !work.comparisons.length;
    if (out() && work.done && !work.none) await this.untilDone(() => work.lease()); // a lease may be less than a batch
    if (out()) return this.finish();
    if (this.pace.breakDue) await this.#rest();
    if (this.closed) return;
    if (work.comparisons.length) return this.#showComparison();
    if (work.candidates > 1) return this.#showPage();
    const [pair] = work.pairs;
    this.place(this.#where(t("Pair {place} of {all}", { place: work.done + 1, all: work.all })), ...this.#progress());
    return this.#present("pair", pair, { draft: this.drafts[nameOf(pair)] });
  }

  /** The place in the work in words; pairs and comparisons in turn are counted together, as questions. */
  #where(words) {
    const { done, all, comparing } = this.work;
    return comparing === "some" ? t("Question {place} of {all}", { place: done + 1, all }) : words;
  }

  /** Show the place in the work; `share` of the batch is done. */
  place(where, rest, share) {
    byId("where").textContent = where;
    byId("left").textContent = rest;
    byId("progress", HTMLProgressElement).value = share;
  }

  /** Stop all sound; the current item stays. */
  hush() {
    for (const one of [this.compare, this.several]) one.hush();
    this.player.pause();
  }

  /** Show that the campaign was closed while the page was open; continue if it opens again. */
  async ended() {
    if (this.closed) return;
    this.#keepDraft();
    this.closed = true;
    this.kind = this.mode = this.submit = null;
    this.turn++;
    for (const one of [this.compare, this.several, this.player]) one.pause();
    await untilOpen(this.work);
    this.closed = false;
    await this.nextBatch();
  }

  /**
   * Show a comparison, then the next step.
   *
   * earlier  the answer to change: the last one, which was undone, or an earlier one if `kind` is "revision"
   */
  async #showComparison(earlier, one = this.work.comparisons[0], kind = "comparison") {
    const { work, compare } = this;
    const turn = ++this.turn;
    const revising = kind === "revision";
    this.kind = kind;
    this.mode = null;
    this.hush();
    showScreen("compare");
    this.showing = revising ? [] : [one];
    const [rest, share] = this.#progress();
    if (revising) compare.place(t("Revising an earlier answer"), "", share);
    else compare.place(this.#where(t("Comparison {place} of {all}", { place: work.done + 1, all: work.all })), rest, share);
    const found = await this.#patiently(() => this.clips.all(compare.addresses(one)), turn, (text) => compare.beside.trouble(text));
    if (turn !== this.turn) return;
    this.mode = kind;
    const answer = await compare.answered(found, earlier, one.query_text, revising);
    if (turn !== this.turn) return;
    this.#taken();
    this.keepingAnswer = work.compare(one, answer);
    await this.keepingAnswer;
    if (revising) {
      announce(t("Revision saved."));
    } else {
      this.pace.note();
      this.#announceSaved(t("Saved."));
    }
    await this.showNext();
  }

  /** Show the candidates of a page beside one another, then the next step. */
  async #showPage() {
    const { work, several } = this;
    const { done, all } = work;
    const turn = ++this.turn;
    this.kind = this.mode = null;
    this.hush();
    showScreen("several");
    const pairs = this.showing = work.page;
    const last = done + pairs.length;
    several.prepare(pairs);
    const mixed = work.comparing === "some";
    const where =
      pairs.length === 1
        ? this.#where(t("Pair {place} of {all}", { place: last, all }))
        : mixed
          ? t("Questions {first} to {last} of {all}", { first: done + 1, last, all })
          : t("Pairs {first} to {last} of {batch}", { first: done + 1, last, batch: all });
    several.place(where, ...this.#progress());
    const drafts = pairs.map((pair) => this.drafts[nameOf(pair)]);
    const found = await this.#patiently(() => this.clips.all(Several.addresses(pairs)), turn, (text) => several.desk.beside.trouble(text));
    if (turn !== this.turn) return;
    this.kind = this.mode = "page";
    const answered = several.answered(found, drafts);
    this.clips.ahead(work.pairs.filter((pair) => !pairs.includes(pair)).slice(0, AHEAD));
    const answers = await answered;
    if (turn !== this.turn) return;
    this.#taken();
    this.keepingAnswer = work.answerPage(pairs, answers);
    await this.keepingAnswer;
    for (const pair of pairs) delete this.drafts[nameOf(pair)];
    work.store.keep("drafts", this.drafts);
    this.pace.note(pairs.length);
    this.#announceSaved(t("Saved."));
    await this.showNext();
  }

  /** Tell screen readers that an answer is saved, unless the end of the batch, which is read next, implies it. */
  #announceSaved(text) {
    const { pairs, comparisons, done, left } = this.work;
    if (pairs.length || comparisons.length || (done && left)) announce(text);
  }

  /** Undo the last page and show it again; true if there is one. */
  async #undoPage() {
    if (!this.work.history.length) return false;
    this.#keepDraft();
    this.turn++;
    this.several.pause();
    await this.keepingAnswer;
    const undone = await this.work.undoPage();
    const open = undone.filter(({ pair }) => !this.work.answers.has(nameOf(pair))); // a revised answer's earlier version counts again
    for (const { pair, cannot, ...answers } of open) this.drafts[nameOf(pair)] = { answers, cannot };
    announce(undone.length > 1 ? t("Last page undone.") : t("Last answer undone."));
    await this.showNext();
    return true;
  }

  /** Undo the last comparison and show it again; true if there is one. */
  async #undoComparison() {
    if (!this.work.compared.length) return false;
    this.turn++;
    this.compare.pause();
    await this.keepingAnswer;
    const last = await this.work.undoComparison();
    announce(t("Last answer undone."));
    if (this.work.comparisonsMade.has(nameOf(last.comparison))) await this.showNext(); // it was a revision: the earlier answer counts again
    else await this.#showComparison(last);
    return true;
  }

  /** Show a pair; resolves with its grades once it is answered. The mode is then null, so that nothing else can happen
  to it. */
  async answered(mode, pair, options) {
    const turn = ++this.turn;
    this.mode = null;
    this.kind = mode;
    this.showing = mode === "pair" ? [pair] : [];
    for (const one of [this.compare, this.several]) one.pause(); // they are no longer shown
    this.player.pause();
    if (shownScreen() !== "desk") showScreen("desk");
    const found = await this.#clipsOf(pair, turn);
    if (turn !== this.turn) return new Promise(() => {}); // another item is shown by now
    this.desk.show(pair, found, { ...options, starts: options.starts?.(found) });
    for (const id of ["undo", "open-cannot"]) byId(id).hidden = mode === "training";
    byId("undo").firstChild.textContent = `${mode === "revision" ? t("Leave it as it was") : t("Undo")} `;
    this.mode = mode;
    this.player.play();
    this.clips.ahead(this.work.pairs.slice(mode === "pair" ? 1 : 0, AHEAD));
    return this.pressed();
  }

  /** Resolves with an answer: grades, or the reason why the pair cannot be judged. */
  pressed() {
    return new Promise((done) => (this.submit = done));
  }

  async #present(mode, pair, options) {
    const said = await this.answered(mode, pair, options);
    const details = this.desk.details;
    this.#taken();
    this.keepingAnswer = this.work.answer(pair, said, details);
    await this.keepingAnswer;
    delete this.drafts[nameOf(pair)];
    this.work.store.keep("drafts", this.drafts);
    if (mode === "pair") {
      this.pace.note();
      this.#announceSaved(t("Saved. {n} left in this batch.", { n: this.work.left }));
    } else {
      announce(t("Revision saved."));
    }
    await this.showNext();
  }

  /** Enter: save the grades, or show what is missing. */
  save() {
    if (!this.mode || !this.submit || this.desk.complain()) return;
    this.#take({ answers: { ...this.desk.form.said } });
  }

  /** Record the reason why a pair cannot be judged. */
  async cannot() {
    if (this.mode === null || this.mode === "training") return;
    const paged = this.mode === "page";
    const comparing = this.mode === "comparison";
    const { turn } = this;
    const { player } = comparing ? this.compare.beside : paged ? this.several.desk.beside : this;
    const { playing } = player;
    byId("which").hidden = !comparing;
    byId(`which-${comparing ? player.side : 0}`, HTMLInputElement).checked = true;
    const pair = paged ? this.several.pairs[this.several.heard] : this.desk.pair;
    player.pause();
    const why = t("Why can this pair not be judged?");
    byId("cannot-title").textContent = paged ? `${nameOfCandidate(this.several.heard)}: ${why}` : why;
    byId("cannot-save").textContent = paged ? t("Give this reason") : t("Save and continue"); // the page is saved later
    const closed = await openDialog("cannot");
    if (playing && turn === this.turn && (paged || closed !== "save")) player.play(); // about one candidate of a page: it continues
    if (closed !== "save") return;
    const form = byId("cannot-form", HTMLFormElement);
    const words = byId("reason-text", HTMLTextAreaElement).value.trim();
    const chosen = new FormData(form).get("reason");
    const which = Number(new FormData(form).get("which"));
    const reason = chosen === "other" ? words || "something else" : [chosen, words].filter(Boolean).join(": ");
    form.reset();
    if (turn !== this.turn) return; // other pairs arrived with a renewal meanwhile
    if (comparing) return this.compare.refuse(which ? [which - 1] : [0, 1], reason);
    if (paged) return this.several.refuse(this.several.pairs.indexOf(pair), reason);
    const { note } = this.desk.form.said;
    this.#take({ cannot: reason, answers: note ? { note } : {} });
  }

  #take(said) {
    const done = this.submit;
    this.submit = null;
    done?.(said);
  }

  /** Undo the last answer and show its pair again; during a revision, keep the answer unchanged. */
  async undo() {
    if (this.kind === "revision") return this.showNext();
    const compared = shownScreen() === "compare" || (shownScreen() === "batch" && this.work.comparedLast);
    if (compared && (await this.#undoComparison())) return;
    if (shownScreen() === "compare") return announce(t("Nothing to undo."));
    const paged = this.work.candidates > 1 && ["several", "batch"].includes(shownScreen());
    if (paged) return (await this.#undoPage()) || announce(t("Nothing to undo."));
    if (this.kind === "training" || !["desk", "batch"].includes(shownScreen())) return;
    this.#keepDraft();
    const { mode } = this;
    this.mode = null;
    await this.keepingAnswer;
    const last = await this.work.undo();
    if (!last) {
      this.mode = mode;
      announce(t("Nothing to undo."));
      return;
    }
    announce(t("Last answer undone."));
    this.place(t("Changing your last answer"), ...this.#progress());
    const draft = { answers: last };
    if (this.work.answers.has(nameOf(last))) await this.showNext(); // it was a revision: the earlier answer counts again
    else await this.#present("pair", last.pair, { draft, listen: 0 });
  }

  /** Show an earlier answer for a revision. */
  async revise(answer) {
    const compared = Boolean(answer.document_b);
    const one = await (compared ? this.work.comparisonOf(answer) : this.work.pairOf(answer));
    this.#keepDraft();
    if (compared) return this.#showComparison(answer, one, "revision");
    this.place(t("Revising an earlier answer"), "", this.#progress()[1]);
    const draft = { answers: answer };
    await this.#present("revision", one, { draft, listen: 0, saveText: t("Save the revision") });
  }

  /** An answer is being stored, so nothing else can happen to its item. */
  #taken() {
    this.mode = null;
    this.showing = [];
    this.notice("");
  }

  /** Show what happened without the person's doing, until their next answer. */
  notice(text) {
    byId("notice").textContent = text;
    byId("notice").hidden = !text;
  }

  /** Look at what the person answered on other devices; say so if it is the item shown here, or was replaced here. */
  catchUp() {
    this.catching ??= this.#catchUp().finally(() => (this.catching = null));
    return this.catching;
  }

  async #catchUp() {
    if (document.hidden || ![...JUDGING, "batch"].includes(shownScreen())) return;
    const found = await this.work.catchUp();
    this.work.elsewhere ||= found.length > 0;
    const there = new Set(found.map(nameOf));
    const gone = this.showing.some((one) => there.has(nameOf(one)));
    const replaced = found.some((one) => this.work.replaces(one)) && t("An answer given here replaces the one that you gave on another device; My answers shows it.");
    if (gone || replaced) this.notice([replaced, gone && t("You answered this on another device meanwhile. Here is the next one.")].filter(Boolean).join(" "));
    for (const one of found) delete this.drafts[nameOf(one)];
    if (gone) this.showNext();
  }

  /** Extend the leases of the batch, and check that they still belong to the assessor. */
  async renew() {
    await this.catchUp();
    if (!this.work.shouldRenew || document.hidden || !["pair", "page"].includes(this.mode)) return;
    const shown = this.mode === "page" ? this.several.pairs : [this.desk.pair];
    const [now] = shown.map(nameOf);
    const { turn } = this;
    this.work.first = now;
    try {
      await this.work.lease();
    } catch (error) {
      if (error.status === undefined && !error.passing) throw error;
      return; // try again later; answers wait in the outbox meanwhile
    }
    const held = new Set(this.work.pairs.map(nameOf));
    if (this.mode === null || turn !== this.turn || shown.every((pair) => held.has(nameOf(pair)))) return;
    this.notice(t("This pair timed out and was given to someone else. Here is the next one."));
    await this.showNext();
  }

  /** Show that a batch is done, or that there is nothing to judge. */
  async finish() {
    this.kind = this.mode = null;
    this.turn++;
    this.player.pause();
    const { answers, done, given } = this.work;
    const compared = [...this.work.comparisonsMade.values()].filter(({ cannot }) => !cannot);
    this.compare.pause();
    const { turn } = this;
    const completed = given > 0 ? await this.work.completion() : null;
    if (turn !== this.turn) return;
    if (completed?.done && (completed.quota !== null || completed.completion || completed.return_to)) {
      await this.atEnd();
      return showCompleted(completed);
    }
    const full = done === 0 && given > 0 && !this.work.none;
    if (given > 0 && !full) await this.atEnd();
    this.several.pause();
    byId("batch-title").textContent = full ? t("Batch done") : t("Nothing to judge now");
    byId("next-batch").textContent = full ? t("Next batch") : t("Look again");
    byId("open-answers").hidden = false; // a person who comes back may have no welcome
    byId("undo-last").hidden = !answers.size && !this.work.compared.length;
    const median = this.pace.medianS;
    const speed = median === null ? "" : ` ${t("Your pace: {seconds} s an answer.", { seconds: Math.round(median) })}`;
    const rest = full
      ? ` ${t("Continue, or come back later: your place is kept.")}`
      : this.work.onlyCompares
        ? given === 0
          ? ` ${t("There is no comparison to make at the moment. Thank you.")}`
          : ` ${t("You have answered every comparison that is free for you. The rest needs another person. Thank you.")}`
        : ` ${t("Every pair is judged, is with another person, or needs another person. Thank you.")}`;
    const graded = [...answers.values()].filter(({ cannot }) => cannot == null).length;
    const not = answers.size - graded;
    const could = not ? ` ${tn("{n} could not be judged.", "{n} could not be judged.", not)}` : "";
    const pairs = `${graded ? tn("You have judged {n} pair in total.", "You have judged {n} pairs in total.", graded) : ""}${could}`;
    const beside = compared.length ? ` ${tn("You have made {n} comparison in total.", "You have made {n} comparisons in total.", compared.length)}` : "";
    byId("batch-text").textContent = `${pairs}${beside}${speed}${rest}`.trim();
    showScreen("batch");
    untilHeld(this.work, () => turn === this.turn && shownScreen() === "batch").then((held) => held && this.ended());
  }

  /** Ask for another batch. */
  async nextBatch() {
    showScreen("loading");
    await this.untilDone(() => this.work.lease());
    this.pace.begin();
    await this.showNext();
  }

  /** Repeat a request to the service until it succeeds. */
  async untilDone(act) {
    for (;;) {
      try {
        return await act();
      } catch (error) {
        if (error.status === undefined && !error.passing) throw error;
        if (error.status === 401) await this.signIn();
        else if (error.status === 409) await untilOpen(this.work);
        else await trouble(`${error.message}.`);
      }
    }
  }

  /** The token has ended: ask for another one of the same assessor, then continue. */
  signIn() {
    this.signing ??= (async () => {
      const before = shownScreen();
      this.hush();
      if (!(await enterAgain(this.work.assessor))) location.reload();
      this.signing = null;
      showScreen(before);
      if (this.mode && before === "desk") this.player.play();
      this.work.outbox.flush();
    })();
    return this.signing;
  }

  async readDrafts() {
    this.drafts = (await this.work.store.kept("drafts")) ?? {};
  }

  #keepDraft() {
    if (this.mode === "page") for (const [place, draft] of this.several.drafts.entries()) this.drafts[nameOf(this.several.pairs[place])] = draft;
    else if (this.mode === "pair") this.drafts[nameOf(this.desk.pair)] = this.desk.draft;
    else return;
    this.keeping ??= wait(DRAFT_MS).then(() => {
      this.keeping = null;
      return this.work.store.keep("drafts", this.drafts);
    });
  }

  #clipsOf(pair, turn) {
    return this.#patiently(() => this.clips.of(pair), turn, (text) => this.desk.beside.trouble(text));
  }

  /** Load clips, however long it takes; the result is ignored once another item is shown. */
  async #patiently(fetched, turn, trouble) {
    for (;;) {
      try {
        return await fetched();
      } catch (error) {
        if (turn !== this.turn) return [null, null];
        if (error.status === 401) await this.signIn();
        else if (!error.passing) throw error;
        trouble(t("The next clips cannot be loaded. Retrying."));
        await Promise.race([wait(RETRY_MS), new Promise((done) => addEventListener("online", done, { once: true }))]);
      }
    }
  }

  async #rest() {
    this.hush();
    const minutes = Math.round(this.pace.workedS / 60);
    const judged = minutes ? tn("You have judged for {n} minute.", "You have judged for {n} minutes.", minutes) : "";
    byId("rest-text").textContent = `${judged} ${t("Ears tire: a few minutes without music help. Your place is kept even if you close the page.")}`.trim();
    await openDialog("rest");
    this.pace.rest();
  }

  /**
   * The number of questions left, with the pace once it is known, and the share of the batch that is done.
   * @returns {[string, number]}
   */
  #progress() {
    const { done, left: n, all } = this.work;
    const median = this.pace.medianS;
    return [median === null ? t("{n} left", { n }) : t("{n} left · {seconds} s each", { n, seconds: Math.round(median) }), done / Math.max(1, all)];
  }
}
