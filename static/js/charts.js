// Draws <div data-chart="id of a json_script">. Plotly itself is fetched only where a chart is.
(function () {
  "use strict";
  let loading = null;

  function plotly() {
    loading ||= new Promise(function (resolve, reject) {
      const script = document.createElement("script");
      script.src = document.documentElement.dataset.plotly;
      script.onload = () => resolve(window.Plotly);
      script.onerror = () => reject(new Error("The chart library could not be loaded."));
      document.head.append(script);
    });
    return loading;
  }

  function color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  // Figures name our colors ("--series-0"); here they become those of the theme in use.
  function themed(value) {
    if (typeof value === "string" && value.startsWith("--")) return color(value);
    if (Array.isArray(value)) return value.map(themed);
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, themed(one)]));
    }
    return value;
  }

  const config = {
    displaylogo: false,
    responsive: true,
    modeBarButtonsToRemove: ["lasso2d", "select2d", "zoomIn2d", "zoomOut2d", "autoScale2d"],
  };

  async function draw(place) {
    const source = document.getElementById(place.dataset.chart);
    if (!source) return;
    try {
      const figure = themed(JSON.parse(source.textContent));
      const library = await plotly();
      place.querySelector(".chart-wait")?.remove();
      await library.react(place, figure.data, figure.layout, config);
    } catch (error) {
      place.textContent = `${error.message} The table below has the same numbers.`;
    }
  }

  function drawAll(within) {
    for (const place of within.querySelectorAll("[data-chart]")) draw(place);
  }

  document.addEventListener("DOMContentLoaded", () => drawAll(document));
  document.addEventListener("htmx:afterSettle", (event) => drawAll(event.detail.elt));
  document.addEventListener("apportion:theme", () => drawAll(document));
})();
