// Setting a judge aside, and taking them back; the effect is shown first.

import { get, latest, newKey, post } from "../api.js";
import { announce, byId, element } from "../page.js";
import { apart, changeInWords, givenOf, longName, named, score } from "../text.js";
import { attempting } from "./attempt.js";
import { number, rowOf } from "./tables.js";

const DONE = { "set-aside": "set aside", "take-back": "taken back" };
let chosen = { name: "", what: "set-aside", key: "" };

/** Wire the dialog; `done` is called after either. */
export function asideDialog(path, done) {
  const dialog = byId("aside", HTMLDialogElement);
  byId("aside-no").addEventListener("click", () => dialog.close());
  const attempt = attempting("aside-trouble");
  byId("aside-form").addEventListener("submit", (event) => {
    event.preventDefault(); // the dialog stays open until the service has answered
    const { name, what, key } = chosen;
    attempt(async () => {
      await post(`${path}/${what}`, { judge: name, reason: byId("aside-reason", HTMLTextAreaElement).value.trim() }, { key });
      dialog.close();
      byId("aside-form", HTMLFormElement).reset();
      announce(`${apart(name)} is ${DONE[what]}`);
      byId("assessors-frame").focus();
      done();
    });
  });
  const look = latest();
  return (name, aside) => {
    chosen = { name, what: aside ? "take-back" : "set-aside", key: newKey() };
    byId("aside-title").replaceChildren(aside ? "Take back " : "Set aside ", named(name), "?");
    byId("aside-yes").textContent = aside ? "Take back" : "Set aside";
    byId("aside-about").textContent = aside
      ? "Their judgments and comparisons count again, and they get pairs again."
      : "Their judgments and comparisons no longer count, and they get no pairs. Everything is kept, and you can take them back.";
    byId("aside-effect").textContent = "Computing the effect…";
    byId("aside-frame").hidden = true;
    dialog.showModal();
    attempt(() => look(get(`${path}/judge-effect?judge=${encodeURIComponent(name)}`, { patienceMs: 60_000 }), showEffect, name).catch((error) => {
      byId("aside-effect").textContent = "";
      throw error;
    }));
  };
}

function showEffect({ sentence, judgments, comparisons, confidence, confidence_without, systems }) {
  byId("aside-effect").textContent = `${givenOf({ judgments, comparisons })}. ${changeInWords(sentence, confidence, confidence_without)}`;
  byId("aside-systems", HTMLTableElement).tBodies[0].replaceChildren(
    ...systems.map((one) =>
      rowOf(
        one,
        number(String(one.rank)),
        element("th", { scope: "row" }, longName(one.system)),
        number(score(one.score)),
        number(String(one.rank_without)),
        number(score(one.score_without)),
      ),
    ),
  );
  byId("aside-frame").hidden = false;
}
