"""`GET /api/v1/reviews/cycles/{id}/report`: every quota of a review, in pages or as a file."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.text import slugify

from config.api.schema import describe
from ledger import scope
from quota.api import cycles_examples as examples
from quota.api import cycles_wire as wire
from quota.api.cycles_quotas import PAGING, RowsOperation
from quota.api.cycles_reading import quotas
from quota.api.requests_reading import clock
from quota.api.reviews_decisions import csv_cell, csv_text
from quota.cycle_events import CycleFigures
from quota.queries.cycle_entries import report
from quota.queries.cycles import CycleRow, Viewer

JSON: Final = "application/json"
CSV: Final = "text/csv"
_NOT_TOLD = ("use", "may_decide", "may_answer")
OWN: Final = tuple(one for one in wire.CycleQuota.__struct_fields__ if one not in _NOT_TOLD)
USE: Final = tuple(field.name for field in fields(CycleFigures))
COLUMNS: Final = (*OWN, *(f"use_{name}" for name in USE))


class CycleReportOperation(RowsOperation):
    """Read the report."""

    parameters = frozenset({"cursor", "limit"})
    offers = (JSON, CSV)

    @describe(
        "readCycleReport",
        tag="reviews",
        summary="Every quota of a review, by account and pool",
        gives=wire.CycleQuotas,
        also_gives={CSV: f"The whole review, with the columns {', '.join(COLUMNS)}."},
        parameters=PAGING,
        problems=(404,),
        examples=(examples.QUOTAS,),
    )
    def get(self, request: HttpRequest, cycle_id: UUID) -> HttpResponseBase:
        """Before, after, who decided, when, why, and the use that was known then; of an open
        review, as it stands. Ask with `Accept: text/csv` for all of it as one file."""
        caller = self.caller(request)
        with scope.reading(caller.organization_id):
            row, who = self.visible(caller, cycle_id)
            if request.get_preferred_type(self.offers) != CSV:
                return self.respond(self.rows(request, caller, row, who, sort="account"))
        return _file(caller.organization_id, row, who, self.pool_ids(caller))


def _file(
    organization_id: UUID, row: CycleRow, who: Viewer, pool_ids: frozenset[UUID] | None
) -> StreamingHttpResponse:
    response = StreamingHttpResponse(
        _lines(organization_id, row, who, pool_ids), content_type=f"{CSV}; charset=utf-8"
    )
    name = f"review-{slugify(row.name) or 'cycle'}-{row.opened_at:%Y-%m-%d}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "private, no-cache"
    return response


def _lines(
    organization_id: UUID, row: CycleRow, who: Viewer, pool_ids: frozenset[UUID] | None
) -> Iterator[str]:
    yield csv_text([COLUMNS])
    parts = report(organization_id, row, who, now=clock(), pool_ids=pool_ids)
    while True:
        with scope.reading(organization_id):
            part = next(parts, None)
            told = quotas(organization_id, part) if part else []
        if part is None:
            return
        if told:
            yield csv_text(_values(one) for one in told)


def _values(one: wire.CycleQuota) -> list[str]:
    own: list[Any] = [getattr(one, name) for name in OWN]
    use = [getattr(one.use, name, None) for name in USE]
    return [csv_cell(value) for value in (*own, *use)]
