// The page of results for readers with a link: read-only and live; its token opens nothing else.

import { get } from "../api.js";
import { showSystems } from "../organise/ranking.js";
import { equip } from "../organise/tables.js";
import { announce, byId, switchThemes } from "../page.js";
import { apart, count, goalInWords, percent, target, unordered, whole, withNames } from "../text.js";

const EVERY_MS = 10_000;
const STATUS = { open: ["Judging is open", "good"], paused: ["Judging is paused", "warn"], closed: ["Judging is closed", ""] };
const PATH = `/v1/collections/${encodeURIComponent(document.body.dataset.collection ?? "")}/results`;
// The token stays in the address, so that a reload or a bookmark still works.
const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? undefined;
let shown = null;
let found = null;

function show() {
  const [said, kind] = STATUS[found.status];
  Object.assign(byId("status"), { textContent: said, className: `badge ${kind}`, hidden: false });
  byId("title").textContent = found.name;
  document.title = `Results · ${apart(found.name)} · audiosim`;
  const names = found.systems.map((one) => one.system);
  const compared = found.comparisons ? ` and ${count(found.comparisons, "comparison")}` : "";
  byId("judged").textContent = found.judged || compared ? `Ranking with ${whole(found.judged)} of ${count(found.pool, "pair")} judged${compared}` : `Predicted ranking: nothing ${found.status === "closed" ? "was judged" : "is judged yet"}`;
  byId("verdict").replaceChildren(...withNames(found.sentence, names, 24));
  byId("verdict-about").textContent = about(found);
  byId("fit").textContent = found.judged ? found.fit_sentence : "";
  byId("fit").hidden = !byId("fit").textContent;
  byId("fit").classList.toggle("warn", found.fit === "FAIL");
  byId("fit").classList.toggle("good", found.fit === "PASS");
  byId("results").hidden = false;
  showSystems(found);
  if (shown !== null) announce(`${whole(found.judged)} pairs judged`);
  shown = found.state;
}

function about({ confidence, words, stopping_rule: goal, reached, status, notes }) {
  const sure = confidence === null ? "There is nothing to order." : `Confidence in the ranking: ${percent(confidence)}, about ${words}.`;
  const wanted = target(goal);
  if (unordered({ confidence }, goal)) return `There is nothing to order.${notes.map((note) => ` ${note}.`).join("")}`;
  const met = reached ? "the goal is met" : status === "closed" ? "judging ended before the goal was met" : "the goal is not met yet";
  const aim = wanted === null ? `${met} (${goalInWords(goal)})` : `${met} (${percent(wanted, 0)})`;
  const left = status === "closed" ? "" : "; the results change while people judge";
  return `${sure} ${aim[0].toUpperCase()}${aim.slice(1)}${left}.${notes.map((note) => ` ${note}.`).join("")}`;
}

async function refresh() {
  try {
    found = await get(PATH, { token });
    byId("trouble").hidden = true;
    if (found.state !== shown) show();
    byId("updated").textContent = `Up to date at ${new Date().toLocaleTimeString("en-GB", { timeStyle: "short" })}.`;
  } catch (error) {
    const refused = [401, 403].includes(error.status);
    byId("trouble").textContent = refused ? "This link shows no results: it has ended, was revoked, or is incomplete. Ask the organiser for a new one." : `${error.message}. Trying again.`;
    byId("trouble").hidden = false;
    if (refused) {
      byId("results").hidden = true;
      return;
    }
  }
  setTimeout(refresh, EVERY_MS);
}

addEventListener("hashchange", () => location.reload());
switchThemes(byId("theme"));
equip(byId("ranking", HTMLTableElement), { resort: () => found && showSystems(found) });
refresh();
