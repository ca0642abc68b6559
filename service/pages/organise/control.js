// Pausing, resuming and closing a campaign, and downloads of its judgments.

import { post } from "../api.js";
import { byId, element } from "../page.js";
import { OPENED } from "./log.js";

const FILES = { qrels: "Qrels", csv: "CSV", spreadsheet: "Spreadsheet", jsonl: "JSON Lines", log: "Whole log" };
const ABOUT = {
  open: "Judging is open.",
  paused: "Judging is paused until you resume it.",
  closed: "Judging is closed.",
};

let begun = true; // false before the campaign first opens

/** Wire the buttons; `done` is called after each action. */
export function controls(path, done) {
  const turn = async (what, reason = "") => {
    byId("control-trouble").hidden = true;
    try {
      await post(`${path}/${what}`, { reason });
    } catch (error) {
      byId("control-trouble").textContent = `${error.message}.`;
      byId("control-trouble").hidden = false;
    }
    done();
  };
  byId("pause").addEventListener("click", () => turn("pause"));
  byId("resume").addEventListener("click", () => turn("resume", begun ? "" : OPENED));
  byId("close").addEventListener("click", () => byId("closing", HTMLDialogElement).showModal());
  byId("closing-no").addEventListener("click", () => byId("closing", HTMLDialogElement).close());
  byId("closing-form").addEventListener("submit", () => {
    turn("close", byId("reason", HTMLTextAreaElement).value.trim());
    byId("reason", HTMLTextAreaElement).value = "";
  });
  const link = (place, name) => element("li", {}, element("a", { class: "button", href: `${path}/${place}`, download: true }, name));
  byId("exports").replaceChildren(
    ...Object.entries(FILES).map(([form, name]) => link(`judgments?format=${form}`, name)),
    link("comparisons", "Comparisons"),
    link("report", "Bundle of the results"),
  );
}

/** Show the possible actions in a status (open, paused or closed); `opened` is false before the campaign first opens. */
export function showStatus(status, opened) {
  const had = document.activeElement;
  begun = opened;
  byId("control-about").textContent = opened ? ABOUT[status] : "Nobody can judge until you open it.";
  byId("resume").textContent = opened ? "Resume" : "Open";
  byId("publish-close-field").hidden = status === "closed";
  byId("pause").hidden = status !== "open";
  byId("resume").hidden = status === "open";
  byId("close").hidden = status === "closed";
  if (had instanceof HTMLElement && had.hidden) byId(status === "open" ? "pause" : "resume").focus();
}
