// The assessors: their speed, their agreement, pairs they cannot judge; and invitations.

import { get, latest, newKey, post } from "../api.js";
import { announce, byId, copying, element } from "../page.js";
import { apart, count, day, duration, named, onlyHere, signed, whole } from "../text.js";
import { attempting } from "./attempt.js";
import { inviteMany } from "./invite_many.js";
import { drifts } from "./now.js";
import { recording } from "./pictures.js";
import { number, rowOf } from "./tables.js";

/** Show all judges; `judges` is null until computed; `turn` opens the dialog that sets a person aside or takes them
back. */
export function showAssessors({ campaign, leanings, judges, orderEffects }, turn) {
  const names = Object.keys(campaign.assessors);
  const lying = new Map(leanings.assessors.map((one) => [one.assessor, one]));
  byId("assessors-frame").hidden = byId("assessors-about").hidden = !names.length;
  const judged = new Map((judges ?? []).map((one) => [one.judge, one]));
  names.sort((one, other) => campaign.assessors[other].answers - campaign.assessors[one].answers);
  byId("assessors", HTMLTableElement).tBodies[0].replaceChildren(...names.map((name) => assessorRow(name, campaign.assessors[name], lying.get(name), judges && (judged.get(name) ?? {}), leanings.aside.includes(name), turn)));
  byId("doubts").replaceChildren(...Object.entries(leanings.doubts).map(([name, why]) => element("li", {}, named(name || "unnamed"), `: ${why}.`)));
  byId("order-effects").textContent = orderEffects.map((one) => one.sentence).join(" ");
  byId("order-effects").hidden = !orderEffects.length;
  const all = campaign.totals.assessors > names.length ? ` Showing ${whole(names.length)} of ${count(campaign.totals.assessors, "assessor")}.` : "";
  byId("agreement").textContent = names.length ? `${agreement(campaign)}${all}` : "Nobody has judged yet.";
}

function agreement({ agreement: { pairs, scales }, twice }) {
  const waiting = twice ? ` ${count(twice, "pair is waiting", "pairs are waiting")} for a second opinion.` : "";
  const main = Object.entries(scales).find(([, scale]) => scale.pairs);
  if (!main) return `No pair has been judged by two assessors yet.${waiting}`;
  const [name, scale] = main;
  const alpha = scale.alpha_ordinal === null ? "not known yet" : scale.alpha_ordinal.toFixed(2);
  return `${count(pairs, "pair has", "pairs have")} been judged by two or more: Krippendorff's alpha is ${alpha} on the ${name} scale (1: full agreement; 0: chance).${waiting}`;
}

function assessorRow(name, pace, lying, judge, aside, turn) {
  const { drift: rise = null, drift_low = null, drift_high = null } = judge ?? {};
  return rowOf(
    { name, judgments: lying?.judgments ?? 0, answers: pace.answers, per_hour: pace.per_hour, median_s: pace.median_s, to_others: lying?.to_others ?? null, shared: lying?.shared ?? 0, to_model: lying?.to_model ?? null, drift: rise, drift_low, drift_high, set_aside: aside },
    element("th", { scope: "row", title: apart(name) }, element("bdi", {}, name || "unnamed"), ...(aside ? [element("span", { class: "muted" }, " (set aside)")] : [])),
    number(whole(lying?.judgments ?? 0)),
    number(whole(pace.answers)),
    number(pace.per_hour === null ? "–" : whole(Math.round(pace.per_hour))),
    number(pace.median_s === null ? "–" : duration(pace.median_s)),
    number(lying?.shared ? `${signed(lying.to_others)} (${whole(lying.shared)})` : "–"),
    number(lying ? signed(lying.to_model) : "–"),
    element("td", {}, judge ? drift(judge) : "…"),
    element("td", {}, ...(name ? [asideButton(name, aside, turn)] : [])),
  );
}

function asideButton(name, aside, turn) {
  return element("button", { type: "button", class: "plain", on: { click: () => turn(name, aside) } }, aside ? "Take back…" : "Set aside…", element("bdi", { class: "hidden-visually" }, ` ${name}`));
}

function drift(judge) {
  if (judge.drift == null) return "too few yet";
  const range = `${signed(judge.drift)} (${signed(judge.drift_low)} to ${signed(judge.drift_high)})`;
  if (!drifts(judge)) return range;
  const [sign, word] = judge.drift_low > 0 ? ["▲", "higher than before: "] : ["▼", "lower than before: "];
  return element("span", { class: "drifts" }, element("span", { "aria-hidden": "true" }, `${sign} `), element("span", { class: "hidden-visually" }, word), range);
}

export function showCannot({ cannot, dropped, totals }) {
  const gone = new Set(dropped.map((pair) => `${pair.query}\n${pair.document}`));
  byId("cannot-frame").hidden = !cannot.length;
  byId("cannot-about").textContent = cannot.length
    ? `${count(totals.cannot, "report")}${totals.dropped ? `; ${count(totals.dropped, "pair is", "pairs are")} no longer asked for` : ""}${totals.cannot > cannot.length ? `; showing the first ${whole(cannot.length)}` : ""}.`
    : "None.";
  byId("cannot", HTMLTableElement).tBodies[0].replaceChildren(
    ...cannot.map((one) =>
      rowOf(
        one,
        element("td", {}, recording("query", one.query)),
        element("td", {}, recording("document", one.document)),
        ...[one.assessor, one.reason + (gone.has(`${one.query}\n${one.document}`) ? " (no longer asked for)" : "")].map((said) => element("td", {}, element("bdi", {}, said))),
      ),
    ),
  );
}

/** The form that makes links, and the list of invited people. */
export function invitations(path) {
  const attempt = attempting("invite-trouble");
  const look = latest();
  const list = (request) => look(request, (found) => showInvited(found, withdraw));
  const withdraw = (name) => attempt(async () => {
    await list(post(`${path}/withdraw`, { name }, { key: newKey() }));
    announce(`Invitation of ${name} withdrawn`);
    byId("invite-name").focus();
  });
  byId("invite").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(async () => {
      const days = byId("invite-days", HTMLInputElement).value;
      showLink(await post(path, { name: byId("invite-name", HTMLInputElement).value.trim(), ...(days && { days: Number(days) }) }), offer);
      byId("invite", HTMLFormElement).reset();
      await list(get(path));
    });
  });
  const offer = copying(byId("copy"), byId("link", HTMLInputElement));
  inviteMany(path, () => attempt(() => list(get(path))));
  return attempt(() => list(get(path)));
}

function showLink({ name, link }, offer) {
  byId("link-label").replaceChildren("Link for ", named(name));
  byId("link-note").textContent = link.includes("#token=") ? "Send it now: it contains a token, which is shown only once." : "It contains only the name.";
  byId("link-note").append(onlyHere());
  byId("invited-link").hidden = false;
  offer(new URL(link, location.origin).href);
}

function showInvited({ tokens, invited }, withdraw) {
  byId("invitations-about").textContent = tokens
    ? "A link lets one person judge this collection under that name, and nothing else."
    : "This service has no tokens: everybody on this machine can judge under any name, and a link contains only the name.";
  byId("invite-days-field").hidden = !tokens;
  byId("invited-frame").hidden = !invited.length;
  byId("invited", HTMLTableElement).tBodies[0].replaceChildren(...invited.map((one) => invitedRow(one, withdraw)));
}

function invitedRow({ name, created, expires, ended }, withdraw) {
  const button = element("button", { type: "button", class: "plain", on: { click: () => withdraw(name) } }, "Withdraw", element("bdi", { class: "hidden-visually" }, ` ${name}`));
  const until = ended ? `ended ${day(expires)}` : expires ? day(expires) : "no end";
  return rowOf({ name, created, expires, ended }, element("th", { scope: "row" }, element("bdi", {}, name)), element("td", {}, day(created)), element("td", {}, until), element("td", {}, button));
}
