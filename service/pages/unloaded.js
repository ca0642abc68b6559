// Runs before the pages' modules: reports a module that does not load, which no module could do.
(() => {
  const LATE_MS = 20_000;

  /** A message in the language of the page; see language.js, which is a module. */
  function t(message) {
    return JSON.parse(document.documentElement.dataset.messages || "{}")[message] ?? message;
  }

  function say(text) {
    if (document.getElementById("unloaded")) return;
    const note = document.createElement("p");
    const button = document.createElement("button");
    Object.assign(note, { id: "unloaded", className: "note bad", textContent: `${text} ` });
    note.setAttribute("role", "alert");
    Object.assign(button, { type: "button", textContent: t("Reload the page") });
    button.addEventListener("click", () => location.reload());
    note.append(button);
    document.querySelector("main").prepend(note);
  }

  const whenParsed = (act) => (document.readyState === "loading" ? addEventListener("DOMContentLoaded", act) : act());
  const failed = (event) => {
    const module = event.target?.type === "module" || (event instanceof ErrorEvent && !("loaded" in document.documentElement.dataset));
    if (module) whenParsed(() => say(t("Part of this page did not load. Check your connection.")));
  };
  addEventListener("error", failed, true); // captured, because load errors do not bubble
  setTimeout(() => {
    if (!("loaded" in document.documentElement.dataset)) say(t("This page is slow to load."));
  }, LATE_MS);
})();
