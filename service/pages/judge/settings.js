// What the address asks of the page: /judge/demo?batch=20&listen=5&break=30&ask=both

const NUMBERS = {
  batch: { usual: 20, least: 1, most: 100 }, // pairs between two stops
  listen: { usual: 5, least: 0, most: 600 }, // seconds of each clip to be heard before a grade counts
  break: { usual: 30, least: 0.01, most: 600 }, // minutes until a break is suggested
};
const ASKED = ["fine", "broad", "both"];

/** The settings in an address's query; what is not a number in range is as if it were not there. */
export function readSettings(search) {
  const given = new URLSearchParams(search);
  const settings = { ask: ASKED.includes(given.get("ask")) ? given.get("ask") : null };
  for (const [name, { usual, least, most }] of Object.entries(NUMBERS)) {
    const value = Number.parseFloat(given.get(name) ?? "");
    settings[name] = value >= least && value <= most ? value : usual;
  }
  settings.batch = Math.round(settings.batch);
  return settings;
}
