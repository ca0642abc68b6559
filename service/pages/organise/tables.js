// Tables: sorted by their heads, saved as CSV or JSON. The page's address keeps the order: ?ranking=-best

import { element, saveFile, saysScrolling } from "../page.js";

/** @type {WeakMap<Element, Record<string, any>>} */
const records = new WeakMap(); // of rows: what heads sort by, and files hold

/** A row of a table, with its record. */
export function rowOf(record, ...cells) {
  const row = element("tr", {}, ...cells);
  records.set(row, record);
  return row;
}

/** A cell with a number. */
export const number = (said) => element("td", { class: "number" }, said);

/** The field by which a table is sorted, and whether it falls; the field is empty in the table's own order. */
export function orderOf(name) {
  const said = new URLSearchParams(location.search).get(name) ?? "";
  return { field: said.replace(/^-/, ""), falls: said.startsWith("-") };
}

function keepOrder(name, said) {
  const all = new URLSearchParams(location.search);
  if (said) all.set(name, said);
  else all.delete(name);
  history.replaceState(null, "", `${location.pathname}${all.size ? `?${all}` : ""}${location.hash}`);
}

const compare = (one, other) => (one == null || other == null ? Number(one == null) - Number(other == null) : typeof one === "number" ? one - other : String(one).localeCompare(String(other), "en", { numeric: true }));

/**
 * Make a table sortable by its heads with `data-by`, the name of a field of the records, and give it links that save it.
 *
 * place    the files are put before this element
 * resort   called after another order was chosen, if the table is then drawn anew
 * listed   the records to save, if they are not those of the rows
 *
 * @param {HTMLTableElement} table
 * @param {{place?: Element, resort?: () => void, listed?: (() => any[]) | null}} [options]
 */
export function equip(table, { place = table.closest(".scroll") ?? table, resort = () => {}, listed = null } = {}) {
  const body = table.tBodies[0] ?? table;
  const all = listed ?? (() => [...body.rows].flatMap((row) => records.get(row) ?? []));
  const name = table.id;
  const heads = /** @type {HTMLElement[]} */ ([...table.querySelectorAll("th[data-by]")]);
  const own = new WeakMap(); // places of the rows in the table's own order
  const order = () => {
    const { field, falls } = orderOf(name);
    for (const head of heads) head.ariaSort = head.dataset.by === field ? (falls ? "descending" : "ascending") : null;
    if (!heads.length) return;
    const rows = [...body.rows].filter((row) => records.has(row));
    rows.forEach((row, at) => own.has(row) || own.set(row, at));
    const key = (row) => records.get(row)[field];
    const sorted = rows.toSorted((one, other) => (field ? (falls ? compare(key(other), key(one)) : compare(key(one), key(other))) : 0) || own.get(one) - own.get(other));
    if (sorted.some((row, at) => row !== rows[at])) body.append(...sorted);
    watching.takeRecords();
  };
  const sort = (head) => {
    const { field, falls } = orderOf(name);
    const { by, first = "" } = head.dataset; // `first` is "-" for a column that falls at the first click
    const ways = [first + by, first ? by : `-${by}`, ""];
    const now = by === field ? ways.indexOf(`${falls ? "-" : ""}${by}`) : -1;
    keepOrder(name, ways[now + 1]);
    order();
    resort();
  };
  for (const head of heads) head.replaceChildren(element("button", { type: "button", class: "sorter", on: { click: () => sort(head) } }, ...head.childNodes));
  const save = (kind, written, type) => element("button", { type: "button", class: "save", on: { click: () => saveFile(`${document.body.dataset.collection}-${name}.${kind}`, written(all()), type) } }, kind.toUpperCase(), element("span", { class: "hidden-visually" }, ` of ${table.caption?.textContent ?? table.closest("[aria-label]")?.getAttribute("aria-label") ?? name}`));
  const files = element("p", { id: `${name}-files`, class: "files small" }, save("csv", csvOfRecords, "text/csv"), save("json", (found) => `${JSON.stringify(found, null, 1)}\n`, "application/json"));
  place.before(files);
  if (place.matches(".scroll")) saysScrolling(place);
  const watching = new MutationObserver(order);
  watching.observe(body, { childList: true });
  order();
  return table;
}

/** Equip the page's tables; options by name. */
export function equipAll(options = {}) {
  for (const table of document.querySelectorAll("table")) equip(table, options[table.id]);
}

function csvOfRecords(all) {
  const fields = [...new Set(all.flatMap((one) => Object.keys(one)))];
  return csvOf([fields, ...all.map((one) => fields.map((field) => one[field] ?? ""))]);
}

/** A CSV file of rows; texts that a spreadsheet would take for formulas are marked as text. */
export function csvOf(rows) {
  const cell = (value) => {
    const plain = typeof value === "object" ? JSON.stringify(value) : String(value);
    const text = typeof value !== "number" && /^[=+\-@\t\r]/.test(plain) ? `'${plain}` : plain;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/**
 * A table with a caption for screen readers, which becomes its name; a head is its words, with a class and a field to
 * sort by if needed.
 */
export function table(id, caption, heads, body, kind) {
  const cells = heads.map(([said, of, by, first]) => element("th", { scope: "col", class: of, "data-by": by, "data-first": first }, said));
  const made = element("table", { id, class: kind }, element("caption", { class: "hidden-visually" }, caption), element("thead", {}, element("tr", {}, ...cells)), body);
  const frame = element("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: 0 }, made);
  const whole = element("div", {}, frame);
  equip(made);
  return whole;
}

export const grade = (value) => String(Math.round(value * 10) / 10);

/** An expected grade, with the interval of a single grade. */
export const expectedGrade = (one) => `${grade(one.expectation)} (${grade(one.low)}–${grade(one.high)})`;
