// The texts that people read, changed while they judge: the title, the task's words, and prompts.

import { get, latest, newKey, post } from "../api.js";
import { announce, byId, element } from "../page.js";
import { apart, named, when } from "../text.js";
import { attempting } from "./attempt.js";

const NAMES = ["title", "question", "instructions", "consent", "language", "languages"];
const field = (name) => /** @type {HTMLInputElement | HTMLTextAreaElement} */ (byId(`text-${name}`));
const prompt = () => byId("prompt-text", HTMLTextAreaElement);
const query = () => byId("prompt-query", HTMLSelectElement);

/** Wire the forms; returns a function that shows the current texts, except where the organiser is typing. */
export function changingTexts(path) {
  /** @type {Record<string, string>} */
  let texts = {};
  /** @type {Record<string, string>} */
  let prompts = {};
  const attempt = attempting("texts-trouble");
  const attemptPrompt = attempting("prompts-trouble");
  const showPrompt = () => (prompt().value = prompts[query().value] ?? "");
  const look = latest();
  const show = () => look(Promise.all([get(`${path}/texts`), get(`${path}/prompts`)]), ([found, asked]) => {
    for (const name of NAMES) if (field(name).value === (texts[name] ?? "")) field(name).value = found[name];
    texts = Object.fromEntries(NAMES.map((name) => [name, found[name]]));
    byId("texts-changed").replaceChildren(...lastChange(found.changed));
    const typed = prompt().value !== (prompts[query().value] ?? "");
    ({ prompts } = asked);
    offerQueries(asked.queries, prompts);
    if (!typed) showPrompt();
  });
  query().addEventListener("change", showPrompt);
  byId("texts").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(async () => {
      const changed = NAMES.filter((name) => field(name).value.trim() !== texts[name].trim());
      if (!changed.length) throw new Error("No text is changed yet");
      const said = Object.fromEntries(changed.map((name) => [name, field(name).value.trim()]));
      await post(`${path}/texts`, { ...said, reason: byId("text-reason", HTMLInputElement).value.trim() }, { key: newKey() });
      for (const name of changed) texts[name] = field(name).value = said[name];
      byId("text-reason", HTMLInputElement).value = "";
      announce("The texts are changed");
      await show();
    });
  });
  byId("prompts").addEventListener("submit", (event) => {
    event.preventDefault();
    attemptPrompt(async () => {
      const [of, text] = [query().value, prompt().value.trim()];
      await post(`${path}/prompts`, { query: of, prompt: text }, { key: newKey() });
      prompts[of] = prompt().value = text;
      announce(`The prompt of ${apart(of)} is changed`);
      await show();
    });
  });
  return () => attempt(show, true);
}

function lastChange(changed) {
  if (!changed) return [];
  return ["Last changed ", when(changed.time), ...(changed.assessor ? [" by ", named(changed.assessor, 24)] : []), ...(changed.details.reason ? [": “", named(changed.details.reason), "”"] : []), "."];
}

/** All queries, first those with a prompt if others have none; the choice stays. */
function offerQueries(queries, prompts) {
  const there = [...query().options].map((one) => one.value);
  const order = [...queries.filter((one) => one in prompts), ...queries.filter((one) => !(one in prompts))];
  if (JSON.stringify(there) === JSON.stringify(order)) return;
  const was = query().value;
  query().replaceChildren(...order.map((one) => element("option", { value: one, dir: "auto" }, one)));
  if (order.includes(was)) query().value = was;
}
