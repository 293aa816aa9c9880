// Before the first paint: the theme that was chosen, or the system's. Loaded in <head>, blocking.
(function () {
  "use strict";
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");

  function chosen() {
    try {
      return localStorage.getItem("theme") || "auto";
    } catch {
      return "auto"; // storage is switched off: the system's theme
    }
  }

  function apply() {
    const theme = chosen();
    root.dataset.bsTheme = theme === "auto" ? (system.matches ? "dark" : "light") : theme;
    root.dataset.themeChoice = theme;
    document.dispatchEvent(new CustomEvent("apportion:theme"));
  }

  root.classList.remove("no-js");
  apply();
  system.addEventListener("change", apply);

  document.addEventListener("DOMContentLoaded", function () {
    function mark() {
      for (const button of document.querySelectorAll("[data-theme-value]")) {
        button.setAttribute("aria-pressed", String(button.dataset.themeValue === chosen()));
      }
    }
    mark();
    document.addEventListener("click", function (event) {
      const button = event.target.closest("[data-theme-value]");
      if (!button) return;
      try {
        localStorage.setItem("theme", button.dataset.themeValue);
      } catch {
        root.dataset.bsTheme = button.dataset.themeValue;
      }
      apply();
      mark();
    });
  });
})();
