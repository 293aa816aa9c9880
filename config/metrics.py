"""/metrics for Prometheus. Labels stay few: a route, never an account, a person or an id."""

import hmac
import os
from typing import Final

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

_LABELS: Final = ("method", "route")
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

REQUESTS: Final = Counter(
    "apportion_http_requests_total", "Requests answered.", (*_LABELS, "status")
)
SECONDS: Final = Histogram(
    "apportion_http_request_seconds",
    "Time from the first middleware to the answer; a streamed body comes after.",
    _LABELS,
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)


def observe_request(*, method: str | None, route: str, status: int, seconds: float) -> None:
    """Count one answered request. `route` is a pattern, not a path: paths have ids in them."""
    # Clients may send any word as a method; each would be a series of its own.
    known = method if method in _METHODS else "other"
    REQUESTS.labels(known, route, status).inc()
    SECONDS.labels(known, route).observe(seconds)


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """All workers' numbers. Needs APPORTION_METRICS_TOKEN as bearer; open only in the demo."""
    token = settings.METRICS_TOKEN
    if not token and not settings.INSECURE_HTTP:
        raise Http404("Set APPORTION_METRICS_TOKEN to use this page.")
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if token and not hmac.compare_digest(given.encode(), token.encode()):
        answer = HttpResponse("A bearer token is needed.\n", status=401, content_type="text/plain")
        answer["WWW-Authenticate"] = 'Bearer realm="metrics"'
        return answer
    registry: CollectorRegistry = REGISTRY
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        registry = CollectorRegistry()
        MultiProcessCollector(registry)
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)
