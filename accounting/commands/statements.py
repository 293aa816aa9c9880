"""Terms, credits, commitments; and the close of a month, step by step."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from uuid import UUID
from zoneinfo import ZoneInfo

from accounting import statement_close, statement_month
from accounting import statement_events as events
from accounting.commands.rates import check_account
from accounting.domain import money, statements
from accounting.domain.lines import Terms
from accounting.domain.splitting import day_of
from accounting.domain.statements import Month
from accounting.locking import take_lock
from accounting.queries import grants
from accounting.queries import statements as queries
from ledger.errors import Conflict, Denied, Invalid, NotFound, Refused
from ledger.execution import Unit, handles
from ledger.sql import server_cursor
from quota.recording import check_reason
from tenancy.domain.roles import RATE_WRITE, SYSTEM_ONLY

AMOUNT_MAX = Decimal(10) ** 15


@dataclass(frozen=True, slots=True, kw_only=True)
class SetStatementTerms:
    """How the statements of a month and later are computed. The reason goes with the command.

    Attributes:
        from_month: the first day of the month; one that is not over.
        ladder: (utilization, rate): see `accounting.domain.lines.Terms`.
        two_persons: a second person confirms each close.
    """

    from_month: date
    idle_share: Decimal
    lending_share: Decimal
    ladder: tuple[tuple[Decimal, Decimal], ...]
    two_persons: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthRef:
    """The month that a command was about, and the id of what it made, if anything."""

    month: date
    id: UUID | None = None


@handles(SetStatementTerms, permission=RATE_WRITE)
def set_statement_terms(command: SetStatementTerms, unit: Unit) -> MonthRef:
    """Check the terms and that they change no month that is over; record them."""
    check_reason(unit)
    place = _lock(unit)
    month = statements.month_of(command.from_month, place.zone)
    terms = Terms(
        idle_share=command.idle_share,
        lending_share=command.lending_share,
        ladder=command.ladder,
    )
    _check_not_over(month, unit, field="from_month")
    _check_open(unit, month)
    unit.record(
        events.StatementTermsSet(
            from_month=month.first,
            idle_share=terms.idle_share,
            lending_share=terms.lending_share,
            ladder=tuple(events.LadderStep(above=a, rate=r) for a, r in terms.ladder),
            two_persons=command.two_persons,
        )
    )
    return MonthRef(month=month.first)


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantCredit:
    """Give an amount back to an account. The reason goes with the command, and on the statement.

    Attributes:
        month: in whose statement; None: the one that it is now.
        about: the month that it makes good, which may be closed.
    """

    account_id: UUID
    amount: Decimal
    month: date | None = None
    about: date | None = None


@handles(GrantCredit, permission=RATE_WRITE)
def grant_credit(command: GrantCredit, unit: Unit) -> MonthRef:
    """Record the credit in a month that is open."""
    check_reason(unit)
    place = _lock(unit)
    month = statements.month_of(command.month or place.this_month(unit), place.zone)
    _check_open(unit, month)
    if command.about is not None:
        about = statements.month_of(command.about, place.zone)
        if about.first > month.first:
            raise Invalid(
                "month_malformed", "A credit is about a month before its own.", field="about"
            )
    _check_amount(command.amount, place)
    check_account(command.account_id, unit)
    credit_id = unit.new_id()
    unit.record(
        events.CreditGranted(
            credit_id=credit_id,
            account_id=command.account_id,
            month=month.first,
            amount=command.amount,
            about=command.about,
        )
    )
    return MonthRef(month=month.first, id=credit_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreeCommitment:
    """An account, with all below it, is charged at least an amount each month. The reason goes
    with the command.

    Attributes:
        from_month: one that is not over.
        until_month: the last one; None: for good.
    """

    account_id: UUID
    amount: Decimal
    from_month: date
    until_month: date | None = None


@handles(AgreeCommitment, permission=RATE_WRITE)
def agree_commitment(command: AgreeCommitment, unit: Unit) -> MonthRef:
    """Record the commitment."""
    check_reason(unit)
    place = _lock(unit)
    month = statements.month_of(command.from_month, place.zone)
    if command.until_month is not None:
        last = statements.month_of(command.until_month, place.zone)
        if last.first < month.first:
            raise Invalid(
                "month_malformed", "A commitment ends after it begins.", field="until_month"
            )
    _check_not_over(month, unit, field="from_month")
    _check_open(unit, month)
    _check_amount(command.amount, place)
    check_account(command.account_id, unit)
    commitment_id = unit.new_id()
    unit.record(
        events.CommitmentAgreed(
            commitment_id=commitment_id,
            account_id=command.account_id,
            amount=command.amount,
            from_month=command.from_month,
            until_month=command.until_month,
        )
    )
    return MonthRef(month=month.first, id=commitment_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndCommitment:
    """A commitment ends before it was to. Through `last_month` it is charged as agreed, and later
    not at all. The reason goes with the command.

    Attributes:
        last_month: one that is not over, before the month in which it ends anyway.
        charge: what ending costs, once, in the statement of the last month; 0: nothing.
    """

    commitment_id: UUID
    last_month: date
    charge: Decimal = Decimal(0)


@handles(EndCommitment, permission=RATE_WRITE)
def end_commitment(command: EndCommitment, unit: Unit) -> MonthRef:
    """Record the end."""
    check_reason(unit)
    place = _lock(unit)
    month = statements.month_of(command.last_month, place.zone)
    found = grants.commitment(unit.organization_id, command.commitment_id)
    if found is None:
        raise NotFound("commitment_unknown", "There is no such commitment.", field="commitment")
    _check_not_over(month, unit, field="last_month")
    _check_open(unit, month)
    if month.first < found.month:
        raise Invalid(
            "month_malformed",
            f"The commitment begins in {found.month:%Y-%m}; it ends then or later.",
            field="last_month",
        )
    if found.about is not None and month.first >= found.about:
        raise Refused(
            "commitment_ends_already",
            f"The commitment ends with {found.about:%Y-%m} as it is.",
            field="last_month",
            facts={"until_month": f"{found.about:%Y-%m}"},
        )
    if command.charge:
        _check_amount(command.charge, place, field="charge")
    unit.record(
        events.CommitmentEnded(
            commitment_id=command.commitment_id, until_month=month.first, charge=command.charge
        )
    )
    return MonthRef(month=month.first, id=command.commitment_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartClose:
    """Begin to close a month: nobody can change its prices from here on, and there is no way back.

    Attributes:
        accept: codes of the findings that were seen: see `statement_month.findings`.
    """

    month: date
    accept: tuple[str, ...] = ()


@handles(StartClose, permission=RATE_WRITE)
def start_close(command: StartClose, unit: Unit) -> MonthRef:
    """Check that it is this month's turn and that what is odd about it was seen; record it."""
    place = _lock(unit)
    month = statements.month_of(command.month, place.zone)
    done = queries.close(unit.organization_id, month.first)
    last = next(iter(queries.closes(unit.organization_id, limit=1)), None)
    statements.check_close(
        month,
        state="open" if done is None else done.state,
        last_closed=None if last is None else last.month,
        newest="closed" if last is None else last.state,
        now=unit.now,
    )
    found = statement_month.findings(unit.organization_id, month.first, now=unit.now)
    statements.check_accepted(found, command.accept)
    with server_cursor() as cursor:
        accounts = cursor.execute(
            "SELECT count(*) FROM tenancy_account WHERE organization_id = %b",
            (unit.organization_id,),
        ).fetchone()[0]
    terms = queries.terms_of(unit.organization_id, month.first)
    unit.record(
        events.StatementClosing(
            month=month.first,
            accounts=accounts,
            accepted=tuple(sorted({one.code for one in found})),
            confirmation=terms.two_persons,
        )
    )
    return MonthRef(month=month.first)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmClose:
    """Agree, as a second person, to the close of a month."""

    month: date


@handles(ConfirmClose, permission=RATE_WRITE)
def confirm_close(command: ConfirmClose, unit: Unit) -> MonthRef:
    """Record who agreed, unless it is who began it."""
    _lock(unit)
    row = _closing(unit, command.month)
    if not row.waits:
        raise Conflict("close_confirmed", "This close waits for nobody.", field="month")
    if unit.actor.id is None or unit.actor.id == row.starter_id:
        raise Denied("own_close", f"{row.started_by} began this close; somebody else confirms it.")
    unit.record(events.StatementCloseConfirmed(month=command.month))
    return MonthRef(month=command.month)


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseMonth:
    """Draw the next lines of a month that is closing; with the last ones it is closed."""

    month: date


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseProgress:
    """How far the close is; `closed` once nothing is left to do."""

    month: date
    drawn_accounts: int
    accounts: int
    closed: bool


@handles(CloseMonth, permission=SYSTEM_ONLY)
def close_month(command: CloseMonth, unit: Unit) -> CloseProgress:
    """Store a chunk and record its digest. Whoever does it again goes on where it stopped."""
    _lock(unit)
    done = queries.close(unit.organization_id, command.month)
    if done is not None and done.state == "closed":
        return CloseProgress(
            month=command.month, drawn_accounts=done.accounts, accounts=done.accounts, closed=True
        )
    row = _closing(unit, command.month)
    if row.waits:
        raise Refused(
            "close_unconfirmed", "A second person has to confirm this close.", field="month"
        )
    drawn, closed = statement_close.draw(unit.organization_id, row, now=unit.now)
    unit.record(drawn)
    if closed is not None:
        unit.record(closed)
    return CloseProgress(
        month=command.month,
        drawn_accounts=row.drawn_accounts + drawn.accounts,
        accounts=row.accounts,
        closed=closed is not None,
    )


@dataclass(frozen=True, slots=True)
class _Ground:
    currency: str
    zone: ZoneInfo

    def this_month(self, unit: Unit) -> date:
        return day_of(unit.now, self.zone).replace(day=1)


def _lock(unit: Unit) -> _Ground:
    """One change of rates, terms or closes at a time: the lock that publishing takes."""
    take_lock(unit, "rates")
    with server_cursor() as cursor:
        currency, zone = cursor.execute(
            "SELECT currency, time_zone FROM tenancy_organization WHERE id = %b",
            (unit.organization_id,),
        ).fetchone()
    return _Ground(currency, ZoneInfo(zone))


def _closing(unit: Unit, month: date) -> queries.CloseRow:
    row = queries.close(unit.organization_id, month)
    if row is None or row.state != "closing":
        raise NotFound("close_unknown", "This month is not being closed.", field="month")
    return row


def _check_open(unit: Unit, month: Month) -> None:
    until = queries.closed_until(unit.organization_id)
    if until is not None and month.start < until:
        raise Refused(
            "month_closed",
            f"The months before {until.isoformat()} are closed or closing; a later one takes it.",
            field="month",
            facts={"earliest": until.isoformat()},
        )


def _check_not_over(month: Month, unit: Unit, *, field: str) -> None:
    if month.end <= unit.now:
        raise Refused(
            "month_over", f"{month.name} is over; choose this month or a later one.", field=field
        )


def _check_amount(amount: Decimal, place: _Ground, *, field: str = "amount") -> None:
    places = money.minor_places(place.currency)
    if not amount.is_finite() or not 0 < amount <= AMOUNT_MAX or amount != round(amount, places):
        raise Invalid(
            "amount_out_of_range",
            f"An amount is above 0, in {place.currency}, with at most {places} decimals.",
            field=field,
            facts={"maximum": int(AMOUNT_MAX), "places": places},
        )
