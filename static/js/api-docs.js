"use strict";
// The API's documentation by Swagger UI, without anything from elsewhere.
// A session's requests carry the CSRF token; a bearer token, once given, decides alone.

const root = document.documentElement;
const place = document.getElementById("api-docs");

// Swagger UI has a dark look of its own; it follows the theme chosen on the other pages.
function followTheme() {
  root.classList.toggle("dark-mode", root.dataset.bsTheme === "dark");
}
followTheme();
document.addEventListener("apportion:theme", followTheme);

function csrfToken() {
  const found = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/);
  return found ? decodeURIComponent(found[1]) : "";
}

window.SwaggerUIBundle({
  url: place.dataset.schema,
  domNode: place,
  deepLinking: true,
  validatorUrl: null,
  // With every list open, Swagger UI gives up after the third, from about 130 operations on.
  docExpansion: "none",
  defaultModelsExpandDepth: 0,
  requestInterceptor(request) {
    if (!["GET", "HEAD"].includes(request.method)) request.headers["X-CSRFToken"] = csrfToken();
    return request;
  },
});
