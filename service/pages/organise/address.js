// Addresses of the views behind a row of the ranking: #system=A, #system=A&query=q1, #a=A&b=B, each with &aspect=form.

/** Read the page's address: a view with its names, a tab, or only an aspect of the ranking. */
export function readAddress() {
  const said = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  const [system, query, a, b] = ["system", "query", "a", "b"].map((name) => said.get(name));
  const aspect = said.get("aspect") ?? "";
  if (system !== null) return { view: query === null ? "system" : "query", system, query, aspect };
  if (a !== null && b !== null) return { view: "two", a, b, aspect };
  return { view: "", aspect };
}

/** The address of a view, for links; empty names are left out. */
export function addressOf(names) {
  const kept = Object.entries(names).filter(([name, value]) => ["system", "query", "a", "b", "aspect"].includes(name) && value !== null && value !== "");
  return kept.length ? `#${new URLSearchParams(kept)}` : "#ranking";
}
