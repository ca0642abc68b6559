// Live changes of a campaign; reconnects by itself.

import { session } from "../api.js";

const PAUSES_MS = [500, 1000, 2000, 4000, 8000];

/**
 * Follow the server-sent events of an address.
 *
 * change   called with each change; the first is the campaign's present state
 * state    called with "live" or "reconnecting"
 * stopped  called when the service no longer accepts the caller's token; nothing follows
 */
export function follow(path, { change, state, stopped }) {
  let failures = 0;
  let timer = 0;

  function connect() {
    clearTimeout(timer);
    const source = new EventSource(path);
    source.addEventListener("open", () => {
      failures = 0;
      state("live");
    });
    source.addEventListener("change", (event) => change(JSON.parse(event.data)));
    source.addEventListener("error", () => {
      source.close();
      state("reconnecting");
      timer = setTimeout(again, PAUSES_MS[Math.min(failures++, PAUSES_MS.length - 1)]);
    });
  }

  async function again() {
    const known = await session().catch(() => undefined);
    if (known === null) stopped();
    else connect();
  }

  addEventListener("online", () => {
    if (failures) connect();
  });
  connect();
}
