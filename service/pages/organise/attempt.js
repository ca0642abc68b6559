// Work that may fail, with the error on the page.

import { byId } from "../page.js";

/** Runs work; its error is shown in an element, which is empty and hidden while there is none. */
export function attempting(id) {
  const trouble = byId(id);
  return async (work) => {
    trouble.hidden = true;
    try {
      await work();
    } catch (error) {
      trouble.textContent = `${error.message}.`;
      trouble.hidden = false;
    }
  };
}
