// Imported files of judgments and comparisons, with their progress.

import { get, latest, wait } from "../api.js";
import { byId, element } from "../page.js";
import { count, named, when, whole } from "../text.js";

const ENDED = new Set(["done", "failed"]);
const POLL_MS = 1000;

/** Makes the function that shows the progress of each file, and repeats while a file is being imported. */
export function fileImports(path) {
  let watching = false;
  const look = latest();
  const show = () => look(get(`${path}/imports`), async (all) => {
    list(all);
    if (watching) return;
    watching = all.some(({ status }) => !ENDED.has(status));
    if (!watching) return;
    await wait(POLL_MS);
    watching = false;
    await show();
  });
  return show;
}

function list(all) {
  byId("imports").replaceChildren(...all.map(item));
}

function item({ time, by, status, lines, written, problem }) {
  const who = by ? [" by ", named(by)] : [];
  const running = !ENDED.has(status) && lines ? [element("progress", { value: written, max: lines, "aria-label": "Answers written" })] : [];
  return element("li", {}, element("time", { datetime: time }, when(time)), ...who, `: ${far(status, lines, written, problem)}`, ...running);
}

function far(status, lines, written, problem) {
  if (status === "failed") return `nothing was imported: ${problem}`;
  if (status === "done") return `in the log: ${count(lines ?? 0, "answer")}`;
  const so = lines === null ? "waiting to be read" : `${whole(written)} of ${count(lines, "answer")} written`;
  return problem ? `${so}; waiting: ${problem}` : so;
}
