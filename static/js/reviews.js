// The inbox by keyboard: a approve, l less, q ask, x reject, space select. Moving (j, k) and opening
// (Enter) are keyboard.js's. Everything here is also a link, a checkbox or a button.
(function () {
  "use strict";
  const PLACE = "reviews-place";

  function enabled() {
    try {
      return localStorage.getItem("keys") !== "off";
    } catch {
      return true;
    }
  }

  function rows() {
    return [...document.querySelectorAll("[data-reviews] > li")];
  }

  function current() {
    return rows().find((row) => row.classList.contains("current")) || null;
  }

  function dialog() {
    return document.getElementById("decide-dialog");
  }

  // The panel is asked for as a part of its page; where that fails, the page itself is opened.
  async function decide(link) {
    const box = dialog();
    if (!box) {
      link.click();
      return;
    }
    remember(link.closest("li"));
    try {
      const answer = await fetch(link.href, {
        headers: { "HX-Request": "true", "HX-Target": "panel" },
      });
      if (!answer.ok) throw new Error(String(answer.status));
      fill(box, await answer.text());
    } catch {
      window.location.assign(link.href);
      return;
    }
    box.showModal();
    focusIn(box);
  }

  // Where nothing has to be typed, Enter decides; else the cursor is where it has to be.
  function focusIn(box) {
    const what = box.querySelector("input[name=what]:checked")?.value;
    const wanted = { approve: "button.btn-primary", less: "[name=units], [name=ends_at]" };
    box.querySelector(wanted[what] || "[name=reason]")?.focus();
  }

  // What is wrong is said in the panel, where one types. What went well leads back to the inbox;
  // the answer is not followed here, or the page that comes next would not say what was done.
  async function send(form, box) {
    const button = form.querySelector("button.btn-primary");
    if (button.disabled) return;
    button.disabled = true;
    try {
      const answer = await fetch(form.action, {
        method: "POST",
        body: new FormData(form),
        headers: { "HX-Request": "true", "HX-Target": "panel" },
        redirect: "manual",
      });
      if (answer.type === "opaqueredirect") {
        window.location.assign(form.elements.back.value || window.location.href);
        return;
      }
      if (![400, 409].includes(answer.status)) throw new Error(String(answer.status));
      fill(box, await answer.text());
      (
        box.querySelector("[aria-invalid=true]") ||
        box.querySelector("[role=alert]") ||
        box.querySelector("[data-leave]")
      )?.focus();
    } catch {
      // The page says what the panel cannot. The key of the form keeps it from acting twice.
      form.submit();
    }
  }

  function fill(box, text) {
    const part = new DOMParser().parseFromString(text, "text/html");
    box.querySelector("[data-dialog-body]").replaceChildren(...part.body.childNodes);
  }

  document.addEventListener("submit", function (event) {
    const box = event.target.closest("#decide-dialog");
    if (!box) return;
    event.preventDefault();
    send(event.target, box);
  });

  // After a decision the page comes back: the next request is where the last one was.
  function remember(row) {
    try {
      sessionStorage.setItem(PLACE, String(rows().indexOf(row)));
    } catch {
      // without storage one starts at the top again
    }
  }

  document.addEventListener("DOMContentLoaded", function () {
    let place = null;
    try {
      place = sessionStorage.getItem(PLACE);
      sessionStorage.removeItem(PLACE);
    } catch {
      return;
    }
    const all = rows();
    if (place === null || !all.length) return;
    const row = all[Math.min(Number(place), all.length - 1)];
    row.classList.add("current");
    row.querySelector("a[href]")?.focus();
  });

  document.addEventListener("click", function (event) {
    const link = event.target.closest("[data-act]");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey && dialog()) {
      event.preventDefault();
      decide(link);
      return;
    }
    const leave = event.target.closest("[data-leave]");
    if (leave?.closest("dialog")) {
      event.preventDefault();
      leave.closest("dialog").close();
    }
  });

  // Which fields belong to which choice is the style sheet's; choosing moves nothing.
  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !enabled()) return;
    if (event.target.closest("input, select, textarea, [contenteditable], dialog, .dropdown-menu")) {
      return;
    }
    const panel = document.querySelector("main [data-decide] form");
    if (panel && !document.querySelector("[data-reviews]")) {
      choose(panel, event);
      return;
    }
    const row = current();
    if (!row) return;
    if (event.key === " ") {
      const box = row.querySelector("input[type=checkbox]");
      event.preventDefault();
      box.checked = !box.checked;
      const status = document.getElementById("status");
      if (status) status.textContent = box.checked ? "Selected" : "No longer selected";
    } else if (["a", "l", "q", "x"].includes(event.key)) {
      const link = row.querySelector(`[data-act="${event.key}"]`);
      event.preventDefault();
      decide(link);
    }
  });

  // On the page of one request the same keys choose; deciding is the button's.
  function choose(form, event) {
    const ways = { a: "approve", l: "less", q: "ask", x: "reject" };
    const radio = form.querySelector(`input[name=what][value="${ways[event.key]}"]`);
    if (!radio) return;
    event.preventDefault();
    radio.checked = true;
    form.scrollIntoView({ block: "nearest" });
    focusIn(form);
  }
})();
