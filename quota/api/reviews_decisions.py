"""`GET /api/v1/reviews/decisions`: every decision of a period, in pages or as one CSV file."""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

from config.api import cursors, parameters
from config.api.schema import INSTANT, describe, paging, query
from ledger import scope
from ledger.errors import Invalid
from quota.api import reviews_examples as examples
from quota.api import reviews_wire as wire
from quota.api.requests_reading import RequestOperation, clock
from quota.queries.request_decisions import DecisionPage, DecisionRow, decisions
from tenancy.api.reading import account_named

JSON: Final = "application/json"
CSV: Final = "text/csv"
LIMIT_DEFAULT: Final = 200
LIMIT_MAX: Final = 1_000
CSV_PAGE: Final = 1_000
PERIOD_DEFAULT: Final = timedelta(days=92)
PERIOD_MAX: Final = timedelta(days=366)
COLUMNS: Final = tuple(field.name for field in fields(DecisionRow))
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What a spreadsheet would take for a formula; such a text gets an apostrophe in front."""


class DecisionsOperation(RequestOperation):
    """Read decisions."""

    parameters = frozenset({"since", "until", "account", "cursor", "limit"})
    offers = (JSON, CSV)

    @describe(
        "listDecisions",
        tag="reviews",
        summary="Decisions of a period, oldest first",
        gives=wire.Decisions,
        also_gives={CSV: f"The whole period, with the columns {', '.join(COLUMNS)}."},
        parameters=(
            query("since", "From this instant on; 92 days before `until` if absent.", **INSTANT),
            query("until", "Up to this instant, not included; now if absent.", **INSTANT),
            query("account", "Of this account and those below it."),
            *paging(LIMIT_MAX, LIMIT_DEFAULT, entries="Decisions"),
        ),
        problems=(404,),
        examples=(examples.DECISIONS,),
    )
    def get(self, request: HttpRequest) -> HttpResponseBase:
        """Who decided what and why; `person` null is the policy. Of the accounts that the caller
        may read; a machine needs `export:read`, and one that is bound to pools gets theirs, so its
        pages may be shorter than `limit`. Ask with `Accept: text/csv` for the period as one file,
        at most 366 days."""
        caller = self.caller(request)
        here = caller.organization_id
        since, until = _period(request)
        account = parameters.text(request, "account")
        with scope.reading(here):
            account_ids = self._accounts(caller, account)
            pools = None if caller.actor.pool_ids is None else frozenset(self.pools(caller))
        said: dict[str, Any] = {"since": since, "until": until, "account_ids": account_ids}
        if request.get_preferred_type(self.offers) == CSV:
            return _csv(here, said, pools)
        limit = parameters.integer(request, "limit", low=1, high=LIMIT_MAX, default=LIMIT_DEFAULT)
        after = cursors.read(request, tuple[datetime, UUID])
        with scope.reading(here):
            page = decisions(here, **said, after=after, limit=limit)
        following = page.next_after and cursors.next_address(request, page.next_after)
        return self.respond(
            wire.Decisions(since=since, until=until, decisions=_rows(page, pools), next=following)
        )

    def _accounts(self, caller, account: str | None) -> list[UUID] | None:
        if account is None:
            tops = self.readable(caller)
            return None if tops is None else list(tops)
        found = account_named(caller.organization_id, account)
        self.authorize_reading(caller, found.id)
        return [found.id]


def _period(request: HttpRequest) -> tuple[datetime, datetime]:
    until = parameters.instant(request, "until") or clock()
    since = parameters.instant(request, "since")
    if since is None:
        since = max(until, datetime.min.replace(tzinfo=UTC) + PERIOD_DEFAULT) - PERIOD_DEFAULT
    if not timedelta(0) < until - since <= PERIOD_MAX:
        raise Invalid(
            "period_out_of_range",
            f"`since` lies before `until`, by at most {PERIOD_MAX.days} days.",
            field="since",
            facts={"maximum_days": PERIOD_MAX.days},
        )
    return since, until


def _rows(page: DecisionPage, pools: frozenset[str] | None) -> list[DecisionRow]:
    return [row for row in page.rows if pools is None or row.pool in pools]


def _csv(
    organization_id: UUID, said: dict[str, Any], pools: frozenset[str] | None
) -> StreamingHttpResponse:
    """Page by page, so no export is ever whole in memory."""
    response = StreamingHttpResponse(
        _lines(organization_id, said, pools), content_type=f"{CSV}; charset=utf-8"
    )
    response["Content-Disposition"] = 'attachment; filename="decisions.csv"'
    response["Cache-Control"] = "private, no-cache"
    return response


def _lines(
    organization_id: UUID, said: dict[str, Any], pools: frozenset[str] | None
) -> Iterator[str]:
    yield csv_text([COLUMNS])
    after = None
    while True:
        with scope.reading(organization_id):
            page = decisions(organization_id, **said, after=after, limit=CSV_PAGE)
        rows = _rows(page, pools)
        if rows:
            yield csv_text([[csv_cell(getattr(row, name)) for name in COLUMNS] for row in rows])
        after = page.next_after
        if after is None:
            return


def csv_text(lines: Iterable[Iterable[Any]]) -> str:
    """Lines of a CSV file."""
    out = io.StringIO()
    csv.writer(out).writerows(lines)
    return out.getvalue()


def csv_cell(value: Any) -> str:
    """A value as a cell: instants in UTC, nothing for None, no formula."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    text = str(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(_FORMULA) else text
