// Keeps the focus where the page is drawn anew: what takes the place of an element that had it gets it.

/** Pass the focus on from an element that is replaced to the one like it, in the same row if it was in one. */
export function keepFocus() {
  /** @type {HTMLElement | null} */
  let had = null;
  /** @type {Node | null} */
  let place = null; // that element, or what remains of the page around it once it is removed
  document.addEventListener("focusin", ({ target }) => {
    place = had = target instanceof HTMLElement ? target : null;
  });
  document.addEventListener("focusout", ({ target }) => {
    // What was left for something else keeps nothing; what is being removed is no longer there when this runs.
    queueMicrotask(() => {
      if (had === target && had?.isConnected) had = null;
    });
  });
  new MutationObserver((changes) => {
    for (const { removedNodes, target } of changes) if ([...removedNodes].some((node) => node.contains(place))) place = target;
    if (!had || had.isConnected || document.activeElement !== document.body || !(place instanceof Element)) return;
    const lost = identities(had);
    const there = [...place.querySelectorAll(had.localName)].filter((one) => one instanceof HTMLElement);
    const alike = lost.map((identity, number) => there.filter((one) => identities(one)[number] === identity));
    alike.find((found) => found.length === 1)?.[0].focus({ preventScroll: true });
  }).observe(document.body, { childList: true, subtree: true });
}

/** Marks that tell an element from all others of its kind: a key, or its words, or where it leads, in a row of a table. */
function identities(one) {
  const row = one.closest("tr")?.cells[0]?.textContent;
  const [words, address] = [one.textContent, one.getAttribute("href")];
  return one.dataset.key ? [one.dataset.key] : [JSON.stringify([row, words, one.ariaLabel, address]), JSON.stringify([row, address ?? words])];
}
