// Settings in the page's address: /judge/demo?batch=20&listen=5&break=30&ask=both

import { t } from "../language.js";

const NUMBERS = {
  batch: { usual: 20, least: 1, most: 100 }, // pairs in a batch
  listen: { usual: null, least: 0, most: 600 }, // seconds to listen to each clip before a grade counts, if more than the campaign requires
  break: { usual: 30, least: 0.01, most: 600 }, // minutes until a break is suggested
};
const NAMES = [...Object.keys(NUMBERS), "ask", "lang"]; // the service checks the values of `ask`

/** The settings in an address's query; `wrong` lists invalid ones with the expected values. */
export function readSettings(search) {
  const given = new URLSearchParams(search);
  const settings = { ask: given.get("ask"), wrong: [] };
  for (const name of new Set(given.keys())) {
    if (!NAMES.includes(name)) settings.wrong.push(t("unknown setting {name}, expected {names}", { name, names: NAMES.join(", ") }));
  }
  for (const [name, { usual, least, most }] of Object.entries(NUMBERS)) {
    const said = given.get(name);
    const value = said === null || said.trim() === "" ? Number.NaN : Number(said);
    const fits = value >= least && value <= most;
    if (said !== null && !fits) settings.wrong.push(t("{name} must be a number from {least} to {most}, got “{said}”", { name, least, most, said }));
    settings[name] = fits ? value : usual;
  }
  settings.batch = Math.round(settings.batch);
  return settings;
}
