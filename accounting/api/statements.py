"""`/api/v1/months/{month}/statements…`: a month's statements, one with its lines, and why a line is
what it is, down to the records."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.http import HttpRequest, HttpResponse

from accounting import wire_money as wire
from accounting.api.money_reading import (
    ACCOUNT,
    LIMIT_MAX,
    PAGING,
    Asked,
    MoneyOperation,
    line_facts,
    plain,
)
from accounting.domain import lines, money, splitting
from accounting.domain.lines import Kind, Line
from accounting.domain.rating import Unrated
from accounting.queries import records, showback, wide_months
from accounting.queries import statements as queries
from accounting.queries.showback import Showback
from accounting.queries.statements import CloseRow, StatementRow
from accounting.queries.usage import UsageFilter
from config.api import cursors, parameters
from config.api.schema import describe, query
from ledger import scope
from ledger.errors import Invalid, NotFound
from quota.api.reading import fields_of

_RECORD = (
    *("source", "key", "account", "person", "pool", "tier", "units", "start", "end", "batch_id"),
    *("event_id", "unit_seconds"),
)


class StatementsOperation(MoneyOperation):
    """List a month's statements."""

    parameters = frozenset({"account", "cursor", "limit"})

    @describe(
        "listStatements",
        tag="money",
        summary="The statements of a month",
        gives=wire.Statements,
        parameters=(ACCOUNT, *PAGING),
        problems=(404,),
    )
    def get(self, request: HttpRequest, month: str) -> HttpResponse:
        """Of an account and everything below it, by name. An open month is computed from what is
        known now, and is preliminary."""
        caller = self.caller(request)
        limit = self.limit(request)
        after = cursors.read(request, str) or ""
        with scope.reading(caller.organization_id):
            asked = self.asked(
                request, caller, month=month, account=parameters.text(request, "account")
            )
            rows, state, currency = _statements(asked, after, limit + 1)
        following = None
        if len(rows) > limit:
            following = cursors.next_address(request, rows[limit - 1].account)
        return self.respond(
            wire.Statements(
                month=f"{asked.first:%Y-%m}",
                state=state,
                currency=currency,
                statements=[
                    wire.StatementFacts(
                        **fields_of(row, ("account", "lines", "amount", "with_below"))
                    )
                    for row in rows[:limit]
                ],
                next=following,
            )
        )


def _statements(asked: Asked, after: str, limit: int) -> tuple[list[StatementRow], Any, str]:
    here = asked.organization_id
    close = queries.close(here, asked.first)
    if close is not None and close.state == "closed":
        facts = showback.facts(here)
        rows = queries.statement_rows(
            here,
            asked.first,
            under=asked.account.id,
            places=facts.places,
            after=after,
            limit=limit,
        )
        return rows, close.state, facts.currency
    found = showback.showback(here, asked.account.id, asked.first, now=asked.now)
    rows = showback.statement_rows(found, showback.names_of(here))
    chosen = [row for row in rows if row.account > after][:limit]
    return chosen, found.state, found.ground.currency


class StatementOperation(MoneyOperation):
    """Read a statement."""

    parameters = frozenset({"cursor", "limit"})

    @describe(
        "readStatement",
        tag="money",
        summary="A month of an account with everything below it, and its lines",
        gives=wire.Statement,
        parameters=PAGING,
        problems=(404,),
    )
    def get(self, request: HttpRequest, month: str, account: str) -> HttpResponse:
        """Lines in the order in which they are numbered. Use without a price is listed apart, and
        is in no sum. While the month is open, lines may change from page to page."""
        caller = self.caller(request)
        limit = self.limit(request)
        place = cursors.read(request, list[int], length=2) or [0, 0]
        with scope.reading(caller.organization_id):
            asked = self.asked(request, caller, month=month, account=account)
            close = queries.close(asked.organization_id, asked.first)
            if close is not None and close.state == "closed":
                statement, following = _closed(asked, close, (place[0], place[1]), limit)
            else:
                statement, following = _open(asked, place[1], limit)
        if following is not None:
            statement.next = cursors.next_address(request, following)
        return self.respond(statement)


def _closed(
    asked: Asked, close: CloseRow, after: tuple[int, int], limit: int
) -> tuple[wire.Statement, list[int] | None]:
    """A page of a closed month: only its lines are read, and the sums."""
    here, under = asked.organization_id, asked.account.id
    facts = showback.facts(here)
    rows = queries.stored_lines(
        here, asked.first, under=under, places=facts.places, after=after, limit=limit + 1
    )
    sums = queries.stored_sums(here, asked.first, under=under, places=facts.places)
    names = showback.names_of(here)
    last = rows[limit - 1] if len(rows) > limit else None
    statement = wire.Statement(
        account=asked.account.name,
        month=f"{asked.first:%Y-%m}",
        state=close.state,
        currency=facts.currency,
        amount=queries.plain(money.total([amount for amount, _ in sums.values()]), facts.places),
        list_amount=queries.plain(
            money.total([listed for _, listed in sums.values()]), facts.places
        ),
        kinds={str(kind): amount for kind, (amount, _) in sums.items()},
        unrated=[],
        expected=[],
        expected_amount=Decimal(0),
        expected_as_of=None,
        digest=close.digest,
        lines=[line_facts(row.line, names) for row in rows[:limit]],
        next=None,
    )
    return statement, None if last is None else [last.chunk, last.line_no]


def _open(asked: Asked, place: int, limit: int) -> tuple[wire.Statement, list[int] | None]:
    """A page of a month that is computed from what is known now."""
    here = asked.organization_id
    found = showback.showback(here, asked.account.id, asked.first, now=asked.now)
    names = showback.names_of(here)
    late = wide_months.expected(here, found, now=asked.now)
    statement = wire.Statement(
        account=asked.account.name,
        month=found.month.name,
        state=found.state,
        currency=found.ground.currency,
        amount=found.total.amount,
        list_amount=found.total.list_amount,
        kinds={str(kind): amount for kind, amount in showback.by_kind(found).items()},
        unrated=unrated_facts(found.unrated, names),
        expected=[line_facts(line, names) for line in late.lines[:LIMIT_MAX]],
        expected_amount=late.amount,
        expected_as_of=late.as_of,
        digest=None,
        lines=[line_facts(line, names) for line in found.lines[place : place + limit]],
        next=None,
    )
    return statement, [0, place + limit] if place + limit < len(found.lines) else None


class LineOperation(MoneyOperation):
    """Why a line is what it is."""

    @describe(
        "explainLine",
        tag="money",
        summary="Why a line is that amount",
        gives=wire.LineWhy,
        problems=(404,),
    )
    def get(self, request: HttpRequest, month: str, account: str, line_id: str) -> HttpResponse:
        """Its formula, with the numbers in it, and, for use, its days: they add up to it."""
        caller = self.caller(request)
        here = caller.organization_id
        with scope.reading(here):
            asked = self.asked(request, caller, month=month, account=account)
            found = showback.showback(
                here, asked.account.id, asked.first, now=asked.now, details=("day",)
            )
            line = line_named(found, line_id)
            names = showback.names_of(here)
        of_use = line.key.kind == Kind.USAGE and not line.adjusts
        return self.respond(
            wire.LineWhy(
                line=line_facts(line, names),
                formula=lines.FORMULAS[line.kind],
                path=[names[one] for one in line.key.above],
                rates=line.key.version,
                days=_days(found, line) if of_use else [],
                records=f"{request.path}/records" if of_use else None,
            )
        )


class LineRecordsOperation(MoneyOperation):
    """Read the records behind a line."""

    parameters = frozenset({"day", "cursor", "limit"})

    @describe(
        "listLineRecords",
        tag="money",
        summary="The records behind a line of use",
        gives=wire.LineRecords,
        parameters=(
            query("day", "Only of this day of the month.", format="date"),
            *PAGING,
        ),
        problems=(404,),
    )
    def get(self, request: HttpRequest, month: str, account: str, line_id: str) -> HttpResponse:
        """Records of the account's own use of the pool and tier in the month, the latest start
        first, as they were sent. What came after a close is among them, but in a later statement.
        """
        caller = self.caller(request)
        here = caller.organization_id
        limit = min(self.limit(request), records.PAGE_MAX - 1)
        place = cursors.read(request, list[str], length=3)
        with scope.reading(here):
            asked = self.asked(request, caller, month=month, account=account)
            found = showback.showback(here, asked.account.id, asked.first, now=asked.now)
            line = line_named(found, line_id)
            if line.key.kind != Kind.USAGE:
                raise NotFound("line_unknown", "Only use has records behind it.", field="line_id")
            since, until = found.month.start, found.month.end
            day = parameters.text(request, "day")
            if day is not None:
                since, until = _day(found, day)
            rows = records.records(
                here,
                UsageFilter(
                    account_id=line.key.account,
                    since=found.month.first,
                    until=found.month.first,
                    pool_id=line.key.pool,
                    tier=line.key.tier,
                ),
                since=since,
                until=until,
                now=asked.now,
                own_only=True,
                after=None if place is None else _place(place),
                limit=limit + 1,
            )
        following = None
        if len(rows) > limit:
            last = rows[limit - 1]
            following = cursors.next_address(request, [last.start, last.source, last.key])
        return self.respond(
            wire.LineRecords(
                records=[wire.LineRecord(**fields_of(row, _RECORD)) for row in rows[:limit]],
                next=following,
            )
        )


def line_named(found: Showback, line_id: str) -> Line:
    """A line of a month by its id.

    Raises:
        NotFound: `line_unknown`.
    """
    for line in found.lines:
        if showback.line_id(line) == line_id:
            return line
    raise NotFound(
        "line_unknown",
        "This line is not in the month any more: what it is computed from has changed.",
        field="line_id",
    )


def unrated_facts(found: Iterable[Unrated], names: Mapping[Any, str]) -> list[wire.Unrated]:
    """Use without a price on the wire, the most first, at most LIMIT_MAX."""
    return [
        wire.Unrated(
            account=names[one.group.account[0]],
            pool=names[one.group.pool],
            tier=one.group.tier,
            unit_seconds=plain(one.unit_seconds),
            gap=one.why,
        )
        for one in sorted(found, key=lambda one: -one.unit_seconds)[:LIMIT_MAX]
    ]


def _days(found: Showback, line: Line) -> list[wire.LineDay]:
    weights: dict[date, Decimal] = {
        detail[0]: amount for detail, amount in found.parts.get(line.key, {}).items()
    }
    amounts = lines.parts(line.amount, weights, places=found.ground.places)
    return [
        wire.LineDay(day=day, unit_seconds=plain(weights[day]), amount=amounts[day])
        for day in sorted(weights)
    ]


def _day(found: Showback, value: str):
    """A day of the month, from instant to instant."""
    try:
        day = date.fromisoformat(value)
    except ValueError:
        day = None
    if day is None or day.replace(day=1) != found.month.first:
        raise Invalid("parameter_invalid", "`day` is a day of the month.", field="day")
    zone = found.ground.zone
    after = splitting.next_bucket(day, "day")
    return splitting.start_of_day(day, zone), splitting.start_of_day(after, zone)


def _place(place: Sequence[str]) -> records.Place:
    try:
        return datetime.fromisoformat(place[0]), place[1], place[2]
    except ValueError:
        raise Invalid(
            "parameter_invalid", "`cursor` is no cursor of ours.", field="cursor"
        ) from None
