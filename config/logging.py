"""Structured logs: one JSON object a line (or coloured text), with request and organization ids."""

import logging
import logging.config
from typing import Any, Final

import structlog
from structlog.dev import plain_traceback
from structlog.processors import ExceptionRenderer
from structlog.tracebacks import ExceptionDictTransformer

_SHARED: Final[list[Any]] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]

# Local variables hold passwords and tokens; structlog and rich would print them.
_TRACEBACK: Final = ExceptionDictTransformer(show_locals=False)


def logging_settings(*, level: str, style: str) -> dict[str, Any]:
    """The dict for `logging.config`: everything to stderr, in one format."""
    renderer: list[Any] = (
        [structlog.dev.ConsoleRenderer(colors=False, exception_formatter=plain_traceback)]
        if style == "console"
        else [ExceptionRenderer(_TRACEBACK), structlog.processors.JSONRenderer()]
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
            # Lines about tasks come with ids from django-structlog.
            "celery.worker.strategy": {"level": "WARNING"},
            "celery.app.trace": {"level": "WARNING"},
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
