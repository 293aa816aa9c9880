"""Root of all addresses: each app's own url file is mounted here.

/healthz, /readyz and /metrics are answered before urls are looked at: config/middleware.py.
"""

from django.urls import include, path, re_path
from django.urls.resolvers import URLPattern, URLResolver

from config import problems
from config.api import docs_page

handler400 = problems.handler400
handler403 = problems.handler403
handler404 = problems.handler404
handler500 = problems.handler500

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", include("config.api_urls")),
    path("api/docs", docs_page.page, name="api-docs"),
    path("api/problems", problems.page, name="problems"),
    # What is left under /api/ is unknown, also in debug mode, whatever the method.
    re_path(r"^api/", problems.unknown_address),
    path("", include("frontend.urls")),
]
