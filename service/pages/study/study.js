// The page of a study: a query, two lists of results and a question, as in Urbano (2013), Figure 3.1.

import { post } from "../api.js";
import { announce, byId, element, switchThemes } from "../page.js";
import { count } from "../text.js";

const NAMED_BY = ["worker", "workerId", "PROLIFIC_PID", "worker_id"]; // parameters of the address on different platforms
const ENDINGS = {
  "turned away": ["Thank you", "Several of your answers differ from known ones, so your part in this study ends here."],
  limit: ["Thank you", "You have answered as many examples as one person may. You can close this page."],
  complete: ["Thank you", "All examples are answered. You can close this page."],
  later: ["One moment", "The examples that are left are with other people. Some may come back in a while."],
};

let worker = NAMED_BY.map((name) => new URLSearchParams(location.search).get(name)).find(Boolean) ?? "";
let key = "";
let shownAt = 0;

const only = (section) => {
  for (const id of ["entry", "example", "ending"]) byId(id).hidden = id !== section;
};

function clip(address, label) {
  return element("audio", { controls: true, preload: "none", src: address, "aria-label": label });
}

function show(found) {
  byId("trouble").hidden = true;
  byId("answered").textContent = `${count(found.answered, "answer")} saved`;
  byId("answered").hidden = !found.answered;
  if (found.state !== "task") return end(found);
  key = found.key;
  shownAt = performance.now();
  byId("query", HTMLAudioElement).src = found.query;
  for (const side of ["a", "b"]) {
    const name = `Service ${side.toUpperCase()}`;
    byId(`list-${side}`).replaceChildren(...found[side].map((address, place) => element("li", {}, clip(address, `${name}, result ${place + 1}`))));
  }
  byId("form", HTMLFormElement).reset();
  const place = `Example ${found.answered + 1} of at most ${found.most}`;
  byId("place").textContent = place;
  only("example");
  byId("example").focus();
  scrollTo(0, 0);
  announce(found.answered ? `Saved. ${place}` : place);
}

function end({ state, code }) {
  [byId("ending-title").textContent, byId("ending-text").textContent] = ENDINGS[state];
  byId("code").textContent = code;
  byId("ending-code").hidden = !code || state === "later";
  byId("again").hidden = state !== "later";
  only("ending");
  byId("ending").focus();
}

/** Send a request with the form's button disabled; an error is shown, and the form keeps its content. */
async function ask(path, body, button) {
  button.disabled = true;
  try {
    show(await post(path, body, { repeatable: true }));
  } catch (error) {
    byId("trouble").textContent = error.status === 409 ? "This example timed out. Here is another one." : error.status === 403 ? `${error.message}.` : `${error.message}. Your answer is still here: try again.`;
    byId("trouble").hidden = false;
    if (error.status === 409) await next(button).then(() => (byId("trouble").hidden = false));
  } finally {
    button.disabled = false;
  }
}

const next = (button) => ask("next", { worker }, button);

byId("entry-form").addEventListener("submit", (event) => {
  event.preventDefault();
  worker = byId("worker", HTMLInputElement).value.trim();
  const address = new URL(location.href);
  address.searchParams.set("worker", worker);
  history.replaceState(null, "", address); // a page loaded again has the name
  next(event.submitter);
});
byId("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const answer = new FormData(byId("form", HTMLFormElement)).get("answer");
  const comment = byId("comment", HTMLTextAreaElement).value;
  ask("answers", { worker, key, answer, comment, seconds: (performance.now() - shownAt) / 1000 }, byId("send"));
});
byId("again").addEventListener("click", () => next(byId("again")));
// One clip at a time.
addEventListener("play", ({ target }) => document.querySelectorAll("audio").forEach((one) => one !== target && one.pause()), true);

switchThemes(byId("theme"));
byId("worker", HTMLInputElement).value = worker;
only("entry");
