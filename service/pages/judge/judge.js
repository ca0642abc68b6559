// The judging page: connects its parts, and leads from the entrance to the first pair.

import { get, wait } from "../api.js";
import { t, tn, tnodes } from "../language.js";
import { announce, byId, element, switchThemes } from "../page.js";
import { apart, named } from "../text.js";
import { listAnswers } from "./answers.js";
import { Clips, hasSound } from "./clips.js";
import { Compare } from "./compare.js";
import { showScreenedOut } from "./completed.js";
import { Desk } from "./desk.js";
import { askForAnother, enter } from "./entry.js";
import { browserTrouble, HeadphoneCheck } from "./headphones.js";
import { untilOpen, whoDid } from "./held.js";
import { pageSettings } from "./joining.js";
import { Judging, JUDGING } from "./judging.js";
import { listenToKeys, showKeys } from "./keys.js";
import { Outbox } from "./outbox.js";
import { ownData, showRetention } from "./own_data.js";
import { Pace } from "./pace.js";
import { Player, started } from "./player.js";
import { clicked, openDialog, showScreen, shownScreen, trouble } from "./screens.js";
import { Several } from "./several.js";
import { drawnName, Store } from "./store.js";
import { unsuited } from "./suited.js";
import { hasAspects } from "./form.js";
import { askPerson, knownPairs, showTask } from "./task.js";
import { height, trainingPairs } from "./training.js";
import { Work } from "./work.js";

const RENEWAL_MS = 30_000; // between two checks of the leases, and of the campaign's state
const TRAINING_LISTEN_S = 3;
const FLUSH_MS = 3_000; // to send remaining answers before a person signs out
const STATES = {
  saved: { look: "good", say: () => t("Saved") },
  saving: { look: "good", say: () => t("Saving…") },
  offline: { look: "warn", say: (waiting) => t("Offline: {waiting} waiting", { waiting }) },
  held: { look: "warn", say: (waiting) => t("On hold: {waiting} waiting", { waiting }) },
  "signed-out": { look: "bad", say: (waiting) => t("Signed out: {waiting} waiting", { waiting }) },
};

const collection = document.body.dataset.collection;
const ROOT = `/v1/collections/${encodeURIComponent(collection)}`;
const settings = pageSettings();
const unable = browserTrouble();
const unfit = unable ? "" : unsuited(document.body.dataset);
export const player = unable || unfit ? null : new Player();

/** Show why this browser or device is not allowed, and let the person try again. */
async function refuse(why) {
  byId("unsuited").textContent = why;
  showScreen("unsuited");
  await clicked("unsuited-again");
  location.reload();
}

async function begin() {
  switchThemes(byId("theme"));
  if (unable) return trouble(unable).then(() => location.reload());
  if (unfit) return refuse(unfit);
  const { assessor, leave } = await enter(collection, () => shutOut({ root: ROOT, given: 0, outbox: { waiting: 0 } }, ["closed"]));
  const described = await asked("");
  byId("title").textContent = byId("title").title = described.name;
  document.title = `${t("Judging")} · ${apart(described.name)} · audiosim`;
  const judging = await assemble(assessor);
  const check = new HeadphoneCheck(player.context);
  connect(judging, check);
  await judging.untilDone(() => judging.work.load());
  await shutOut(judging.work);
  await judging.readDrafts();
  judging.work.outbox.flush();
  setInterval(() => {
    judging.renew();
    lookForHold(judging);
  }, RENEWAL_MS);
  const person = { root: judging.work.root, assessor, filled: judging.work.filled };
  await askPerson("before", judging.task, person, (act) => judging.untilDone(act));
  judging.atEnd = () => askPerson("after", judging.task, person, (act) => judging.untilDone(act));
  if (!(await check.passed(judging.work, (act) => judging.untilDone(act)))) return showScreenedOut(await judging.work.completion());
  await welcome(judging, leave);
}

/** Show that the campaign is paused or closed before people are asked anything. */
async function shutOut(work, states = ["closed", "paused"]) {
  const now = await get(`${ROOT}/status`, { tries: 1 }).catch(() => null);
  if (states.includes(now?.status)) await untilOpen(work);
}

async function asked(what) {
  for (;;) {
    try {
      return await get(`${ROOT}${what}`);
    } catch (error) {
      if (error.status === 422) throw error;
      if (error.status === 403) {
        await askForAnother(`${error.message[0].toUpperCase()}${error.message.slice(1)}.`);
        location.reload(); // as the owner of the other token
        await new Promise(() => {});
      }
      await trouble(`${error.message}.`);
    }
  }
}

/** Questions about each pair. If the address asks for unknown questions, report this and use the usual ones. */
async function askedQuestions() {
  const usual = () => asked("/questions");
  if (settings.ask === null) return usual();
  try {
    return await asked(`/questions?${new URLSearchParams({ ask: settings.ask })}`);
  } catch (error) {
    settings.wrong.push(error.message);
    return usual();
  }
}

async function assemble(assessor) {
  const asking = await askedQuestions();
  const { questions, reasons, listen_s, comparisons, candidates } = asking;
  showReasons(reasons);
  showTask(asking);
  showRetention(asking, assessor);
  if (settings.listen !== null && settings.listen < listen_s) settings.wrong.push(t("listen must be at least {least} here, got “{said}”", { least: listen_s, said: settings.listen }));
  settings.listen = Math.max(settings.listen ?? 0, listen_s); // an address may ask for more than the campaign's rule, never for less
  const desk = new Desk(player, questions, settings.listen);
  const store = await openStore(assessor);
  const outbox = new Outbox(store, collection, assessor);
  const work = new Work({ collection, assessor, questions, settings, store, outbox, comparing: comparisons, candidates });
  const compare = new Compare(player.context, questions, settings.listen, asking.heading);
  const several = new Several(player.context, questions, settings.listen);
  return new Judging({ work, desk, compare, several, clips: new Clips(player.context), player, pace: new Pace(settings.break, asking.break_after), task: asking });
}

/** The store of this device; without one nothing is judged, because an answer could be lost. */
async function openStore(assessor) {
  for (;;) {
    try {
      return await Store.open(collection, assessor);
    } catch {
      await trouble(t("This browser does not let the page save answers on this device. Leave the private window or allow site data, then try again."));
    }
  }
}

/** Announce the task, and wait for the click that browsers require before they play sound. */
async function welcome(judging, leave) {
  const { work, clips } = judging;
  await judging.untilDone(() => work.lease());
  if (!work.pairs.length && !work.comparisons.length) return judging.finish();
  clips.ahead(work.pairs.slice(0, 2));
  const fresh = work.answers.size === 0 && !(await work.store.kept("trained"));
  const lessons = fresh ? lessonsOf(judging) : [];
  showWelcome(judging, lessons, leave);
  const trained = await Promise.race([clicked("start").then(() => true), clicked("skip-training").then(() => false)]);
  const heard = work.comparisons.length > 0 || work.pairs.some(hasSound);
  while (!(await started(player.context)) && heard) {
    await trouble(t("This device plays no sound. Connect headphones or loudspeakers, then try again."));
  }
  await shutOut(work); // the campaign may have been closed while the text was read
  if (trained) await train(judging, lessons);
  await work.store.keep("trained", true);
  judging.pace.begin();
  await judging.showNext();
}

/** The organiser's training pairs, or else three made of the batch's clips. */
function lessonsOf({ task, work }) {
  const known = knownPairs(task.training);
  const own = task.heading || hasAspects(task.questions); // the page has no training pairs for it
  return known.length || own ? known : trainingPairs(work.pairs);
}

function showWelcome({ work, task }, lessons, leave) {
  const { left } = work;
  const compares = work.comparisons.length > 0;
  byId("start-title").textContent = work.given ? t("Welcome back") : t("Welcome");
  const first = compares
    ? task.heading
      ? t("You will hear a query and two candidates at a time, and say which of the two fits better.")
      : t("You will hear a query and two candidates at a time, and say which of the two sounds closer to the query.")
    : lessons.length
    ? tn("You will hear pairs of clips and judge them: {n} training pair first, then {left} to judge.", "You will hear pairs of clips and judge them: {n} training pairs first, then {left} to judge.", lessons.length, { left })
    : work.given
    ? tn("{n} pair is left in this batch. You continue where you stopped.", "{n} pairs are left in this batch. You continue where you stopped.", left)
    : tn("You will hear {n} pair of clips and judge it.", "You will hear {n} pairs of clips and judge them.", left);
  byId("start-text").textContent = task.comparisons === "some" ? `${first} ${otherKind(compares, task.heading)}` : first;
  byId("start").textContent = lessons.length ? t("Start the training") : t("Start");
  byId("skip-training").hidden = !lessons.length;
  byId("leave").hidden = false;
  byId("leave").replaceChildren(element("span", {}, ...(work.assessor === drawnName.read() ? [t("Not you?")] : tnodes("Not {name}?", { name: named(work.assessor) }))));
  byId("leave").addEventListener("click", () => Promise.race([work.outbox.flush(), wait(FLUSH_MS)]).then(leave), { once: true });
  byId("open-answers").hidden = false;
  byId("settings-wrong").hidden = !settings.wrong.length;
  byId("settings-wrong").textContent = t("This link contains invalid settings: {wrong}. Defaults are used; please let the sender of the link know.", { wrong: settings.wrong.join("; ") });
  showScreen("start");
}

/** The other kind of question of a campaign with both, in words; `own` is the organiser's own question. */
function otherKind(compares, own) {
  if (compares) return t("Other questions are about one candidate alone.");
  return own ? t("Other questions are about two candidates: which of the two fits better.") : t("Other questions are about two candidates: which of the two sounds closer to the query.");
}

/** The reasons to choose from for a pair that cannot be judged, before “Something else”. */
function showReasons(reasons) {
  const rows = reasons.map((reason, place) => {
    const id = `reason-${place}`;
    const input = element("input", { type: "radio", name: "reason", id, value: reason, checked: place === 0 });
    return element("div", { class: "row" }, input, element("label", { for: id }, capital(t(reason))));
  });
  byId("reasons").prepend(...rows);
}

const capital = (words) => words[0].toUpperCase() + words.slice(1);

async function train(judging, lessons) {
  for (const [place, lesson] of lessons.entries()) {
    judging.place(t("Training {place} of {all}", { place: place + 1, all: lessons.length }), t("not saved"), place / lessons.length);
    const starts = ([, candidate]) => lesson.starts(candidate?.buffer.duration ?? 0);
    const said = await judging.answered("training", lesson.pair, { starts, listen: Math.min(TRAINING_LISTEN_S, settings.listen) });
    const { good, text } = lesson.teach(height(said.answers, judging.desk.form.questions));
    judging.desk.teach(text, good, place + 1 < lessons.length ? t("Next") : t("To the first pair"));
    await judging.pressed();
  }
}

function connect(judging, headphones) {
  const { desk, work } = judging;
  ownData(work);
  const open = (id) => {
    judging.hush();
    return openDialog(id);
  };
  const help = () => {
    const { beside, form } = desk;
    showKeys({ compare: judging.compare, several: judging.several }[shownScreen()] ?? { keys: beside.keys, form });
    return open("help");
  };
  const actions = {
    ready: () => shownScreen() === "desk" || shownScreen() === "batch",
    other: (key) => ({ compare: judging.compare, several: judging.several, headphones })[shownScreen()]?.key(key) ?? false,
    form: () => desk.form,
    play: () => player.toggle(),
    hear: (side) => desk.beside.hear(side),
    match: () => player.match(!player.matched),
    nudge: (seconds) => desk.beside.nudge(seconds),
    save: () => judging.save(),
    undo: () => judging.undo(),
    help,
  };
  listenToKeys(actions);
  byId("open-help").addEventListener("click", help);
  byId("save").addEventListener("click", actions.save);
  byId("undo").addEventListener("click", actions.undo);
  for (const one of [judging.compare, judging.several]) {
    one.addEventListener("undo", actions.undo);
    one.addEventListener("cannot", () => judging.cannot());
  }
  byId("undo-last").addEventListener("click", actions.undo);
  byId("next-batch").addEventListener("click", () => judging.nextBatch());
  byId("open-cannot").addEventListener("click", () => judging.cannot());
  byId("train-again").addEventListener("click", () => trainAgain(judging));
  byId("open-answers").addEventListener("click", async () => {
    await listAnswers(work, judging.task.heading, (answer) => {
      byId("answers", HTMLDialogElement).close();
      judging.revise(answer);
    });
    open("answers");
  });
  document.addEventListener("click", leaveControl, true); // first, so that dialogs return the focus to the desk
  work.outbox.addEventListener("change", () => showState(judging));
  work.outbox.addEventListener("change", () => work.outbox.state === "signed-out" && judging.signIn());
  // Answers of other devices are looked for every half a minute; if there are any, also after each one given here.
  work.outbox.addEventListener("change", () => work.outbox.state === "saved" && work.elsewhere && judging.catchUp());
  const look = () => {
    judging.catchUp();
    lookForHold(judging);
  };
  addEventListener("focus", look);
  document.addEventListener("visibilitychange", look);
}

async function trainAgain(judging) {
  byId("help", HTMLDialogElement).close();
  const lessons = lessonsOf(judging);
  if (!lessons.length || !["pair", "page"].includes(judging.mode)) return;
  await train(judging, lessons);
  await judging.showNext();
}

/** After a click with a pointer, keys act on the page, not on the clicked control. */
function leaveControl(event) {
  const control = event.target.closest?.("header button, .judging-screen :is(button, .choice, .slider, .position)");
  const screen = byId(`screen-${shownScreen()}`);
  if (control && event.detail > 0 && screen.matches(".judging-screen")) screen.focus({ preventScroll: true });
}

let shown = "saved";

/** Show where the answers are: at the service, in transfer, or only on this device. */
function showState(judging) {
  const { state, waiting, refused, reason } = judging.work.outbox;
  const { look, say } = STATES[state];
  const lost = state === "saved" && refused > 0;
  const badge = byId("state");
  badge.hidden = false;
  badge.className = `badge push ${lost ? "bad" : look}`;
  badge.textContent = lost ? t("Saved, {refused} rejected: see My answers", { refused }) : say(waiting);
  badge.title = reason;
  if (state !== shown && [state, shown].some((one) => !["saved", "saving"].includes(one))) announce(badge.textContent);
  if (state !== shown && state === "held") showHold(judging);
  byId("hold").hidden = state !== "held" && !(state === "saving" && !byId("hold").hidden);
  shown = state;
}

/** Tell a person who is judging that the campaign was paused or closed, or is open again. */
async function lookForHold(judging) {
  if (document.hidden || !JUDGING.includes(shownScreen())) return;
  await showHold(judging);
}

/** Show on the desk that the campaign is paused, and by whom; a closed one has nothing more to judge. */
async function showHold(judging) {
  const now = await get(`${ROOT}/status`, { tries: 1 }).catch(() => null);
  if (!now) return;
  byId("hold").hidden = now.status !== "paused";
  if (now.status === "open") return;
  if (now.status === "closed") return judging.ended();
  const rest = t("You can finish the pairs you have; answers are sent when judging resumes.");
  const said = element("span", {}, ...whoDid(now), ` ${t("Your answers are safe on this device.")} ${rest}`);
  if (byId("hold").textContent !== said.textContent) byId("hold").replaceChildren(said); // read once by screen readers
}

begin().catch((error) => {
  console.error(error);
  trouble(t("Something went wrong in this page; your last answer may not be saved. Reload the page to continue.")).then(() => location.reload());
});
