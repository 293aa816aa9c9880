"""Root of all addresses: the probes here, everything else in the apps' own url files."""

from django.urls import path
from django.urls.resolvers import URLPattern, URLResolver

from config import health, metrics

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", metrics.metrics, name="metrics"),
]
