"""Structured logs: one JSON object a line (or coloured text), with request and organization ids."""

import logging
import logging.config
import re
import time
from collections.abc import Callable
from typing import Any, Final
from uuid import uuid4

import structlog
from django.http import HttpRequest, HttpResponse

REQUEST_ID_HEADER: Final = "X-Request-ID"
# What a client may hand us as its id: it ends up in logs, so nothing that could forge a line.
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:-]{8,128}")
_QUIET_PATHS: Final = frozenset({"/healthz", "/readyz", "/metrics"})

_SHARED: Final[list[Any]] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]

logger = structlog.get_logger("apportion.request")


def logging_settings(*, level: str, style: str) -> dict[str, Any]:
    """The dict for `logging.config`: everything to stderr, in one format."""
    renderer: list[Any] = (
        [structlog.dev.ConsoleRenderer(colors=False)]
        if style == "console"
        else [structlog.processors.dict_tracebacks, structlog.processors.JSONRenderer()]
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "structured": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": [*_SHARED, structlog.stdlib.ExtraAdder()],
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    *renderer,
                ],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
        "root": {"handlers": ["stderr"], "level": level.upper()},
        "loggers": {
            # The request line below says the same, with ids.
            "django.server": {"handlers": [], "propagate": False},
            "django.request": {"level": "ERROR"},
        },
    }


def configure(settings: dict[str, Any]) -> None:
    """Set up both the standard library's logging and structlog (Django's LOGGING_CONFIG)."""
    logging.config.dictConfig(settings)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.processors.StackInfoRenderer(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def bind_organization(organization_id: object) -> None:
    """Put the organization into every later log line of this request or task."""
    structlog.contextvars.bind_contextvars(organization_id=str(organization_id))


class RequestContextMiddleware:
    """Give each request an id, return it as X-Request-ID, and log one line when it is answered.

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
        response = self.get_response(request)
        response[REQUEST_ID_HEADER] = request_id
        if request.path not in _QUIET_PATHS:
            logger.info(
                "request",
                method=request.method,
                path=request.path,
                status=response.status_code,
                milliseconds=round((time.perf_counter() - started) * 1000, 1),
            )
        structlog.contextvars.clear_contextvars()
        return response
