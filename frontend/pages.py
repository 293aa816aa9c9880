"""What every page shares: who looks at it, where, when; and how a refusal becomes a page.

A view that only reads runs inside `scope.reading` of the caller's organization; a view that
executes a command must not, for the command has its own transaction (`page(reads=False)`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import wraps
from typing import Any
from urllib.parse import quote
from uuid import UUID
from zoneinfo import ZoneInfo

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render as django_render
from django.utils.cache import patch_cache_control, patch_vary_headers

from frontend.errors import said
from frontend.navigation import Group, groups
from ledger import scope
from ledger.errors import Denied, DomainError
from ledger.types import Actor
from notices.queries import unread
from quota.queries.inbox import inbox_count
from tenancy import policy, queries
from tenancy.callers import Caller, caller
from tenancy.queries import OrganizationChoice, OrganizationFacts

View = Callable[..., HttpResponse]


def clock() -> datetime:
    """The instant a page is made; taken once a request. Tests put another clock here."""
    return datetime.now(UTC)


@dataclass(slots=True)
class Page:
    """The circumstances of one page. `held` is what the person may do somewhere, `unread` how many
    notices wait; a part of a page has no bell and does not count them."""

    organization: OrganizationFacts
    choices: tuple[OrganizationChoice, ...]
    actor: Actor
    held: frozenset[str]
    now: datetime
    zone: ZoneInfo
    navigation: list[Group] = field(default_factory=list)
    unread: int = 0

    @property
    def id(self) -> UUID:
        """The organization's id."""
        return self.organization.id

    @property
    def today(self) -> date:
        """The day it is in the organization's zone."""
        return self.now.astimezone(self.zone).date()

    def require(self, permission: str, account_id: UUID | None = None) -> None:
        """Raise Denied or NotFound unless the person may do this on the account."""
        policy.authorize(self.actor, permission, account_id, self.id)

    def may(self, permission: str, account_id: UUID | None = None) -> bool:
        """`require` as a question."""
        return policy.may(self.actor, permission, account_id, self.id)


class PageRequest(HttpRequest):
    """A request that `page` has prepared."""

    page: Page
    htmx: Any


def page(*, reads: bool = True) -> Callable[[View], View]:
    """Make a view a page: sign-in, organization, circumstances, refusals."""

    def decorate(view: View) -> View:
        @wraps(view)
        def wrapped(request: PageRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not request.user.is_authenticated:
                return _to_sign_in(request)
            try:
                response = _answer(view, request, reads, args, kwargs)
            except DomainError as error:
                response = refusal(request, error)
            # Numbers of one person at one instant; and a fragment is not the page.
            patch_cache_control(response, private=True, no_cache=True)
            patch_vary_headers(response, ["HX-Request", "Cookie"])
            return response

        return login_not_required(wrapped)

    return decorate


def _answer(
    view: View, request: PageRequest, reads: bool, args: tuple, kwargs: dict[str, Any]
) -> HttpResponse:
    asking = caller(request)
    with scope.reading(asking.organization_id):
        facts = queries.organization(asking.organization_id)
        held = policy.permissions_anywhere(asking.actor, asking.organization_id)
        request.page = Page(
            organization=facts,
            choices=asking.choices,
            actor=asking.actor,
            held=held,
            now=clock(),
            zone=ZoneInfo(facts.time_zone),
            navigation=groups(request.path, held, _waiting(request, asking)),
            unread=0 if _is_part(request) else unread(asking.organization_id, asking.actor.id),
        )
        if reads:
            return view(request, *args, **kwargs)
    return view(request, *args, **kwargs)


def _waiting(request: PageRequest, asking: Caller) -> int:
    """Requests that wait for the person's word; a part of a page has no navigation."""
    if _is_part(request) or asking.actor.id is None:
        return 0
    return inbox_count(asking.organization_id, asking.actor.id, now=clock())


def _is_part(request: PageRequest) -> bool:
    return bool(request.htmx and not request.htmx.boosted)


def render(
    request: PageRequest, template: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    """A page, or the part of it that htmx asked for (`HX-Target` names the partial)."""
    partials = context.get("partials", ())
    target = request.htmx.target if _is_part(request) else None
    if target in partials:
        template = f"{template}#{target}"
    return django_render(
        request, template, context | {"page": getattr(request, "page", None)}, status=status
    )


def refusal(request: PageRequest, error: DomainError) -> HttpResponse:
    """A refusal as a page in words, with the way out. `X-Problem` lets htmx show it in place."""
    titles = {
        400: "This cannot be answered",
        403: "You may not see this",
        404: "There is nothing here",
        409: "This changed meanwhile",
        422: "This is not allowed",
    }
    here = getattr(request, "page", None)
    detail = said(error, here.zone) if here is not None else error.detail
    response = render(
        request,
        "refusal.html",
        {
            "title": titles.get(error.status, "That did not work"),
            "error": error,
            "said": detail,
            "roles": error.facts.get("roles", ()) if isinstance(error, Denied) else (),
            # What an address asks for cannot be: the page itself may still be had.
            "anew": request.path if error.status == 400 and request.GET else None,
            "problem_icon": "shield-lock" if error.status == 403 else "exclamation-triangle",
        },
        status=error.status,
    )
    response["X-Problem"] = quote(detail, safe=" ")
    return response


def _to_sign_in(request: PageRequest) -> HttpResponse:
    if request.htmx:
        # The script reloads the page, which then leads to sign-in and back.
        return HttpResponse(status=401)
    return redirect_to_login(request.get_full_path())
