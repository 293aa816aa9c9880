// What htmx does is said aloud, and what fails is shown in place, never silently.
(function () {
  "use strict";

  function say(text) {
    const place = document.getElementById("status");
    if (place) place.textContent = text;
  }

  function showProblem(event, title, text) {
    const target = event.detail.target || event.detail.elt;
    const template = document.getElementById("problem-template");
    if (!target || !template) return;
    document.getElementById("htmx-problem")?.remove();
    const panel = template.content.firstElementChild.cloneNode(true);
    panel.id = "htmx-problem";
    panel.querySelector("[data-title]").textContent = title;
    panel.querySelector("[data-text]").textContent = text;
    const place = target.closest("table") ? target.closest(".panel") || target : target;
    place.before(panel);
    say(`${title} ${text}`);
  }

  // What refreshes itself says nothing but how far long work is, when that changed, and waits while
  // nobody looks or somebody works in it.
  // (Conditions in hx-trigger would be evaluated as code, which the content policy forbids.)
  const polls = (element) => Boolean(element?.matches?.("[data-poll]"));

  let progress = "";
  function sayProgress(part) {
    const now = part.dataset?.progress || "";
    if (now && now !== progress) say(now);
    progress = now;
  }

  document.addEventListener("htmx:beforeRequest", function (event) {
    const part = event.detail.elt;
    if (!polls(part)) {
      say("Loading");
    } else if (
      document.hidden ||
      part.contains(document.activeElement) ||
      part.querySelector("details[open]")
    ) {
      event.preventDefault();
    }
  });
  document.addEventListener("htmx:afterSettle", function (event) {
    document.getElementById("htmx-problem")?.remove();
    if (polls(event.detail.requestConfig?.elt)) {
      sayProgress(event.detail.elt);
      return;
    }
    const part = event.detail.elt;
    const told = part.matches?.("[data-status]") ? part : part.querySelector?.("[data-status]");
    say(told ? told.dataset.status : "Updated");
  });
  document.addEventListener("htmx:responseError", function (event) {
    const status = event.detail.xhr.status;
    const given = event.detail.xhr.getResponseHeader("X-Problem");
    if (status === 401) {
      window.location.reload(); // signed out meanwhile: the full page leads to sign-in and back
      return;
    }
    const text = given ? decodeURIComponent(given) : `The server answered ${status}. Try again.`;
    showProblem(event, "That did not work.", text);
  });
  document.addEventListener("htmx:sendError", (event) =>
    showProblem(event, "No connection.", "What you see is as of before. Try again in a moment."),
  );
  document.addEventListener("htmx:timeout", (event) =>
    showProblem(event, "No answer in time.", "Try again in a moment."),
  );

  // While the answer to a form is on its way its buttons wait, so that nothing is sent twice.
  function waiting(form, wait) {
    for (const button of form.querySelectorAll("button:not([type=button])")) {
      button.disabled = wait;
    }
    form.toggleAttribute("aria-busy", wait);
  }
  document.addEventListener("submit", function (event) {
    const form = event.target;
    // Disabled in the next turn: the button that was pressed belongs to what is sent.
    if (!event.defaultPrevented) setTimeout(() => waiting(form, true));
  });
  window.addEventListener("pageshow", function (event) {
    if (event.persisted) document.querySelectorAll("form").forEach((form) => waiting(form, false));
    // Back: filters say what the page shows, not what was chosen there before one left it.
    const [way] = performance.getEntriesByType("navigation");
    if (event.persisted || way?.type === "back_forward") {
      document.querySelectorAll("form.filters:not([method=post])").forEach((form) => form.reset());
    }
  });

  // A form or select that applies at once, where a button does it without JavaScript.
  document.addEventListener("change", function (event) {
    if (event.target.matches("[data-submit-on-change]")) event.target.form.requestSubmit();
  });

  document.addEventListener("click", async function (event) {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const text = document.getElementById(button.dataset.copy).textContent;
    try {
      await navigator.clipboard.writeText(text);
      say("Copied");
      button.querySelector("[data-label]").textContent = "Copied";
    } catch {
      say("Copying is not allowed here: select the text and copy it.");
    }
  });

  // "3 minutes ago" goes on counting; the exact instant stays in the title.
  const format = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60]];

  function relative(seconds) {
    for (const [unit, size] of UNITS) {
      if (Math.abs(seconds) >= size) return format.format(Math.round(seconds / size), unit);
    }
    return "just now";
  }

  function tick() {
    if (document.hidden) return;
    for (const place of document.querySelectorAll("time[data-relative]")) {
      const seconds = (Date.parse(place.dateTime) - Date.now()) / 1000;
      if (Math.abs(seconds) < 7 * 86400) place.textContent = relative(seconds);
    }
  }
  document.addEventListener("DOMContentLoaded", () => setInterval(tick, 30000));
})();
