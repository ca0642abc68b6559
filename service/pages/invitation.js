// An invitation's token, used at once; a person who is signed in already is asked before it replaces theirs.

import { logIn, session, whose } from "./api.js";
import { m, t, tnodes } from "./language.js";
import { element } from "./page.js";
import { named } from "./text.js";

const ROLES = { assessor: m("assessor"), organiser: m("organiser"), client: m("client") };

/** Sign in with an invitation's token; returns the same as `session`, of the earlier person if they want to stay signed
in. */
export async function accept(token) {
  const [now, invited] = await Promise.all([session(), whose(token)]);
  const another = now && !now.open && (now.name !== invited.name || now.role !== invited.role || now.collection !== invited.collection);
  if (another && !(await replaces(now, invited))) return now;
  return logIn(token);
}

const roleOf = ({ role }) => t(ROLES[role] ?? role);

/** Ask whether one sign-in may replace another, because a browser has one for all of its tabs. */
function replaces(now, invited) {
  const yes = element("button", { class: "primary", value: "yes" }, element("span", {}, ...tnodes("Sign in as {name}", { name: named(invited.name, 24) })));
  const no = element("button", { value: "no" }, element("span", {}, ...tnodes("Stay {name}", { name: named(now.name, 24) })));
  const dialog = element(
    "dialog",
    { id: "replacing", "aria-labelledby": "replacing-title" },
    element(
      "form",
      { method: "dialog", class: "stack" },
      element("h2", { id: "replacing-title" }, t("Sign in as somebody else?")),
      element("p", {}, ...tnodes("You are signed in as {now} ({role}). This link is an invitation for {invited} ({other}). Using it signs you out in every tab of this browser.", { now: named(now.name), role: roleOf(now), invited: named(invited.name), other: roleOf(invited) })),
      element("div", { class: "row" }, no, yes),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((done) =>
    dialog.addEventListener("close", () => {
      dialog.remove();
      done(dialog.returnValue === "yes");
    }),
  );
}
