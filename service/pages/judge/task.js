// An organiser's own task: its question, instructions and consent, questions about the person, and training pairs.

import { post } from "../api.js";
import { t } from "../language.js";
import { byId } from "../page.js";
import { AnswerForm, hasAspects } from "./form.js";
import { showScreen } from "./screens.js";

const CLOSE = 0.15; // of the scale: a grade this near to the known one is right

/** Show the organiser's words on the page. */
export function showTask({ task, heading, instructions, language, questions }) {
  const above = heading || (hasAspects(questions) ? t("Listen, then answer each question") : "");
  const texts = { "start-task": task, "start-instructions": instructions, "help-instructions": instructions, ...(above && { question: above, "several-question": above }), ...(heading && { "compare-question": heading }) };
  for (const [id, text] of Object.entries(texts)) {
    byId(id).textContent = text;
    byId(id).hidden = !text;
    byId(id).dir = "auto";
    if (language) byId(id).lang = language;
  }
  byId("compare-better").hidden = !heading;
  byId("help-judge").hidden = Boolean(above); // the task's own question may not be about similarity
}

/**
 * Ask the questions about the person that are due, with the consent before the first; resolves when they are sent.
 *
 * filled  moments at which this person has answered already
 */
export async function askPerson(moment, { consent, before, after }, { root, assessor, filled }, untilDone) {
  const questions = moment === "before" ? before : after;
  const agree = moment === "before" && consent;
  if (filled.includes(moment) || (!questions.length && !agree)) return;
  byId("person-title").textContent = moment === "before" ? t("Before you start") : t("One last thing");
  byId("consent-text").textContent = agree || "";
  byId("consent-box").hidden = !agree;
  const agreed = byId("agreed", HTMLInputElement);
  agreed.checked = false;
  const form = new AnswerForm(byId("person-questions"), questions);
  form.show();
  showScreen("person");
  const said = await completed(form, () => (agree && !agreed.checked ? t("Please agree, or close this page.") : ""));
  showScreen("loading");
  const body = { assessor, moment, answers: said, ...(agree ? { consent: true, consent_to: consent } : {}) };
  await untilDone(async () => {
    try {
      await post(`${root}/questionnaire`, body, { repeatable: true });
    } catch (error) {
      if (!agree || error.status !== 422) throw error;
      location.reload(); // the organiser has changed the text meanwhile, so people must agree again
      await new Promise(() => {});
    }
  });
  filled.push(moment);
}

/** Resolves when the form is submitted with nothing missing, with its answers. */
function completed(form, complaint) {
  const missing = byId("person-missing");
  missing.textContent = "";
  return new Promise((done) => {
    const send = (event) => {
      event.preventDefault();
      const open = form.open.map(({ text }) => text);
      missing.textContent = complaint() || (open.length ? t("Still to be answered: {questions}", { questions: open.join("; ") }) : "");
      if (missing.textContent) return;
      byId("person-form").removeEventListener("submit", send);
      done({ ...form.said });
    };
    byId("person-form").addEventListener("submit", send);
  });
}

/** The training with an organiser's pairs and known answers, in the form of `trainingPairs`. */
export function knownPairs(training) {
  return training
    .filter((pair) => (pair.query_sound || pair.query_text) && pair.document_sound)
    .map((pair) => ({ pair, starts: () => [0, 0], teach: (share) => teachKnown(share, pair) }));
}

function teachKnown(share, { grade, top, text }) {
  const near = Math.abs(share - grade / top) <= CLOSE;
  const known = near
    ? t("The known answer is {grade} of {top}. Yours is close to it.", { grade, top })
    : t("The known answer is {grade} of {top}. Yours is further away: listen again with this in mind.", { grade, top });
  return { good: near, text: text ? `${known} ${text}` : known };
}
