"""Sentences of the ledger: instants as the organization's clocks show them."""

from dataclasses import fields
from zoneinfo import ZoneInfo

import pytest

from frontend.history import sentence
from ledger.queries import EventRow

ZURICH = ZoneInfo("Europe/Zurich")


def told(kind: str, **payload) -> str:
    given = {"type": kind, "payload": payload}
    event = EventRow(**{field.name: given.get(field.name) for field in fields(EventRow)})
    return sentence(event, {}, ZURICH)


def scheduled(starts_at: str) -> str:
    return told("quota.scheduled", quota={"guaranteed": 32}, starts_at=starts_at)


def test_a_change_to_come_names_local_time():
    winter = scheduled("2026-12-13T15:47:24.609643Z")
    assert winter.endswith("from 2026-12-13 16:47:24 CET: 32 guaranteed")
    assert "from 2026-07-01 02:00:00 CEST:" in scheduled("2026-07-01T00:00:00Z")


def test_other_instants_too_and_only_those():
    reset = told("fairshare.reset", at="2026-11-29T12:00:00+00:00")
    assert reset == "Use before 2026-11-29 13:00:00 CET no longer counts for priority"
    odd = told("fairshare.reset", at="long ago")
    assert odd == "Use before long ago no longer counts for priority"


def test_months_deadlines_and_kinds_are_told_as_pages_tell_them():
    closed = told("statement.closed", month="2026-10-01", statements=12, amount="1300616.94")
    assert closed == "The month 2026-10 closed: 12 statements, 1,300,616.94"
    opened = told("cycle.opened", name="Q4", quota_count=25, deadline="2026-12-11T02:57:01Z")
    assert opened.endswith("25 quotas until 2026-12-11 03:57:01 CET")
    assert told("request.drafted", terms={"kind": "boost"}).endswith("drafted: more for a while")


def test_lists_and_switches_are_told_in_words():
    figures = ["utilization", "productive_cost"]
    kept = told("comparison.policy_set", reach="department", figures=figures, named=True)
    assert kept.endswith("department, figures utilization, productive cost, named yes")
    bare = told("comparison.policy_set", reach="off", figures=[], named=False)
    assert bare.endswith("off, figures none, named no")


def test_a_quota_is_told_as_a_whole():
    """A change of a limit alone reads otherwise than what stood before."""
    quota = {"guaranteed": 1200, "borrowing_limit": 0, "lending_limit": None}
    plain = told("quota.set", quota=quota, ends_at=None, lender_id=None, borrower_id=None)
    assert plain.endswith("set: 1,200 guaranteed, borrowing limit 0")
    lender = "01a22905-09f7-7788-a3a8-96a7db4b5849"
    carved = told("quota.set", quota=quota, ends_at="2026-12-24T00:00:00Z", lender_id=lender)
    assert carved.endswith(
        "borrowing limit 0, until 2026-12-24 01:00:00 CET, exchanged with 01a22905…"
    )
    lent = told("quota.set", quota={"guaranteed": 4}, lender_id=lender, borrower_id=lender)
    assert lent.endswith("set: 4 guaranteed, by a change of 01a22905…")


@pytest.mark.parametrize(
    ("kind", "units", "said"),
    [
        ("allocation.started", 1, "… runs with 1 unit of 01a22905…, spot"),
        ("allocation.started", 11, "… runs with 11 units of 01a22905…, spot"),
        ("allocation.expired", 1, "expired with 1 spot unit of 01a22905…"),
        ("allocation.preempted", 1, "1 spot unit of 01a22905… taken back"),
        ("reclaim.demoted", 1, "1 idle unit left the guarantee"),
        ("reclaim.demoted", 2, "2 idle units left the guarantee"),
    ],
)
def test_one_is_told_as_one(kind, units, said):
    some = "01a22905-09f7-7788-a3a8-96a7db4b5849"
    ids = dict.fromkeys(("allocation_id", "account_id", "pool_id"), some)
    assert said in told(kind, units=units, tier="spot", **ids)
