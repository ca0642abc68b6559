// Messages in the language of the page: the service puts the catalogue into the page, gettext's messages as JSON.

const ORDER = ["zero", "one", "two", "few", "many", "other"]; // of gettext's plural forms

const page = typeof document === "undefined" ? null : document;
const found = page?.documentElement.dataset.messages;
/** @type {Record<string, string | string[]>} */
const messages = found ? JSON.parse(found) : {};

/** The language of the page, for numbers and dates too. */
export const language = page?.documentElement.lang || "en";

/** The browser's own form of the language, such as en-GB for en. */
const here = (typeof navigator === "undefined" ? [] : navigator.languages).find((one) => one.split("-")[0] === language) ?? language;
const rules = new Intl.PluralRules(language);
const numbers = new Intl.NumberFormat(language);

/** A message that is translated where it is used. */
export const m = (message) => message;

/** A message in the language of the page, with `{name}` in it replaced; a message in no catalogue stays as it is. */
export function t(message, values = {}) {
  const translated = messages[message];
  return filled(typeof translated === "string" ? translated : message, values);
}

/** The message for so many of something, with `{n}` as the number. */
export function tn(one, many, n, values = {}) {
  const forms = messages[one];
  if (!Array.isArray(forms)) return filled(n === 1 ? one : many, { n: numbers.format(n), ...values });
  const order = ORDER.filter((form) => rules.resolvedOptions().pluralCategories.includes(/** @type {Intl.LDMLPluralRule} */ (form)));
  const place = Math.min(order.indexOf(rules.select(n)), forms.length - 1);
  return filled(forms[place], { n: numbers.format(n), ...values });
}

function filled(message, values) {
  return message.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** The parts of a message as nodes: `{name}` becomes the node or text given for it. */
export function tnodes(message, nodes) {
  return t(message)
    .split(/\{(\w+)\}/)
    .map((part, place) => (place % 2 ? nodes[part] : part))
    .filter((part) => part !== "");
}

/** A moment as people here write it; of today only the time. */
export function moment(when, today = when.toDateString() === new Date().toDateString()) {
  return new Intl.DateTimeFormat(here, today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" }).format(when);
}
