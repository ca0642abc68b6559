// Outcome of the files and settings so far: the check, the plan, and a preview of the assessors' page.

import { get, post } from "../api.js";
import { AnswerForm, hasAspects } from "../judge/form.js";
import { announce, byId, element } from "../page.js";
import { count, duration, goalInWords, wantsGrades, whole } from "../text.js";

const PATIENCE_MS = 300_000;
const USUAL = ["confidence=0.9", "confidence=0.95", "every=0.95"];
const COMPARES = "Which candidate sounds closer to the query?";
const FITS = "Which of the two fits better?";
const COMPARED = { name: "compared", kind: "choice", text: "Your answer", levels: ["a", "=", "b"], required: true };

/** Allow the creation, or say why it must wait. */
export function allow(why = "") {
  byId("create", HTMLButtonElement).disabled = Boolean(why);
  byId("create-why").textContent = why;
}

/** Show that settings were refused, so that what was checked before is not what the page says. */
export function showRefused() {
  byId("check-said").textContent = "A setting in step 2 is refused: correct it first.";
  byId("check-said").className = "note";
  for (const id of ["problems", "notes-frame", "plan-frame", "preview"]) byId(id).hidden = true;
  allow("A setting in step 2 is refused.");
}

/** Request the check of everything. */
export const checked = (path) => get(`${path}/check`, { patienceMs: PATIENCE_MS });

/** Show the result of the check; returns true if the collection can be created. */
export function showCheck(path, found) {
  const right = !found.error, notes = (found.check?.notes ?? []).filter((one) => !found.lacks.includes(one)), problems = [...found.lacks, ...(found.check?.problems ?? []), ...doubtsAbout(found)];
  byId("check-said").textContent = right ? said(found, problems.length) : `This cannot be created yet: ${found.error}.`;
  byId("check-said").className = right ? (problems.length ? "note warn" : "note good") : "note";
  list("problems", problems);
  byId("problems").hidden = !problems.length;
  list("notes", [...found.readings, ...notes]);
  byId("notes-frame").hidden = !found.readings.length && !notes.length;
  byId("plan-frame").hidden = !right;
  showPreview(path, right ? found : null);
  return right;
}

function said({ check: { runs, queries, pool, judged, scale }, questions, comparisons }, doubts) {
  const facts = [count(runs.length, "system"), count(queries, "query", "queries"), count(pool, "pair")].join(", ");
  const wrong = doubts ? `${count(doubts, "thing")} may be wrong` : "nothing looks wrong";
  const ranked = comparisons === "only" ? "comparisons, no grades" : hasAspects(questions) ? "ranked by the mean of its aspects" : `scale: ${scale.name === "custom" ? "" : `${scale.name}, `}${scale.levels[0]} to ${scale.levels.at(-1)}`;
  return `${facts}, ${whole(judged)} judged; ${ranked}; ${wrong}.`;
}

/** Doubts about files or settings that leave nobody anything to do, or a goal out of reach; none without a check. */
function doubtsAbout({ check, comparisons }) {
  if (!check) return [];
  const { judged, pool } = check;
  return [
    ...(pool && judged >= pool ? ["Every pair is judged in these files: nobody would be asked anything."] : []),
    ...(comparisons === "only" && wantsGrades(byId("set-goal", HTMLInputElement).value) ? ["Comparisons alone never meet this goal, which wants graded pairs as well: choose one with floor=0, such as confidence(floor=0)=0.95."] : []),
  ];
}

function list(id, lines) {
  byId(id).replaceChildren(...lines.map((line) => element("li", {}, line)));
}

function showPreview(path, found) {
  byId("preview").hidden = !found;
  if (!found) return;
  const { heading, questions, example, comparisons } = found;
  const compares = heading ? `${heading} ${FITS}` : COMPARES, closer = heading ? "fits better" : "is closer";
  byId("preview-task").textContent = comparisons === "only" ? compares : heading || (hasAspects(questions) && "Listen, then answer each question") || "How similar does the candidate sound to the query?";
  const beside = Number(byId("set-candidates", HTMLInputElement).value), only = comparisons === "only";
  byId("preview-compared").textContent = comparisons === "some" ? `Or, about two candidates, when this tells more: “${compares}”` : beside > 1 && !only ? `Up to ${beside} candidates of a query stand on one page, each with these questions.` : "";
  byId("preview-clips").replaceChildren(...clipsOf(path, example, "", only));
  new AnswerForm(byId("preview-form"), only ? [{ ...COMPARED, words: [`A ${closer}`, "The same", `B ${closer}`] }] : questions).show();
  showAround(path, found);
}

/** The recordings of a pair, to play, and a place for another candidate; `of` names the pair for screen readers. */
function clipsOf(path, pair, of = "", compared = false) {
  const clip = (word, file, lacking = "no recording") => {
    const source = `${path}/files?${new URLSearchParams({ name: file ?? "" })}`;
    const sound = file ? element("audio", { controls: true, preload: "none", src: source, "aria-label": `${word}${of}` }) : element("span", { class: "muted" }, lacking);
    return element("div", { class: "clip-line" }, element("strong", {}, word), sound);
  };
  const candidates = compared ? [clip("Candidate A", pair?.document_file), clip("Candidate B", null, "another candidate")] : [clip("Candidate", pair?.document_file)];
  return [clip("Query", pair?.query_file), ...candidates];
}

/** Texts and questions before and after the pairs. */
function showAround(path, { instructions, consent, before, after, training }) {
  byId("preview-consent").textContent = consent;
  byId("preview-agree").hidden = !consent;
  byId("preview-instructions").textContent = instructions;
  byId("preview-instructions").hidden = !instructions;
  new AnswerForm(byId("preview-before-form"), before).show();
  new AnswerForm(byId("preview-after-form"), after).show();
  byId("preview-lessons").replaceChildren(...training.map((pair, place) => element("li", { class: "stack tight" }, element("p", {}, `${pair.document} for ${pair.query}: the known answer is ${pair.grade}. ${pair.text}`), ...clipsOf(path, pair, ` of training pair ${place + 1}`))));
  byId("preview-before").hidden = !consent && !before.length && !instructions;
  byId("preview-after").hidden = !after.length;
  byId("preview-training").hidden = !training.length;
}

let estimates = 0; // their number so far; of an older one nothing more is shown

/** Drop the estimates, because they were of other files or settings. */
export function dropEstimates() {
  estimates++;
  if (!byId("plan-said").textContent) return;
  byId("goals-frame").hidden = true;
  byId("plan-said").textContent = "Files or settings have changed: estimate again.";
}

/** Wire the form that estimates the effort for each goal; `choose` is called with the organiser's choice. */
export function planning(path, choose) {
  byId("listeners").addEventListener("input", dropEstimates);
  byId("plan").addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = byId("plan").querySelector("button"), mine = ++estimates;
    button.disabled = true;
    byId("goals-frame").hidden = false;
    const body = byId("goals-table", HTMLTableElement).tBodies[0];
    body.replaceChildren();
    const said = new Set();
    try {
      const own = byId("set-goal", HTMLInputElement).value.trim(), compares = byId("set-comparisons", HTMLSelectElement).value === "only";
      const usual = compares ? USUAL.map((goal) => goal.replace("=", "(floor=0)=")) : USUAL;
      for (const goal of differing([...usual, ...(own ? [own] : [])])) {
        byId("plan-said").textContent = `Simulating campaigns for a ${goalInWords(goal)}…`;
        const found = await post(`${path}/plan`, { stopping_rule: goal, listeners: Number(byId("listeners", HTMLInputElement).value) }, { patienceMs: PATIENCE_MS, tries: 1 });
        if (mine !== estimates) return;
        if (!said.has(found.goal)) body.append(row(found, choose)); // the organiser's goal may be a usual one in other words
        said.add(found.goal);
      }
      byId("plan-said").textContent = `Simulated with grades drawn from the model, at the pace of the judgments so far or 30 s a judgment${byId("set-twice", HTMLSelectElement).value ? "; second opinions come on top" : ""}${compares ? "; how many comparisons take their place is not forecast. As comparisons are no grades, these goals do not wait for graded pairs (floor=0)" : ""}.`;
      announce("The plan is ready");
    } catch (error) {
      if (mine === estimates) byId("plan-said").textContent = `Planning failed: ${error.message}.`;
    } finally {
      button.disabled = false;
    }
  });
}

/** Goals, those that differ only in how their numbers are written once: confidence=.9 is confidence=0.9. */
export const differing = (goals) => [...new Map(goals.map((goal) => [goal.replaceAll(" ", "").replace(/[\d.]+/g, (number) => String(Number(number))), goal])).values()];

function row({ goal, judged, judgments, low, high, hours, pool, unmet, campaigns, unsettled }, choose) {
  const button = element("button", { type: "button", class: "plain", on: { click: () => choose(goal) } }, "Choose", element("span", { class: "hidden-visually" }, ` ${goalInWords(goal)}`));
  const often = unmet ? [element("div", { class: "small muted" }, `In ${unmet} of ${count(campaigns, "simulated campaign")} it was not met even with all ${whole(pool)} pairs judged.`)] : [];
  const cells = [high === null ? `more than ${whole(low)}` : whole(judgments), high === null ? "" : `${whole(low)}–${whole(Math.min(high, pool - judged))}`, hours === null ? "" : duration(hours * 3600), whole(unsettled.length)];
  return element("tr", {}, element("th", { scope: "row" }, goalInWords(goal), ...often), ...cells.map((cell) => element("td", { class: "number" }, cell)), element("td", {}, button));
}
