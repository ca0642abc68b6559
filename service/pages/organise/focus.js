// Keeps the focus where the page is drawn anew: what takes the place of an element that had it gets it.

/** Pass the focus on from an element that is replaced to the one like it, in the same row if it was in one. */
export function keepFocus() {
  /** @type {HTMLElement | null} */
  let had = null;
  document.addEventListener("focusin", ({ target }) => {
    had = target instanceof HTMLElement ? target : null;
  });
  document.addEventListener("focusout", ({ target }) => {
    // What was left for something else keeps nothing; what is being removed is no longer there when this runs.
    queueMicrotask(() => {
      if (had === target && had?.isConnected) had = null;
    });
  });
  new MutationObserver(() => {
    if (!had || had.isConnected || document.activeElement !== document.body) return;
    const lost = identities(had);
    const there = [...document.body.querySelectorAll(had.localName)].filter((one) => one instanceof HTMLElement);
    const alike = lost.map((identity, place) => there.filter((one) => identities(one)[place] === identity));
    alike.find((found) => found.length === 1)?.[0].focus({ preventScroll: true });
  }).observe(document.body, { childList: true, subtree: true });
}

/** Marks that tell an element from all others of its kind: a key, or its words, or where it leads, in a row of a table. */
function identities(one) {
  const row = one.closest("tr")?.cells[0]?.textContent;
  const [words, address] = [one.textContent, one.getAttribute("href")];
  return one.dataset.key ? [one.dataset.key] : [JSON.stringify([row, words, one.ariaLabel, address]), JSON.stringify([row, address ?? words])];
}
