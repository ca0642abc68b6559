// Work that may fail, with the error on the page.

import { byId } from "../page.js";

/**
 * Runs work; its error is shown in an element, which is empty and hidden while there is none.
 *
 * A mere `refresh` of the page leaves the error of what somebody did there.
 */
export function attempting(id) {
  const trouble = byId(id);
  let ofRefresh = false;
  return async (work, refresh = false) => {
    if (!refresh || ofRefresh) trouble.hidden = true;
    try {
      await work();
    } catch (error) {
      ofRefresh = refresh;
      trouble.textContent = `${error.message}.`;
      trouble.hidden = false;
    }
  };
}
