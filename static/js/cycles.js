// A quota review by keyboard: 1 keep, 2 take the recommended figure, 3 set another, 4 ask. Moving
// (j, k) and opening (Enter) are keyboard.js's. Everything here is also a button, a field or a link.
(function () {
  "use strict";
  let next = -1;

  function enabled() {
    try {
      return localStorage.getItem("keys") !== "off";
    } catch {
      return true;
    }
  }

  function rows() {
    return [...document.querySelectorAll("[data-cycle] > li")];
  }

  function show(index) {
    const all = rows();
    if (!all.length) return;
    const row = all[Math.min(index, all.length - 1)];
    all.forEach((one) => one.classList.toggle("current", one === row));
    row.querySelector("a[href]")?.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !enabled()) return;
    if (event.target.closest("input, select, textarea, [contenteditable], dialog, .dropdown-menu")) {
      return;
    }
    const row = rows().find((one) => one.classList.contains("current"));
    if (!row || !["1", "2", "3", "4"].includes(event.key)) return;
    const wanted = row.querySelector(`[data-cycle-key="${event.key}"]`);
    if (!wanted) return;
    event.preventDefault();
    if (wanted.matches("input")) {
      wanted.focus();
      wanted.select();
    } else {
      wanted.click();
    }
  });

  // Enter in the field of units sets them; without this the first button of the form would act.
  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape" && event.target.matches("[data-cycle] input")) {
      event.target.closest("li").querySelector("a[href]").focus();
    }
    if (event.key !== "Enter" || !event.target.matches("[data-cycle] input[name=units]")) return;
    event.preventDefault();
    event.target.form.querySelector("button[value=set]").click();
  });

  // After a decision the next row is where one goes on; after a refusal, the row itself.
  document.addEventListener("htmx:beforeRequest", function (event) {
    const row = event.detail.elt.closest?.("[data-cycle] > li");
    next = row ? rows().indexOf(row) : -1;
  });
  document.addEventListener("htmx:afterSettle", function (event) {
    if (next < 0 || !event.detail.elt.matches?.("[data-cycle] > li")) return;
    const refused = event.detail.elt.querySelector("[role=alert]");
    show(refused ? next : next + 1);
    next = -1;
  });
})();
