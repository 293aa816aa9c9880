"""Every refusal over REST as RFC 9457 `application/problem+json`; the only place that words it.

    {"type": "/api/problems#scope_missing", "title": "Scope missing", "status": 403,
     "detail": "This token lacks the scope usage:write. ...", "instance": "/api/v1/usage",
     "code": "scope_missing", "request_id": "...", "errors": [], "permission": "usage:write"}

`errors` names each place at fault with its own code and sentence; what else a refusal knows
(`limit`, `short_by`) stands beside it under its own name.
"""

import sys
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

import msgspec
import psycopg
from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views import defaults
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from rest_framework import exceptions

from config import problem_codes
from ledger.errors import DomainError

CONTENT_TYPE = "application/problem+json"
TYPE_PREFIX = "/api/problems#"
API_PREFIX = "/api/"
# The database cannot be reached, closed the connection, or gave up on locks: it may work again.
OUTAGES = (OperationalError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError)
RETRY_SECONDS = 5
_OWN_MEMBERS = frozenset(
    {"type", "title", "status", "detail", "instance", "code", "request_id", "errors"}
)
# DRF's and Django's words for what our own errors call otherwise.
_CODES = {
    "error": "internal_error",
    "parse_error": "malformed_body",
    "authentication_failed": "token_unknown",
    "permission_denied": "not_allowed",
    "unsupported_media_type": "content_type_unsupported",
    "not_acceptable": "accept_unsupported",
    "throttled": "too_many_requests",
    "invalid": "input_invalid",
}


def problem(
    request: HttpRequest,
    *,
    status: int,
    code: str,
    detail: str,
    errors: Iterable[Mapping[str, Any]] = (),
    facts: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """One problem document. `facts` never replace a member that RFC 9457 or we define."""
    body = {
        "type": TYPE_PREFIX + code,
        "title": code.replace("_", " ").capitalize(),
        "status": status,
        "detail": detail,
        "instance": request.path,
        "code": code,
        "request_id": getattr(request, "request_id", None),
        "errors": list(errors),
    }
    body |= {name: value for name, value in (facts or {}).items() if name not in _OWN_MEMBERS}
    response = HttpResponse(msgspec.json.encode(body), status=status, content_type=CONTENT_TYPE)
    response["Cache-Control"] = "no-store"
    for name, value in (headers or {}).items():
        response[name] = value
    return response


def answer(error: Exception, request: HttpRequest) -> HttpResponse | None:
    """The problem an exception stands for; None for one that nobody foresaw."""
    if isinstance(error, DomainError):
        return _of_domain(error, request)
    if isinstance(error, exceptions.APIException):
        return _of_framework(error, request)
    if isinstance(error, Http404):
        return not_found(request)
    if isinstance(error, PermissionDenied):
        return problem(request, status=403, code="not_allowed", detail="You may not do this.")
    if isinstance(error, (BadRequest, SuspiciousOperation)):
        return problem(
            request, status=400, code="bad_request", detail="The request cannot be understood."
        )
    return None


def exception_handler(error: Exception, context: Mapping[str, Any]) -> HttpResponse | None:
    """For views of the REST framework that do not use `config.api.operation`."""
    return answer(error, context["request"])


def not_found(request: HttpRequest) -> HttpResponse:
    """No such address."""
    return problem(
        request,
        status=404,
        code="address_unknown",
        detail="There is nothing at this address. /api/v1/schema lists what there is.",
    )


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """What the codes mean: where each problem's `type` leads."""
    codes = sorted(problem_codes.REQUESTS.items())
    return render(
        request,
        "problems.html",
        {
            "requests": [(code, status, meaning) for code, (status, meaning) in codes],
            "items": sorted(problem_codes.ITEMS.items()),
        },
    )


@csrf_exempt
def unknown_address(request: HttpRequest) -> HttpResponse:
    """The view of every address under /api/ that no operation has."""
    return not_found(request)


def place(field: str | None, request: HttpRequest) -> dict[str, str] | None:
    """Where a fault is: a header, a query parameter, or a JSON pointer into the body."""
    if field is None:
        return None
    if field == "Idempotency-Key":
        return {"header": field}
    if request.method in ("GET", "HEAD") or field in request.GET:
        return {"parameter": field}
    path = field.lstrip("#/").replace(".", "/")
    return {"pointer": f"#/{path}" if path else "#"}


def _of_domain(error: DomainError, request: HttpRequest) -> HttpResponse:
    where = place(error.field, request)
    errors = [where | {"code": error.code, "detail": error.detail}] if where else []
    headers = {}
    if error.code == "scope_missing":
        scope = error.facts.get("permission", "")
        headers["WWW-Authenticate"] = f'Bearer error="insufficient_scope", scope="{scope}"'
    return problem(
        request,
        status=error.status,
        code=error.code,
        detail=error.detail,
        errors=errors,
        facts=error.facts,
        headers=headers,
    )


def _of_framework(error: exceptions.APIException, request: HttpRequest) -> HttpResponse:
    status = error.status_code
    code, detail, headers = _code(error), _sentence(error), {}
    if isinstance(error, exceptions.NotAuthenticated):
        status, code = 401, "not_authenticated"
        detail = "Send `Authorization: Bearer <token>`, or sign in."
        headers["WWW-Authenticate"] = "Bearer"
    elif status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = 'Bearer error="invalid_token"'
    wait = getattr(error, "wait", None)
    if wait is not None:
        headers["Retry-After"] = str(max(1, round(wait)))
    return problem(
        request,
        status=status,
        code=code,
        detail=detail,
        errors=_field_errors(error, request),
        headers=headers,
    )


def _code(error: exceptions.APIException) -> str:
    codes = error.get_codes()
    code = codes if isinstance(codes, str) else error.default_code
    return _CODES.get(code, code)


def _sentence(error: exceptions.APIException) -> str:
    detail = error.detail
    return str(detail) if isinstance(detail, str) else "Some values cannot be used; see `errors`."


def _field_errors(error: exceptions.APIException, request: HttpRequest) -> list[dict[str, str]]:
    """Leaves of a nested serializer error, each with its pointer."""
    if isinstance(error.detail, str):
        return []
    found: list[dict[str, str]] = []
    pending: list[tuple[tuple[str, ...], Any]] = [((), error.detail)]
    while pending:
        path, value = pending.pop(0)
        if isinstance(value, dict):
            pending += [((*path, str(name)), inner) for name, inner in value.items()]
        elif isinstance(value, list):
            nested = any(not isinstance(item, str) for item in value)
            pending += [((*path, str(n)) if nested else path, item) for n, item in enumerate(value)]
        else:
            where = place("/".join(path), request) or {"pointer": "#"}
            found.append(where | {"code": value.code, "detail": str(value)})
    return found


# ---------------------------------------------------------------- handlers of the url root
# Pages keep Django's own handlers; whoever asks under /api/ gets a problem whatever happens.


def handler400(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A request Django itself could not accept: too large, malformed, a forged host."""
    if not request.path.startswith(API_PREFIX):
        return defaults.bad_request(request, exception)
    found = answer(exception, request)
    return found or problem(
        request, status=400, code="bad_request", detail="The request cannot be understood."
    )


def handler403(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Refused outside of any operation."""
    if not request.path.startswith(API_PREFIX):
        return defaults.permission_denied(request, exception)
    return problem(request, status=403, code="not_allowed", detail="You may not do this.")


def handler404(request: HttpRequest, exception: Exception) -> HttpResponse:
    """No such address."""
    if not request.path.startswith(API_PREFIX):
        return defaults.page_not_found(request, exception)
    return not_found(request)


def handler500(request: HttpRequest) -> HttpResponse:
    """Our fault, or the database's absence. The log holds the rest under the same request id."""
    # Django calls this while it handles the exception.
    away = isinstance(sys.exc_info()[1], OUTAGES)
    if not request.path.startswith(API_PREFIX):
        response = defaults.server_error(request)
        if away:
            response.status_code = HTTPStatus.SERVICE_UNAVAILABLE
            response["Retry-After"] = str(RETRY_SECONDS)
        return response
    if away:
        return problem(
            request,
            status=HTTPStatus.SERVICE_UNAVAILABLE,
            code="unavailable",
            detail="The database does not answer just now. What was being stored is stored "
            "completely or not at all; repeat the request with the same Idempotency-Key.",
            headers={"Retry-After": str(RETRY_SECONDS)},
        )
    return problem(
        request,
        status=500,
        code="internal_error",
        detail="Something failed on our side and was logged under this request id. What was "
        "being stored is stored completely or not at all; repeat the request with the same "
        "Idempotency-Key to be safe.",
    )
