// The judging page: puts its parts together, and leads from entering to the first pair.

import { get } from "../api.js";
import { announce, byId, switchThemes } from "../page.js";
import { listAnswers } from "./answers.js";
import { Clips } from "./clips.js";
import { Desk } from "./desk.js";
import { enter } from "./entry.js";
import { Judging } from "./judging.js";
import { listenToKeys, showKeys } from "./keys.js";
import { Outbox } from "./outbox.js";
import { Pace } from "./pace.js";
import { Player } from "./player.js";
import { questions } from "./scale.js";
import { clicked, openDialog, showScreen, shownScreen, trouble } from "./screens.js";
import { readSettings } from "./settings.js";
import { Store } from "./store.js";
import { height, trainingPairs } from "./training.js";
import { Work } from "./work.js";

const RENEWAL_MS = 30_000; // between two looks at the leases
const TRAINING_LISTEN_S = 3;
const STATES = {
  saved: { look: "good", say: () => "Saved" },
  saving: { look: "good", say: () => "Saving…" },
  offline: { look: "warn", say: (waiting) => `Offline: ${waiting} waiting` },
  held: { look: "warn", say: (waiting) => `On hold: ${waiting} waiting` },
  "signed-out": { look: "bad", say: (waiting) => `Signed out: ${waiting} waiting` },
};

const collection = document.body.dataset.collection;
const settings = readSettings(location.search);
export const player = new Player();

async function begin() {
  switchThemes(byId("theme"));
  const { assessor, leave } = await enter();
  const described = await describe();
  byId("title").textContent = described.name;
  document.title = `Judging ${described.name}`;
  const judging = await assemble(described, assessor);
  connect(judging);
  await judging.untilDone(() => judging.work.load());
  await judging.readDrafts();
  judging.work.outbox.flush();
  setInterval(() => judging.renew(), RENEWAL_MS);
  await welcome(judging, leave);
}

async function describe() {
  for (;;) {
    try {
      return await get(`/v1/collections/${encodeURIComponent(collection)}`);
    } catch (error) {
      await trouble(`${error.message}.`);
    }
  }
}

async function assemble({ scale }, assessor) {
  const desk = new Desk(player, questions(scale, settings.ask), settings.listen);
  const store = await Store.open(collection, assessor);
  const outbox = new Outbox(store, collection, assessor);
  const work = new Work({ collection, assessor, settings, store, outbox });
  return new Judging({ work, desk, clips: new Clips(player.context), player, pace: new Pace(settings.break) });
}

/** Tell what is to come, and wait for the click without which browsers play no sound. */
async function welcome(judging, leave) {
  const { work, clips } = judging;
  await judging.untilDone(() => work.lease());
  if (!work.pairs.length) return judging.finish();
  clips.ahead(work.pairs.slice(0, 2));
  const fresh = work.answers.size === 0 && !(await work.store.kept("trained"));
  const lessons = fresh ? trainingPairs(work.pairs) : [];
  showWelcome(work, lessons, leave);
  const trained = await Promise.race([clicked("start").then(() => true), clicked("skip-training").then(() => false)]);
  await player.context.resume();
  if (trained) await train(judging, lessons);
  await work.store.keep("trained", true);
  judging.pace.begin();
  await judging.showNext();
}

function showWelcome(work, lessons, leave) {
  const left = work.pairs.length;
  byId("start-title").textContent = work.answers.size ? "Welcome back" : "Welcome";
  byId("start-text").textContent = lessons.length
    ? `You will hear pairs of clips, and say how similar they sound. ${lessons.length} pairs for training come first, then a batch of ${left}.`
    : `${left} ${left === 1 ? "pair is" : "pairs are"} left in this batch. It goes on where you stopped.`;
  byId("start").textContent = lessons.length ? "Start the training" : "Start";
  byId("skip-training").hidden = !lessons.length;
  byId("leave").hidden = false;
  byId("leave").textContent = `Not ${work.assessor}?`;
  byId("leave").addEventListener("click", leave, { once: true });
  byId("open-answers").hidden = false;
  showScreen("start");
}

async function train(judging, lessons) {
  for (const [place, lesson] of lessons.entries()) {
    judging.place(`Training ${place + 1} of ${lessons.length}`, "not kept", place / lessons.length);
    const starts = ([, candidate]) => lesson.starts(candidate?.buffer.duration ?? 0);
    const said = await judging.answered("training", lesson.pair, { starts, listen: Math.min(TRAINING_LISTEN_S, settings.listen) });
    const { good, text } = lesson.teach(height(said, judging.desk.grades.questions));
    judging.desk.teach(text, good, place + 1 < lessons.length ? "Next" : "To the first pair");
    await judging.pressed();
  }
}

function connect(judging) {
  const { desk, work } = judging;
  const open = (id) => {
    player.pause();
    return openDialog(id);
  };
  const help = () => open("help");
  const actions = {
    ready: () => shownScreen() === "desk" || shownScreen() === "batch",
    grades: () => desk.grades,
    play: () => player.toggle(),
    hear: (side) => desk.hear(side),
    match: () => player.match(!player.matched),
    nudge: (seconds) => desk.nudge(seconds),
    save: () => judging.save(),
    undo: () => judging.undo(),
    help,
  };
  listenToKeys(actions);
  showKeys(desk.grades);
  byId("open-help").addEventListener("click", help);
  byId("save").addEventListener("click", actions.save);
  byId("undo").addEventListener("click", actions.undo);
  byId("undo-last").addEventListener("click", actions.undo);
  byId("next-batch").addEventListener("click", () => judging.nextBatch());
  byId("open-cannot").addEventListener("click", () => judging.cannot());
  byId("train-again").addEventListener("click", () => trainAgain(judging));
  byId("open-answers").addEventListener("click", async () => {
    await listAnswers(work, (answer) => {
      byId("answers").close();
      judging.revise(answer);
    });
    open("answers");
  });
  document.addEventListener("click", leaveControl, true); // first, so that dialogs give the focus back to the desk
  work.outbox.addEventListener("change", showState);
  work.outbox.addEventListener("change", () => work.outbox.state === "signed-out" && judging.signIn());
}

async function trainAgain(judging) {
  byId("help").close();
  const lessons = trainingPairs(judging.work.pairs);
  if (!lessons.length || judging.mode !== "pair") return;
  await train(judging, lessons);
  await judging.showNext();
}

/** After a click with a pointer, keys mean what they mean everywhere, and not the control that was clicked. */
function leaveControl(event) {
  const control = event.target.closest?.("header button, #screen-desk :is(button, .choice, .slider, .position)");
  if (control && event.detail > 0 && shownScreen() === "desk") byId("screen-desk").focus({ preventScroll: true });
}

let shown = "saved";

/** Show where the answers are: at the service, on their way, or only here. */
function showState({ target: outbox }) {
  const { state, waiting, refused, reason } = outbox;
  const { look, say } = STATES[state];
  const lost = state === "saved" && refused > 0;
  const badge = byId("state");
  badge.hidden = false;
  badge.className = `badge push ${lost ? "bad" : look}`;
  badge.textContent = lost ? `Saved, ${refused} not taken: see My answers` : say(waiting);
  badge.title = reason;
  if (state !== shown && [state, shown].some((one) => !["saved", "saving"].includes(one))) announce(badge.textContent);
  shown = state;
}

begin().catch((error) => {
  console.error(error);
  trouble("This is a mistake in the page. Your answers are kept; load the page again.").then(() => location.reload());
});
