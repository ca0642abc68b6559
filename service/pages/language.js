// Messages in the page's language; the service puts the catalogue, gettext's messages as JSON, into the page.

const ORDER = ["zero", "one", "two", "few", "many", "other"]; // of gettext's plural forms

const page = typeof document === "undefined" ? null : document;
const found = page?.documentElement.dataset.messages;
/** @type {Record<string, string | string[]>} */
const messages = found ? JSON.parse(found) : {};

/** The page's language, for numbers and dates as well. */
export const language = page?.documentElement.lang || "en";

/** The browser's own form of the language, such as en-GB for en. */
const here = (typeof navigator === "undefined" ? [] : navigator.languages).find((one) => one.split("-")[0] === language) ?? language;
const rules = new Intl.PluralRules(language);
const numbers = new Intl.NumberFormat(language);

/** Mark a message that is translated at its use. */
export const m = (message) => message;

/** A message in the page's language, with each `{name}` replaced; a message without a translation stays in English. */
export function t(message, values = {}) {
  const translated = messages[message];
  return filled(typeof translated === "string" ? translated : message, values);
}

/** The message for a number of things, with `{n}` as the number. */
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

/** Sentences in a row, the last one without its full stop; empty ones are left out. */
export const sentences = (parts) => parts.filter(Boolean).join(t(". "));

/** Names or phrases in a row; empty ones are left out. */
export const listed = (parts) => parts.filter(Boolean).join(t(", "));

/** The parts of a message as nodes; `{name}` becomes the given node or text. */
export function tnodes(message, nodes) {
  return t(message)
    .split(/\{(\w+)\}/)
    .map((part, place) => (place % 2 ? nodes[part] : part))
    .filter((part) => part !== "");
}

/** A moment in the local format; only the time if it is today. */
export function moment(when, today = when.toDateString() === new Date().toDateString()) {
  return new Intl.DateTimeFormat(here, today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" }).format(when);
}
