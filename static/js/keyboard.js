// Keys: / search, ? help, g then a letter to go, j and k through rows, Enter opens.
// Single keys can be switched off in the help dialog (WCAG 2.1.4).
(function () {
  "use strict";
  const GOTO_MS = 1200;
  let waiting = 0;
  let row = -1;

  function enabled() {
    try {
      return localStorage.getItem("keys") !== "off";
    } catch {
      return true;
    }
  }

  function typing(target) {
    return target.closest("input, select, textarea, [contenteditable], dialog, .dropdown-menu");
  }

  function rows() {
    return [...document.querySelectorAll("[data-rows] tbody tr, ol[data-rows] > li")];
  }

  function move(step) {
    const all = rows();
    if (!all.length) return;
    // Another script may have moved on: after a decision, say.
    row = Math.max(row, all.findIndex((one) => one.classList.contains("current")));
    row = Math.min(Math.max(row + step, 0), all.length - 1);
    all.forEach((one, index) => one.classList.toggle("current", index === row));
    // Links only: a button in a row acts, and Enter must open, never revoke or rotate.
    const link = all[row].querySelector("a[href]");
    if (!link) all[row].tabIndex = -1;
    (link || all[row]).focus({ preventScroll: true });
    all[row].scrollIntoView({ block: "nearest" });
  }

  function help() {
    return document.getElementById("keys-help");
  }

  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || !enabled()) return;
    if (performance.now() < waiting) {
      waiting = 0;
      const link = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
      if (link) {
        event.preventDefault();
        link.click();
      }
      return;
    }
    if (event.key === "/") {
      event.preventDefault();
      document.getElementById("search")?.focus();
    } else if (event.key === "?") {
      help()?.showModal();
    } else if (event.key === "g") {
      waiting = performance.now() + GOTO_MS;
    } else if (event.key === "j") {
      move(1);
    } else if (event.key === "k") {
      move(-1);
    }
  });

  document.addEventListener("click", function (event) {
    if (event.target.closest("[data-open-keys]")) help()?.showModal();
    if (event.target.closest("[data-close-dialog]")) event.target.closest("dialog").close();
  });

  document.addEventListener("DOMContentLoaded", function () {
    const box = document.getElementById("keys-on");
    if (!box) return;
    box.checked = enabled();
    box.addEventListener("change", function () {
      try {
        localStorage.setItem("keys", box.checked ? "on" : "off");
      } catch {
        box.checked = true; // without storage the choice cannot be kept
      }
    });
  });

  document.addEventListener("htmx:afterSettle", () => (row = -1));
})();
