// Work that may fail, with the error on the page.

import { byId } from "../page.js";

/**
 * Runs work; its error is shown in an element, which is otherwise empty and hidden.
 *
 * A mere `refresh` of the page keeps the error of the last action.
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
