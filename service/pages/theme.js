// Runs before the first paint: applies the theme chosen on this device, if any.
(() => {
  const stored = (() => {
    try {
      return localStorage.getItem("audiosim-theme");
    } catch {
      return null; // storage may be forbidden
    }
  })();
  if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
})();
