"""A month closes once, in chunks, for good; what comes late is in the next statement."""

from datetime import date
from decimal import Decimal

import pytest
from django.db import connection

from accounting import statement_close, statement_month, tasks
from accounting.commands.rates import PriceWish, PublishRateCard, SetRateGrade
from accounting.commands.statements import (
    AgreeCommitment,
    CloseMonth,
    ConfirmClose,
    GrantCredit,
    SetStatementTerms,
    StartClose,
)
from accounting.domain import money
from accounting.domain.lines import Kind
from accounting.queries import statements as queries
from config.celery import BEAT_TABLE
from ledger import scope, verification
from ledger.errors import DomainError
from tenancy.commands.accounts import MoveAccount
from tests.accounting.statements.test_guarantees import promise
from tests.accounting.statements.test_rating import DAY, END, LATER, OCTOBER, START
from tests.world import NOW, record

NOVEMBER = date(2026, 11, 1)
DECEMBER = date(2026, 12, 1)
IN_DECEMBER = NOW + 5 * DAY


def start(place, month=OCTOBER, *, by="fay", now=LATER, accept=()):
    command = StartClose(month=month, accept=accept)
    return place.run(command, by=place.actor(by), now=now, reason="month end")


def close(place, month=OCTOBER, *, now=LATER, **values):
    start(place, month, now=now, **values)
    while not place.run(CloseMonth(month=month), now=now).result.closed:
        pass


def stored(place, month=OCTOBER):
    with scope.reading(place.id):
        return [one.line for one in queries.stored_lines(place.id, month, places=2)]


def live(place, month=OCTOBER, *, now=LATER, under=None):
    with scope.reading(place.id):
        return statement_month.month_lines(place.id, month, now=now, under=under)


def refused(place, command, *, by="fay", now=LATER, reason="why") -> str:
    with pytest.raises(DomainError) as caught:
        place.run(command, by=place.actor(by), now=now, reason=reason)
    return caught.value.code


def amounts(lines) -> dict:
    found: dict = {}
    for line in lines:
        key = (str(line.kind), line.key.tier)
        found[key] = found.get(key, Decimal(0)) + line.amount
    return found


def test_a_closed_month_has_the_lines_that_it_had_when_open(place, monkeypatch):
    monkeypatch.setattr(statement_close, "CHUNK_ACCOUNTS", 2)
    place.run(GrantCredit(account_id=place.accounts["nlp"], amount=Decimal("12.34"),
                          month=OCTOBER), reason="outage")  # fmt: skip
    place.run(AgreeCommitment(account_id=place.accounts["production"], amount=Decimal(9000),
                              from_month=OCTOBER), now=START, reason="deal")  # fmt: skip
    before = live(place)
    close(place)
    lines = stored(place)
    key = lambda line: (str(line.key), line.amount)  # noqa: E731
    assert sorted(map(key, lines)) == sorted(map(key, before.lines))
    month_hours = int((END - START).total_seconds()) // 3600
    assert amounts(lines) == {
        ("usage", "guaranteed"): 1600,
        ("usage", "spot"): 2 * month_hours,
        ("idle", "guaranteed"): 2 * (10 * month_hours - 800),
        ("commitment", None): 9000 - 2 * month_hours,
        ("credit", None): Decimal("-12.34"),
    }
    with scope.reading(place.id):
        row = queries.close(place.id, OCTOBER)
    assert (row.state, row.lines, row.progress) == ("closed", len(lines), 1)
    assert row.amount == money.total([line.amount for line in lines])
    assert (row.chunks, row.drawn_accounts) == (3 + 1, 6)
    assert verification.verify(place.id).findings == []


def test_a_close_that_was_cut_off_goes_on(place, monkeypatch):
    monkeypatch.setattr(statement_close, "CHUNK_ACCOUNTS", 3)
    start(place)
    first = place.run(CloseMonth(month=OCTOBER), now=LATER).result
    assert (first.drawn_accounts, first.accounts, first.closed) == (3, 6, False)
    tasks.close_month_of(str(place.id), OCTOBER.isoformat())
    again = place.run(CloseMonth(month=OCTOBER), now=LATER).result
    assert (again.drawn_accounts, again.closed) == (6, True)
    assert verification.verify(place.id).findings == []


def test_nothing_of_a_closed_month_changes(place):
    close(place)
    before = stored(place)
    wishes = (PriceWish(flavor="a100-80gb", list_price=Decimal(1)),)
    nlp = place.accounts["nlp"]
    for command in (
        PublishRateCard(lines=wishes, effective_from=START + DAY, effective_until=START + 2 * DAY),
        PublishRateCard(lines=wishes, effective_from=START - 20 * DAY),
        GrantCredit(account_id=nlp, amount=Decimal(1), month=OCTOBER),
        AgreeCommitment(account_id=nlp, amount=Decimal(1), from_month=OCTOBER),
    ):
        assert refused(place, command) in {
            "month_closed", "rates_overlap", "rates_in_the_past", "month_over",
        }  # fmt: skip
    assert refused(place, StartClose(month=OCTOBER)) == "month_closed_already"
    place.run(MoveAccount(account_id=nlp, to_parent_id=place.accounts["production"]))
    place.use(record("late", units=4, hours=10, start=START + DAY), now=NOW)
    assert stored(place) == before
    for sql in (
        "UPDATE accounting_statementline SET amount = 0",
        "DELETE FROM accounting_statementline",
        "DELETE FROM accounting_statementpart",
    ):
        with (
            pytest.raises(Exception, match=r"denied|append-only"),
            scope.reading(place.id),
            connection.cursor() as cursor,
        ):
            cursor.execute(sql)


def test_prices_begin_no_earlier_than_the_closed_months_end(acme):
    acme.use(record("a", units=1, hours=1, start=START))
    acme.person("fay")
    acme.role("fay", "finance")
    close(acme, accept=("unrated_use",))
    wishes = (PriceWish(flavor="h100-80gb", list_price=Decimal(1)),)
    early = PublishRateCard(lines=wishes, effective_from=END - DAY)
    assert refused(acme, early) == "month_closed"
    grade = SetRateGrade(account_id=acme.root, grade="g", effective_from=END - DAY)
    assert refused(acme, grade) == "month_closed"
    acme.run(PublishRateCard(lines=wishes, effective_from=END), now=LATER, reason="r")


def test_what_comes_late_is_in_the_next_statement_and_names_its_month(place):
    close(place)
    place.use(record("late", units=4, hours=10, start=START + 20 * DAY), now=NOW)
    place.use(record("b", units=2, hours=100, start=START, supersedes="a"), now=NOW)
    close(place, NOVEMBER, now=IN_DECEMBER)
    late = [line for line in stored(place, NOVEMBER) if line.adjusts]
    assert {line.about for line in late} == {OCTOBER}
    assert {(str(line.key.kind), line.amount) for line in late} == {
        ("usage", Decimal(4 * 10 * 2 - 6 * 100 * 2)),
        ("idle", Decimal(6 * 100 * 2 - 4 * 10 * 2)),
    }
    # The month and its adjustments are what it would have been had all come in time.
    with scope.reading(place.id):
        charged = list(queries.charged_for(place.id, OCTOBER, places=2))
    assert money.total([line.amount for line in charged]) == money.total(
        [line.amount for line in live(place, now=IN_DECEMBER).lines]
    )
    # And once it is made good, nothing is left.
    close(place, DECEMBER, now=NOW + 40 * DAY)
    assert [line for line in stored(place, DECEMBER) if line.adjusts] == []
    assert verification.verify(place.id).findings == []


def test_what_ran_at_the_close_and_ends_as_expected_needs_no_adjustment(place):
    place.use(record("run", units=1, hours=None, start=END - DAY), now=LATER)
    close(place)
    place.use(record("ran", units=1, hours=30, start=END - DAY, supersedes="run"), now=NOW)
    close(place, NOVEMBER, now=IN_DECEMBER)
    assert [line for line in stored(place, NOVEMBER) if line.adjusts] == []


def test_months_close_one_after_the_other_and_when_they_are_over(place):
    assert refused(place, StartClose(month=NOVEMBER)) == "month_not_over"
    start(place)
    assert refused(place, StartClose(month=OCTOBER)) == "month_closing"
    assert refused(place, StartClose(month=NOVEMBER), now=IN_DECEMBER) == "month_out_of_turn"
    assert refused(place, StartClose(month=date(2026, 10, 2))) == "month_malformed"
    assert refused(place, StartClose(month=OCTOBER), by="uma") == "role_missing"
    assert refused(place, CloseMonth(month=OCTOBER)) == "role_missing"


def test_what_is_odd_is_seen_before_the_month_closes(place):
    promise(place, "vision", 5, at=START, pool="a100")
    place.use(record("x", units=1, hours=1, start=START, pool="a100"), now=LATER)
    with pytest.raises(DomainError) as caught:
        start(place)
    assert caught.value.code == "findings_open"
    assert caught.value.facts["codes"] == ["telemetry_missing", "unrated_use"]
    assert refused(place, StartClose(month=OCTOBER, accept=("unrated_use",))) == "findings_open"
    start(place, accept=("unrated_use", "telemetry_missing"))
    with scope.reading(place.id):
        assert queries.close(place.id, OCTOBER).state == "closing"


def test_records_that_contradict_or_were_refused_are_findings(place):
    place.use(record("a", units=9, hours=100, start=START), record("y", start=START, units=1),
              record("z", account="nobody", start=START), now=LATER)  # fmt: skip
    with scope.reading(place.id):
        found = statement_month.findings(place.id, OCTOBER, now=LATER)
    assert [one.code for one in found] == ["records_contradict", "records_rejected"]


def test_a_second_person_confirms_where_the_terms_say_so(place):
    terms = SetStatementTerms(from_month=OCTOBER, idle_share=Decimal(0), lending_share=Decimal(0),
                              ladder=(), two_persons=True)  # fmt: skip
    place.run(terms, now=START + DAY, by=place.actor("fay"), reason="board")
    start(place)
    assert refused(place, ConfirmClose(month=OCTOBER)) == "own_close"
    with pytest.raises(DomainError) as caught:
        place.run(CloseMonth(month=OCTOBER), now=LATER)
    assert caught.value.code == "close_unconfirmed"
    place.run(ConfirmClose(month=OCTOBER), now=LATER, by=place.actor("finn"))
    assert refused(place, ConfirmClose(month=OCTOBER), by="finn") == "close_confirmed"
    while not place.run(CloseMonth(month=OCTOBER), now=LATER).result.closed:
        pass
    assert {str(line.kind) for line in stored(place)} == {"usage"}
    assert refused(place, ConfirmClose(month=OCTOBER), by="finn") == "close_unknown"


def test_terms_change_no_month_that_is_over(place):
    values = {"idle_share": Decimal(1), "lending_share": Decimal(0), "ladder": ()}
    assert refused(place, SetStatementTerms(from_month=OCTOBER, **values)) == "month_over"
    values["idle_share"] = Decimal(2)
    assert refused(place, SetStatementTerms(from_month=NOVEMBER, **values)) == "share_out_of_range"


@pytest.mark.parametrize("amount", ["0", "-1", "0.001", "NaN", "1e16"])
def test_an_amount_is_above_0_and_no_finer_than_the_currency(place, amount):
    credit = GrantCredit(account_id=place.root, amount=Decimal(amount))
    assert refused(place, credit) == "amount_out_of_range"


def test_an_account_sees_its_own_part(place):
    nlp = place.accounts["nlp"]
    whole, part = live(place), live(place, under=nlp)
    assert [line for line in whole.lines if nlp in line.key.above] == list(part.lines)
    assert part.lines and len(part.lines) < len(whole.lines)
    assert {line.kind for line in part.lines} == {Kind.USAGE, Kind.IDLE}


def test_parts_of_a_closed_month_are_its_use(place):
    close(place)
    with scope.reading(place.id), connection.cursor() as cursor:
        cursor.execute(
            "SELECT p.project, sum(p.unit_seconds), count(*), min(p.day), max(p.day) "
            "FROM accounting_statementpart p JOIN accounting_statementline l "
            "USING (organization_id, month, chunk, line_no) WHERE l.tier = 'guaranteed' "
            "AND l.kind = 'usage' GROUP BY 1"
        )
        rows = cursor.fetchall()
    assert rows == [("p", 8 * 100 * 3600, 5, date(2026, 10, 1), date(2026, 10, 5))]


def test_the_beat_hands_out_what_is_closing_and_waits_for_nobody(place, monkeypatch):
    handed = []
    monkeypatch.setattr(
        tasks.close_month_of, "apply_async", lambda args, **options: handed.append(args)
    )
    tasks.close_months()
    assert handed == []
    start(place)
    tasks.close_months()
    assert handed == [(str(place.id), "2026-10-01")]
    tasks.close_month_of(*handed[0])
    handed.clear()
    tasks.close_months()
    assert handed == []
    assert BEAT_TABLE["months-closing"]["task"] == tasks.close_months.name


def test_what_an_account_committed_to_counts_wherever_it_hung(place):
    nlp = place.accounts["nlp"]
    commitment = AgreeCommitment(account_id=nlp, amount=Decimal(50_000), from_month=OCTOBER)
    place.run(commitment, now=START, reason="deal")
    production = place.accounts["production"]
    move = MoveAccount(account_id=nlp, to_parent_id=production)
    place.run(move, now=START + 10 * DAY)
    for under in (None, production, nlp):
        found = live(place, under=under).lines
        (missing,) = (line for line in found if line.kind == Kind.COMMITMENT)
        whole = [line for line in live(place).lines if nlp in line.key.above]
        assert money.total([line.amount for line in whole]) == 50_000
        assert missing.key.above == (place.root, production, nlp)
        assert 0 < missing.amount < 50_000
    assert not [
        line
        for line in live(place, under=place.accounts["research"]).lines
        if line.kind == Kind.COMMITMENT
    ]
    whole = live(place)
    close(place)
    assert {line.amount for line in stored(place)} == {line.amount for line in whole.lines}
