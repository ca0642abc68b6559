// The model of the campaign: its name, the effect of another model, and the choice between them.

import { ask, get, latest, newKey, post } from "../api.js";
import { announce, byId, element } from "../page.js";
import { apart, changeInWords, explained, longName, named, score, when, whole } from "../text.js";
import { attempting } from "./attempt.js";
import { keptModels } from "./kept.js";
import { number, rowOf } from "./tables.js";

const PATIENCE_MS = 300_000; // the other model learns from all judgments
const select = () => byId("model-other", HTMLSelectElement);
let tried = { model: "", key: "" };

/**
 * Wire the forms that try a model, choose it, and send a file; returns a function that shows the current model.
 *
 * path     address of the collection at the service
 * changed  called after a change of the model
 */
export function choosingModel(path, changed) {
  const attempt = attempting("model-trouble");
  const showKept = keptModels(path, () => attempt(show));
  const look = latest();
  const show = () => look(get(`${path}/model`), (found) => showChoice(found, showKept));
  byId("model-form").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(() => tryModel(path));
  });
  select().addEventListener("change", hideEffect);
  byId("model-no").addEventListener("click", () => {
    hideEffect();
    select().focus();
  });
  byId("model-effect").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(async () => {
      const said = { model: tried.model, reason: byId("model-reason", HTMLTextAreaElement).value.trim() };
      await busily("model-yes", () => post(`${path}/model`, said, { key: tried.key, patienceMs: PATIENCE_MS }));
      byId("model-reason", HTMLTextAreaElement).value = "";
      hideEffect();
      announce("The model is changed");
      select().focus();
      changed();
    });
  });
  const file = byId("model-file", HTMLInputElement);
  file.addEventListener("change", () => {
    const sent = file.files?.[0];
    if (!sent) return;
    attempt(async () => {
      const kept = await ask(`${path}/models`, { body: sent, repeatable: true }).finally(() => (file.value = ""));
      await show();
      byId("model-sent").replaceChildren("Kept: ", named(kept.name));
    });
  });
  return () => attempt(show, true);
}

async function tryModel(path) {
  const model = select().value;
  hideEffect();
  byId("model-said").textContent = "The other model learns from the judgments: seconds, longer for a large collection…";
  try {
    const effect = await busily("model-try", () => get(`${path}/model-effect?${new URLSearchParams({ model })}`, { patienceMs: PATIENCE_MS }));
    if (select().value === model) showEffect(effect, model);
  } catch (error) {
    byId("model-said").textContent = "";
    throw error;
  }
}

/** Result of some work; a button is disabled until it is done. */
async function busily(id, work) {
  const button = byId(id, HTMLButtonElement);
  button.disabled = true;
  try {
    return await work();
  } finally {
    button.disabled = false;
  }
}

function hideEffect() {
  byId("model-effect").hidden = true;
  byId("model-said").textContent = "";
}

function showChoice({ model, version, usual, chosen, lost, published, kept }, showKept) {
  const by = chosen ? [`, chosen ${when(chosen.time)}`, ...(chosen.assessor ? [" by ", named(chosen.assessor, 24)] : []), ...(chosen.details.reason ? [": “", named(chosen.details.reason), "”"] : [])] : [", the usual model here"];
  byId("model-now").replaceChildren(named(model), ...(version ? [` (version ${version})`] : []), ...by, ".");
  byId("model-lost").hidden = !lost;
  byId("model-lost").textContent = `${lost}.`;
  const was = select().value;
  const option = (name) => element("option", { value: name, dir: "auto" }, explained(name)); // found by typing, so without direction marks
  const own = kept.length ? [element("optgroup", { label: "Trained or uploaded here" }, ...kept.map(({ name }) => option(name)))] : [];
  select().replaceChildren(element("option", { value: "" }, `the usual one: ${apart(usual)}`), element("optgroup", { label: "Published" }, ...published.map((name) => option(name))), ...own);
  select().value = was;
  if (select().selectedIndex < 0) select().selectedIndex = 0;
  showKept(kept);
}

function showEffect(effect, model) {
  tried = { model, key: newKey() };
  byId("model-said").textContent = changeInWords(effect.sentence, effect.confidence, effect.confidence_by_other);
  byId("model-fits").replaceChildren(...[["Now", effect.fit_sentence], ["Then", effect.fit_sentence_by_other]].map(([at, said]) => element("li", {}, `${at}: ${said}`)));
  const between = (low, high) => `${score(low)}–${score(high)}`;
  byId("model-systems", HTMLTableElement).tBodies[0].replaceChildren(
    ...effect.systems.map((one) =>
      rowOf(
        one,
        element("th", { scope: "row" }, longName(one.system)),
        number(whole(one.rank)),
        number(whole(one.rank_by_other)),
        number(score(one.score)),
        number(score(one.score_by_other)),
        number(between(one.low, one.high)),
        number(between(one.low_by_other, one.high_by_other)),
      ),
    ),
  );
  byId("model-effect").hidden = false;
  byId("model-effect-title").focus();
}
