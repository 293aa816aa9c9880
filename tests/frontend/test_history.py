"""Sentences of the ledger: instants as the organization's clocks show them."""

from dataclasses import fields
from zoneinfo import ZoneInfo

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
    assert winter.endswith("will be 32 from 2026-12-13 16:47:24 CET")
    assert scheduled("2026-07-01T00:00:00Z").endswith("from 2026-07-01 02:00:00 CEST")


def test_other_instants_too_and_only_those():
    reset = told("fairshare.reset", at="2026-11-29T12:00:00+00:00")
    assert reset == "Use before 2026-11-29 13:00:00 CET no longer counts for priority"
    odd = told("fairshare.reset", at="long ago")
    assert odd == "Use before long ago no longer counts for priority"
