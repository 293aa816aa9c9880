// A quota review by keyboard: 1 keep, 2 take the recommended figure, 3 set another, 4 ask. Moving
// (j, k) and opening (Enter) are keyboard.js's. Everything here is also a button, a field or a link.
(function () {
  "use strict";
  const waiting = []; // keys pressed before the answer of the row before has come
  let next = -1; // the row whose answer is on its way

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

  function act(key) {
    const row = rows().find((one) => one.classList.contains("current"));
    const wanted = row?.querySelector(`[data-cycle-key="${key}"]`);
    if (!wanted) return false;
    if (wanted.matches("input")) {
      wanted.focus();
      wanted.select();
    } else {
      wanted.click();
    }
    return true;
  }

  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !enabled()) return;
    if (event.target.closest("input, select, textarea, [contenteditable], dialog, .dropdown-menu")) {
      return;
    }
    if (!["1", "2", "3", "4"].includes(event.key)) return;
    if (next >= 0) {
      // The answer of the row before is on its way: this key is meant for the row after it.
      // What follows a 3 is a number that is being typed: no decision.
      event.preventDefault();
      if (!["3", "4"].includes(waiting.at(-1))) waiting.push(event.key);
    } else if (act(event.key)) {
      event.preventDefault();
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
    if (row) next = rows().indexOf(row);
  });
  document.addEventListener("htmx:afterSettle", function (event) {
    if (next < 0 || !event.detail.elt.matches?.("[data-cycle] > li")) return;
    const refused = event.detail.elt.querySelector("[role=alert]");
    const isLast = next >= rows().length - 1;
    show(refused ? next : next + 1);
    next = -1;
    if (refused || isLast) waiting.length = 0;
    else if (waiting.length) act(waiting.shift());
  });
  for (const failed of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(failed, function () {
      next = -1;
      waiting.length = 0;
    });
  }
})();
