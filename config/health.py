"""Probes for load balancers and orchestrators."""

from collections.abc import Callable

from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config.cache import OUTAGES

# Once seen complete, migrations cannot become undone under a running process.
_migrations_seen_complete = False


@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """The process is up and answers; says nothing about what it depends on."""
    return HttpResponse("ok\n", content_type="text/plain")


@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Ready for traffic: the database answers and no migration is missing.

    Whether Redis answers is told beside it. Without it requests are answered all the same, so it
    must not take every web process out of a load balancer's rotation at once.
    """
    checks: dict[str, Callable[[], str | None]] = {
        "database": _database_problem,
        "migrations": _migrations_problem,
        "redis": _redis_problem,
    }
    results = {}
    for name, problem in checks.items():
        results[name] = problem() or "ok"
    ready = all(results[name] == "ok" for name in ("database", "migrations"))
    return JsonResponse({"ready": ready, "checks": results}, status=200 if ready else 503)


def _database_problem() -> str | None:
    try:
        with connections["default"].cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        # Addresses and user names in the error are not for whoever asks.
        return "unreachable"
    return None


def _migrations_problem() -> str | None:
    global _migrations_seen_complete
    if _migrations_seen_complete:
        return None
    try:
        # A plan asks the router, which migrates on `owner` only; the table itself is readable.
        executor = MigrationExecutor(connections["default"])
        missing = set(executor.loader.graph.nodes) - set(executor.loader.applied_migrations)
    except DatabaseError:
        return "unreachable"
    if missing:
        return f"{len(missing)} not applied"
    _migrations_seen_complete = True
    return None


def _redis_problem() -> str | None:
    if settings.TEST:
        return None
    try:
        cache.ping()
    except OUTAGES:
        return "unreachable"
    return None
