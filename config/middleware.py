"""What happens around every request: an id, one log line, the counters."""

import re
import time
from collections.abc import Callable
from typing import Final
from uuid import uuid4

import structlog
from django.http import HttpRequest, HttpResponse

from config import health, metrics

REQUEST_ID_HEADER: Final = "X-Request-ID"
# What a client may hand us as its id: it ends up in logs, so nothing that could forge a line.
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:-]{8,128}")
# Answered here and not by url: load balancers and scrapers come by address, without TLS, and the
# host check and the https redirect further in would send them away. They are not logged either.
PROBES: Final[dict[str, Callable[[HttpRequest], HttpResponse]]] = {
    "/healthz": health.healthz,
    "/readyz": health.readyz,
    "/metrics": metrics.metrics,
}

logger = structlog.get_logger("apportion.request")


class RequestContextMiddleware:
    """Give each request an id (X-Request-ID), count it, and log one line when it is answered.

    django-structlog's middleware logs twice a request and loads the user to do so; for a
    scheduler that asks thousands of times a minute that is the larger part of the work.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get(REQUEST_ID_HEADER, "")
        request_id = given if _REQUEST_ID.fullmatch(given) else str(uuid4())
        request.request_id = request_id  # type: ignore[attr-defined]  # read by config/problems.py
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        started = time.perf_counter()
        probe = PROBES.get(request.path)
        response = probe(request) if probe else self.get_response(request)
        response[REQUEST_ID_HEADER] = request_id
        seconds = time.perf_counter() - started
        match = request.resolver_match
        route = request.path if probe else "/" + match.route if match else "unmatched"
        metrics.observe_request(
            method=request.method, route=route, status=response.status_code, seconds=seconds
        )
        if not probe:
            logger.info(
                "request",
                method=request.method,
                path=request.path,
                status=response.status_code,
                milliseconds=round(seconds * 1000, 1),
            )
        structlog.contextvars.clear_contextvars()
        return response
