// The start page: the collections, the progress of each, and the actions open to the reader.

import { get, session, takeInvitation } from "../api.js";
import { openEntrance } from "../entrance.js";
import { accept } from "../invitation.js";
import { announce, byId, element, switchThemes } from "../page.js";
import { apart, begun, comparesOnly, count, exhausted, named, percent, statusOf, target, unopened, unordered, whole } from "../text.js";

const WHO = {
  organiser: { about: "You are an organiser: follow campaigns, or judge some pairs.", organises: true, judges: true },
  assessor: { about: "Choose a collection. In one that you have begun, you continue where you stopped.", organises: false, judges: true },
  client: { about: "This token is for programs: use it to get predictions and rankings.", organises: false, judges: false },
};

async function enter() {
  const { token } = takeInvitation();
  const caller = await (token ? accept(token) : session()).catch(refused);
  byId("entrance").hidden = caller !== null;
  if (caller) await showAll(caller);
  else byId("token").focus();
}

/** Reject a token that has expired or was never valid: show this beside the form for another one. */
function refused(error) {
  if (![401, 422, 429].includes(error.status)) throw error;
  byId("entrance-trouble").textContent = `${error.message}.`;
  byId("entrance-trouble").hidden = false;
  return null;
}

async function showAll(caller) {
  const may = WHO[caller.role];
  byId("who").replaceChildren(...(caller.open ? ["No sign-in (this machine only)"] : [element("span", {}, named(caller.name), `, ${caller.role}`)]));
  byId("who").hidden = false;
  byId("leave").hidden = caller.open;
  const collections = caller.collection ? [await get(`/v1/collections/${encodeURIComponent(caller.collection)}`)] : await get("/v1/collections");
  byId("list-about").textContent = may.about;
  const alike = (name) => collections.filter((one) => one.name === name).length > 1;
  byId("collections").replaceChildren(...collections.map((one) => item(one, may, alike(one.name))));
  byId("list").hidden = false;
  byId("programs").hidden = !may.organises && caller.role !== "client";
  announce(count(collections.length, "collection"));
  if (may.organises && !caller.collection) await offerNew(collections.length);
  await Promise.all(collections.map((one) => fill(one, may)));
}

/** Invite an organiser to make a collection if the service has a folder for it, or to continue a draft. */
async function offerNew(there) {
  const { home, drafts } = await get("/v1/drafts");
  byId("make").hidden = !home;
  if (!there) byId("list-about").textContent = home ? "There is no collection yet. Create the first one." : "There is no collection.";
  byId("making").hidden = !drafts.length;
  byId("making").replaceChildren(...drafts.map((name) => element("li", {}, "Not finished yet: ", element("a", { href: `/create?${new URLSearchParams({ draft: name })}` }, named(name)))));
}

const idOf = (what, one) => `${what}-${one.identifier}`;

/** A collection and its doings; one of several that are `alike` in name has its identifier beside it. */
function item(one, { judges, organises }, alike) {
  const name = encodeURIComponent(one.identifier);
  const link = (text, page, kind) => element("a", { id: idOf(page, one), class: `button ${kind}`, href: `/${page}/${name}`, "aria-label": `${text}: ${apart(alike ? one.identifier : one.name)}` }, text);
  const doings = [...(judges ? [link("Judge", "judge", organises ? "" : "primary")] : []), ...(organises ? [link("Organise", "organise", "primary")] : [])];
  const size = `${count(one.systems.length, "system")}, ${count(one.queries, "query", "queries")}, ${count(one.pool, "pair")}`;
  return element(
    "li",
    { class: "card collection" },
    element("h3", {}, named(one.name), ...(alike ? [element("span", { class: "muted" }, " (", named(one.identifier), ")")] : []), " ", element("span", { id: idOf("status", one), class: "badge", hidden: true })),
    element("p", { class: "facts small muted" }, judges && !organises ? `Grades on the ${one.scale.name} scale` : size),
    element("div", { id: idOf("state", one), class: "state small" }),
    element("div", { class: "doings" }, ...doings),
  );
}

/** Show a campaign's state: to assessors whether it is open, to organisers its progress; only an open one is offered to judge. */
async function fill(one, { judges, organises }) {
  if (!judges) return;
  const path = `/v1/collections/${encodeURIComponent(one.identifier)}`;
  const now = await get(`${path}/${organises ? "campaign" : "status"}`);
  const [said, kind] = statusOf(now);
  const badge = byId(idOf("status", one));
  Object.assign(badge, { textContent: said, className: `badge ${kind}`, hidden: false });
  byId(idOf("judge", one)).hidden = now.status !== "open";
  if (organises && now.status === "closed" && begun(now)) {
    const link = byId(idOf("organise", one));
    link.textContent = "Results";
    link.ariaLabel = link.ariaLabel.replace("Organise", "Results");
  }
  const held = heldWords(now, organises);
  byId(idOf("state", one)).replaceChildren(...(organises ? summary(now) : []), ...(held ? [element("p", {}, held)] : []));
}

/** Reason why there is nothing to judge now; empty if there is. */
function heldWords(now, organises) {
  if (now.status === "open") return "";
  if (now.status === "closed") return organises ? "" : "Judging has ended.";
  if (organises) return unopened(now) ? "Nobody can judge until you open it." : "Nobody can judge until you resume it.";
  return unopened(now) ? "Judging has not begun: look again once the organiser has opened it." : "Judging is paused: look again later.";
}

function summary(campaign) {
  const { judged, comparisons, pool, confidence, goal } = campaign;
  const wanted = target(goal.goal);
  const verdict = unordered(campaign, goal.goal) ? "Nothing to order" : goal.reached && exhausted({ judged, pool, confidence }, goal.goal) ? "Everything is judged" : goal.reached ? `Goal met${begun(campaign) ? "" : " (predictions only, nothing judged yet)"}` : campaign.status === "closed" ? "Closed before the goal was met" : begun(campaign) ? "Not settled yet" : "Predictions only, nothing judged yet";
  const sure = confidence === null ? "" : `: confidence in the ranking ${percent(confidence)}${wanted === null ? "" : `, goal ${percent(wanted, 0)}`}`;
  const progress = element("progress", { value: judged, max: pool || 1, "aria-label": "Judged pairs" });
  const given = [...(comparesOnly(campaign) ? [] : [`${whole(judged)} of ${count(pool, "pair")} judged`]), ...(comparisons ? [count(comparisons, "comparison")] : [])].join(", ");
  return [...(comparesOnly(campaign) ? [] : [element("div", { class: "bar-track" }, progress)]), element("p", {}, `${given}. ${verdict}${sure}.`)];
}

function showTrouble(error) {
  byId("trouble").textContent = `${error.message}.`;
  byId("trouble").hidden = false;
}

openEntrance();
switchThemes(byId("theme"));
enter().catch(showTrouble);
