// The page for making a collection: its name, its files, its task and goal, the check, and its creation.

import { ask, get, latest, post, session } from "../api.js";
import { announce, byId, element, saysScrolling, switchThemes } from "../page.js";
import { explained, named } from "../text.js";
import { Files } from "./files.js";
import { allow, checked, dropEstimates, planning, showCheck, showRefused } from "./outcome.js";

const SETTLE_MS = 600;
const ESTIMATED = new Set(["scale", "grades", "aspects", "twice", "comparisons", "prompts", "cutoff", "measure", "model", "stopping_rule"]); // settings that estimates depend on
const NUMBERS = new Set(["cutoff", "twice", "candidates", "listen", "break_after", "steps"]);

const checking = latest();
let saving = Promise.resolve(); // of settings, one request after the other

async function enter() {
  const who = await session();
  if (who === null) return location.assign("/");
  if (who.role !== "organiser" || who.collection) throw new Error("Only organisers of the whole service make collections");
  const { home, drafts, choices } = await get("/v1/drafts");
  if (!home) throw new Error("This service has no folder for new collections: start it with audiosim serve --home DIR");
  fillChoices(choices);
  const name = new URLSearchParams(location.search).get("draft");
  return name ? openDraft(name) : begin(drafts);
}

function begin(drafts) {
  byId("begin").hidden = false;
  byId("unfinished").hidden = !drafts.length;
  byId("drafts").replaceChildren(...drafts.map((name) => element("li", {}, element("a", { href: `/create?${new URLSearchParams({ draft: name })}` }, named(name)))));
  const field = byId("name", HTMLInputElement);
  field.addEventListener("invalid", (event) => {
    event.preventDefault(); // said on the page, with the form that a name has
    byId("name-trouble").hidden = false;
    field.focus();
  });
  field.addEventListener("input", () => {
    byId("name-trouble").hidden ||= field.validity.valid;
    byId("trouble").hidden = true; // said of another name
  });
  byId("begin-form").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(async () => {
      const { name } = await post("/v1/drafts", { name: field.value.trim() });
      history.replaceState(null, "", `/create?${new URLSearchParams({ draft: name })}`);
      byId("begin").hidden = true;
      await openDraft(name);
    });
  });
  field.focus();
}

/** Show a draft for editing. */
async function openDraft(name) {
  const path = `/v1/drafts/${encodeURIComponent(name)}`;
  const draft = await get(path);
  document.title = `New collection · ${name} · audiosim`;
  const form = byId("settings", HTMLFormElement);
  const recheck = () => check(path, files);
  const files = new Files(path, () => {
    dropEstimates();
    return recheck();
  });
  const keep = () => attempt(() => saveSettings(path, form), "settings-trouble").then((kept) => (kept ? recheck() : checking(Promise.resolve(), showRefused, {})));
  files.show(draft.files);
  offerFolders(files);
  for (const field of fields(form)) field.value = draft.settings[field.name] ?? "";
  if (!draft.settings.title) byId("set-title", HTMLInputElement).value = name;
  let waiting;
  form.addEventListener("input", ({ target }) => {
    if (target instanceof Element && ESTIMATED.has(target.getAttribute("name"))) dropEstimates();
    clearTimeout(waiting);
    waiting = setTimeout(keep, SETTLE_MS);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  planning(path, (goal) => {
    byId("set-goal", HTMLInputElement).value = goal;
    announce(`Goal: ${goal}`);
    keep();
  });
  connectEnd(path, async () => {
    clearTimeout(waiting);
    await saveSettings(path, form);
  });
  byId("draft").hidden = false;
  byId("some-files").focus();
  if (draft.files.length) await recheck();
}

async function check(path, files) {
  offerFolders(files);
  byId("finish-trouble").hidden = true; // said of other files or settings
  byId("check-said").textContent = "Checking…";
  const show = (found) => {
    if (!byId("settings-trouble").hidden) showRefused(); // the check is of the settings before
    else allow(!showCheck(path, found) ? "Step 3 says what is missing." : files.sending ? "Files are being sent." : "");
  };
  // Each check is of other files or settings than the one before.
  await checking(checked(path), show, {}).catch((error) => {
    byId("check-said").textContent = `The check failed: ${error.message}.`;
    allow("The check of step 3 failed.");
  });
}

/** Offer the folders of recordings as prompts if the draft has only recordings. */
function offerFolders(files) {
  const { folders } = files;
  const select = byId("set-prompts", HTMLSelectElement);
  const chosen = select.value;
  const offered = files.has("runs") ? [] : folders;
  byId("prompts-field").hidden = offered.length < 2;
  select.replaceChildren(element("option", { value: "" }, "the folder named prompts"), ...offered.map((name) => element("option", { value: name }, name)));
  select.value = offered.includes(chosen) ? chosen : "";
}

/** @returns {(HTMLInputElement | HTMLSelectElement)[]} */
const fields = (form) => [...form.elements].filter((one) => one.name);

async function saveSettings(path, form) {
  const said = fields(form).map(({ name, value }) => [name, NUMBERS.has(name) ? (value ? Number(value) : null) : value.trim()]);
  const saved = saving.then(() => post(`${path}/settings`, Object.fromEntries(said), { repeatable: true }));
  saving = saved.catch(() => {});
  await saved;
  byId("settings-trouble").hidden = true;
}

function connectEnd(path, keep) {
  byId("create").addEventListener("click", () =>
    attempt(async () => {
      allow("Creating it…");
      try {
        await keep();
        const { collection } = await post(`${path}/create`, {}, { patienceMs: 300_000, tries: 1 });
        location.assign(`/organise/${encodeURIComponent(collection)}`);
      } finally {
        allow();
      }
    }, "finish-trouble"),
  );
  byId("discard").addEventListener("click", () => byId("discarding", HTMLDialogElement).showModal());
  byId("discarding-no").addEventListener("click", () => byId("discarding", HTMLDialogElement).close());
  byId("discarding-form").addEventListener("submit", () =>
    attempt(async () => {
      await ask(path, { method: "DELETE", accept: "text" });
      location.assign("/");
    }, "finish-trouble"),
  );
}

function fillChoices({ measures, stopping_rules, selection_rules, models }) {
  const option = (value, words) => element("option", { value }, words);
  byId("measures").replaceChildren(...measures.map((name) => option(`${name}@5`, `${name}@5`)));
  byId("goals").replaceChildren(...Object.entries(stopping_rules).map(([goal, words]) => option(goal, words)));
  byId("set-rule").replaceChildren(option("", "the service's default"), ...selection_rules.map((name) => option(name, explained(name))));
  byId("set-model").replaceChildren(option("", "the service's default"), ...models.map((name) => option(name, explained(name))));
}

/** Do some work; its error is shown in an element. True if there was none. */
async function attempt(work, place = "trouble") {
  byId(place).hidden = true;
  try {
    await work();
    return true;
  } catch (error) {
    byId(place).textContent = `${error.message}.`;
    byId(place).hidden = false;
    return false;
  }
}

document.querySelectorAll(".scroll").forEach(saysScrolling);
switchThemes(byId("theme"));
attempt(enter);
