// Training a model on the judgments so far: starting, following, cancelling, and restarting after an interruption.

import { get, latest, post } from "../api.js";
import { announce, byId, element } from "../page.js";
import { apart, count, listed, whole } from "../text.js";
import { attempting } from "./attempt.js";
import { shownTab } from "./tabs.js";

const AGAIN_MS = 1000; // between two requests about a running training
const FOLDS = 10; // usually
const field = (id) => byId(id, HTMLInputElement);

/**
 * Wire the form that trains a model; returns a function that shows the current training.
 *
 * path   address of the collection at the service
 * kept   called once a model can be chosen
 */
export function trainingModels(path, kept) {
  const attempt = attempting("train-trouble");
  const place = `${path}/trainings`;
  let timer = 0;
  let last = "";
  /** @type {any} */
  let shown = null;
  const look = latest();
  const show = () => look(get(place), (found) => {
    clearTimeout(timer);
    showTraining(found);
    shown = found;
    const status = found.training?.status ?? "";
    if (last === "running" && status !== "running") {
      announce(`Training ${status}`);
      if (status === "done") kept();
    }
    last = status;
    if ((found.busy || status === "running") && shownTab() === "settings") timer = setTimeout(() => attempt(show, true), AGAIN_MS);
  });
  const begin = async (asked) => {
    await post(place, asked);
    await show();
    byId("train-cancel").focus();
  };
  byId("train").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(async () => {
      const others = [...document.querySelectorAll("#train-others input:checked")].map((box) => /** @type {HTMLInputElement} */ (box).value);
      await begin({ name: field("train-name").value.trim(), features: field("train-features").value.trim() || "joint", folds: Number(field("train-folds").value), others });
    });
  });
  byId("train-again").addEventListener("click", () =>
    attempt(async () => {
      const { name, features, folds, eliminate, collections } = shown.training;
      const others = collections.filter((one) => one !== shown.collection);
      await begin({ name, features, folds, others, ...(eliminate !== null && { eliminate }) });
    }),
  );
  byId("train-cancel").addEventListener("click", () =>
    attempt(async () => {
      await post(`${place}/cancel`);
      await show();
      field("train-name").focus();
    }),
  );
  return () =>
    attempt(async () => {
      await show();
      await presetFolds(path);
    }, true);
}

let preset = false;

/** As many folds as usual, but no more than there are queries, unless the organiser has chosen. */
async function presetFolds(path) {
  const folds = field("train-folds");
  if (preset || folds.value !== folds.defaultValue) return;
  const { queries } = await get(path);
  folds.value = folds.defaultValue = String(queries > 1 ? Math.min(FOLDS, queries) : 0);
  preset = true;
}

function showTraining({ training, busy, others }) {
  byId("train-make", HTMLButtonElement).disabled = busy;
  byId("train-now").hidden = !training && !busy;
  byId("train-cancel").hidden = training?.status !== "running";
  byId("train-progress").hidden = training?.status !== "running";
  byId("train-again").hidden = training?.status !== "interrupted" || busy;
  if (training) showState(training);
  else byId("train-said").textContent = "A model of other collections is being trained; one at a time.";
  offer(others);
}

function showState({ name, status, done, total, problem, notes, collections, features }) {
  const about = [apart(name), ` (${features}) on `, ...listed(collections, 3, "collections"), ": "];
  const bar = byId("train-progress", HTMLProgressElement);
  if (total) Object.assign(bar, { max: total, value: done });
  else bar.removeAttribute("value");
  const said = {
    running: total ? `${whole(done)} of ${count(total, "fit")} of the validation` : "fitting",
    done: "done; it can be chosen above",
    failed: problem,
    cancelled: "cancelled",
    interrupted: "ended by a restart of the service",
  };
  byId("train-said").replaceChildren(...about, `${said[status]}.`);
  byId("train-notes").replaceChildren(...notes.map((note) => element("li", {}, note)));
}

/** Further collections to learn from; the choice stays. */
function offer(others) {
  byId("train-others").hidden = !others.length;
  const boxes = byId("train-boxes");
  const there = [...boxes.querySelectorAll("input")].map((box) => box.value);
  if (JSON.stringify(there) === JSON.stringify(others)) return;
  boxes.replaceChildren(...others.map((name, place) => element("div", { class: "row tight-row" }, element("input", { type: "checkbox", id: `train-other-${place}`, value: name }), element("label", { for: `train-other-${place}` }, apart(name)))));
}
