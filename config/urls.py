"""Root of all addresses: each app's own url file is mounted here.

/healthz, /readyz and /metrics are answered before urls are looked at: config/middleware.py.
"""

from django.urls.resolvers import URLPattern, URLResolver

urlpatterns: list[URLPattern | URLResolver] = []
