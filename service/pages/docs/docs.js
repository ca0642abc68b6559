// All operations of the service, to read and to try: Swagger UI on /openapi.json, after signing in if necessary.

import { session } from "../api.js";
import { openEntrance } from "../entrance.js";
import { byId, onThemeChange, switchThemes } from "../page.js";

async function enter() {
  const caller = await session();
  byId("entrance").hidden = caller !== null;
  if (!caller) return byId("token").focus();
  byId("leave").hidden = caller.open;
  globalThis.SwaggerUIBundle({
    url: "/openapi.json",
    domNode: byId("operations"),
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    docExpansion: "list",
    tryItOutEnabled: true,
    validatorUrl: null, // a validator would send requests to another host
  });
}

/** Swagger UI switches to its dark theme by a class. */
function darken() {
  const chosen = document.documentElement.dataset.theme;
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.classList.toggle("dark-mode", dark);
}

openEntrance();
switchThemes(byId("theme"));
darken();
onThemeChange(darken);
enter().catch((error) => {
  byId("trouble").textContent = `${error.message}.`;
  byId("trouble").hidden = false;
});
