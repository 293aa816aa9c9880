"""The base of every operation over REST: who calls, with what, and how it is answered.

An operation is a view of the REST framework for its schema, but handles plain Django requests
itself: wrapping them, negotiating and rendering would cost more than a priority does. It knows no
app: `config/wiring.py` says who authenticates and who permits.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec
from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework.exceptions import APIException, MethodNotAllowed, NotAcceptable
from rest_framework.views import APIView

from config import problems
from config.api import limits
from ledger import scope
from ledger.errors import DomainError, Invalid
from ledger.execution import Context
from ledger.types import ActorKind

JSON = "application/json"
_EXPECTED = (
    DomainError,
    APIException,
    Http404,
    PermissionDenied,
    SuspiciousOperation,
    BadRequest,
)
_encoder = msgspec.json.Encoder()
_ports: dict[str, Callable[..., Any]] = {}


def connect(**ports: Callable[..., Any]) -> None:
    """Install `authenticate(request)`, `caller(request)` and `authorize(actor, permission,
    account_id, organization_id)`. `config/wiring.py` calls it once."""
    _ports.update(ports)


class Operation(APIView):
    """One address. Subclasses have methods `get` or `post` that return a response.

    Attributes:
        parameters: the query parameters it knows; any other is refused.
        offers: the media types it can answer with, the usual one first.
        limit: the policy of `config.api.limits` that counts its requests.
    """

    versioning_class = None  # the address says v1; there is nothing to determine
    parameters: ClassVar[frozenset[str]] = frozenset()
    offers: ClassVar[tuple[str, ...]] = (JSON,)
    limit: ClassVar[str] = "api"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Authenticate, check what is common to all operations, answer refusals as problems."""
        standing = None
        try:
            self.authenticate(request)
            standing = limits.check(self.limit, str(request.user.pk))
            method = request.method.lower()
            if method not in self.http_method_names or not hasattr(self, method):
                raise MethodNotAllowed(request.method)
            if request.GET:
                _check_parameters(request, self.parameters)
            accept = request.META.get("HTTP_ACCEPT")
            if accept and accept != "*/*" and request.get_preferred_type(self.offers) is None:
                raise NotAcceptable(f"This address answers {', '.join(self.offers)}.")
            response = getattr(self, method)(request, *args, **kwargs)
        except _EXPECTED as error:
            response = problems.answer(error, request)
            if isinstance(error, limits.Refusal):
                standing = error.standing
            if response.status_code == MethodNotAllowed.status_code:
                response["Allow"] = ", ".join(self._allowed_methods())
        if standing is not None:
            limits.declare(response, standing)
        if "Vary" not in response:
            response["Vary"] = "Authorization, Cookie, Accept"
        return response

    def authenticate(self, request: HttpRequest, **how: Any) -> None:
        """Make `request.user` somebody.

        Raises:
            APIException: 401 or 403.
        """
        _ports["authenticate"](request, **how)

    def options(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """What may be done here."""
        return HttpResponse(status=204, headers={"Allow": ", ".join(self._allowed_methods())})

    def caller(self, request: HttpRequest):
        """Who asks (`tenancy.callers.Caller`)."""
        return _ports["caller"](request)

    def require(self, caller, permission: str, account_id=None) -> None:
        """Refuse a caller that lacks the permission on an account (None: on the root).

        Raises:
            Denied: naming the permission.
        """
        where = (caller.actor, permission, account_id, caller.organization_id)
        if caller.actor.kind == ActorKind.TOKEN:
            # A token's scopes are known already: no need of a transaction.
            _ports["authorize"](*where)
            return
        with scope.reading(caller.organization_id):
            _ports["authorize"](*where)

    def context(self, request: HttpRequest, caller) -> Context:
        """The circumstances of a command, with the client's idempotency key."""
        return Context(
            organization_id=caller.organization_id,
            actor=caller.actor,
            idempotency_key=request.META.get("HTTP_IDEMPOTENCY_KEY"),
        )

    def respond(self, value: Any, *, status: int = 200, replayed: bool = False) -> HttpResponse:
        """`value` as JSON: dataclasses, structs, dicts, ids, instants, decimals (as strings)."""
        return self.respond_bytes(_encoder.encode(value), status=status, replayed=replayed)

    def respond_bytes(
        self, body: bytes, *, content_type: str = JSON, status: int = 200, replayed: bool = False
    ) -> HttpResponse:
        """A finished body. Answers depend on who asks and are told for an instant."""
        response = HttpResponse(body, status=status, content_type=content_type)
        response["Cache-Control"] = "private, no-cache"
        if replayed:
            response["Idempotency-Replayed"] = "true"
        return response


def _check_parameters(request: HttpRequest, known: frozenset[str]) -> None:
    unknown = sorted(request.GET.keys() - known)
    if unknown:
        raise Invalid(
            "parameter_unknown",
            f"Unknown query parameters: {', '.join(unknown)[:200]}. "
            f"Known here: {', '.join(sorted(known)) or 'none'}.",
            field=unknown[0][:100],
            facts={"unknown": [name[:100] for name in unknown[:20]], "known": sorted(known)},
        )
    for name in known:
        if len(request.GET.getlist(name)) > 1:
            raise Invalid("parameter_repeated", f"Send `{name}` once.", field=name)
