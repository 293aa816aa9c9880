"""Events and dates become notices: whom, in which words, and each exactly once."""

from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from ledger import scope
from ledger.sql import server_cursor
from notices import reading, registry
from notices.queries import notices
from notices.registry import Draft, Holders, Look, Someone
from notices.steps import due_step
from notices.writing import Item, write
from quota.commands.pools import SetUnavailable
from quota.commands.quotas import EndQuota, SettleQuotas
from tests.quota.conftest import Quotas
from tests.world import NOW, Tenant, record

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
def quotas(acme) -> Quotas:
    return Quotas(acme)


def told(place: Tenant, name: str, kind: str = "") -> list[str]:
    """Titles of somebody's notices, oldest first."""
    with scope.reading(place.id):
        page = notices(place.id, place.people[name], kinds=(kind,) if kind else ())
    return [row.title for row in reversed(page.rows)]


def read(place: Tenant, *, now=NOW) -> int:
    return reading.read_events(place.id, now=now)


def count(place: Tenant, table: str = "notices_notice") -> int:
    with scope.reading(place.id), server_cursor() as cursor:
        return cursor.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def test_a_lead_is_told_of_a_changed_quota_with_what_it_was_and_why(acme, quotas):
    quotas.set("nlp", 40)
    quotas.set("nlp", 60, now=NOW + timedelta(hours=1), reason="more of it", by="otto")
    read(acme)
    assert told(acme, "alice") == [
        "nlp on h100: 40 units guaranteed",
        "nlp on h100: 60 units guaranteed",
    ]
    with scope.reading(acme.id):
        newest = notices(acme.id, acme.people["alice"]).rows[0]
    assert "It had 40 before." in newest.body and "Reason: more of it." in newest.body
    assert newest.link == "/accounts/nlp/quota"
    assert told(acme, "bob") == [] and told(acme, "otto") == []


def test_reading_again_late_or_from_the_start_tells_nothing_twice(acme, quotas):
    quotas.set("nlp", 40)
    read(acme)
    before = count(acme)
    assert read(acme) == 0
    with scope.writing(acme.id), server_cursor() as cursor:
        cursor.execute("DELETE FROM ledger_reader WHERE reader = 'notices'")
    assert read(acme, now=NOW + timedelta(days=1)) > 0
    assert count(acme) == before
    assert count(acme, "notices_mail") == before


def test_names_with_anything_in_them_stop_nobody(acme, quotas):
    with scope.writing(acme.id), server_cursor() as cursor:
        cursor.execute("UPDATE tenancy_person SET display_name = 'O{t}to <%s>' WHERE name = 'otto'")
    quotas.set("nlp", 40, by="otto", reason="{0} %s <b>")
    read(acme)
    with scope.reading(acme.id):
        body = notices(acme.id, acme.people["alice"]).rows[0].body
    assert body.startswith("O{t}to <%s> changed") and body.endswith("Reason: {0} %s <b>.")


def test_a_second_worker_leaves_the_reading_to_the_first(acme, quotas, owner):
    quotas.set("nlp", 40)
    owner.execute("BEGIN")
    owner.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"reader:notices:{acme.id}",)
    )
    assert read(acme) == 0
    owner.execute("ROLLBACK")
    assert read(acme) > 0


def test_what_a_reader_missed_for_weeks_is_no_news(acme, quotas):
    quotas.set("nlp", 40)
    quotas.set("nlp", 50, now=NOW + timedelta(days=12))
    quotas.set("nlp", 60, now=NOW + timedelta(days=18))
    read(acme, now=NOW + timedelta(days=19))
    assert len(told(acme, "alice")) == 2
    assert count(acme, "notices_mail") == 1


def test_roles_count_downward_and_the_nearest_is_told(acme, quotas):
    acme.person("rosa")
    acme.role("rosa", "lead", on="research")
    quotas.set("nlp", 10)
    quotas.set("vision", 10)
    read(acme)
    assert told(acme, "alice") == ["nlp on h100: 10 units guaranteed"]
    assert told(acme, "rosa") == ["vision on h100: 10 units guaranteed"]


def test_who_did_it_is_not_told(acme, quotas):
    acme.role("otto", "lead", on="vision")
    quotas.set("vision", 10, by="otto")
    read(acme)
    assert told(acme, "otto") == []


def test_the_end_of_a_temporary_quota_is_told(acme, quotas):
    end = NOW + timedelta(days=10)
    quotas.set("nlp", 40, ends_at=end)
    acme.run(SettleQuotas(), now=end)
    quotas.set("nlp", 30, now=end, ends_at=end + timedelta(days=5))
    acme.run(
        EndQuota(account_id=acme.accounts["nlp"], pool_id=acme.pools["h100"]),
        now=end + timedelta(days=1),
        reason="done",
    )
    read(acme, now=end + timedelta(days=1))
    assert told(acme, "alice", "quota.ended") == [
        "The temporary quota of nlp on h100 ended",
        "The temporary quota of nlp on h100 ended before its time",
    ]


def test_a_refused_change_is_told_to_the_lead_and_to_operators(acme, quotas):
    quotas.set("nlp", 60, effective_at=NOW + timedelta(days=1))
    quotas.set("vision", 60)
    acme.run(SettleQuotas(), now=NOW + timedelta(days=1))
    read(acme, now=NOW + timedelta(days=1))
    expected = ["A scheduled change of nlp on h100 was refused"]
    assert told(acme, "alice", "quota.lapsed") == expected
    assert told(acme, "otto", "quota.lapsed") == expected


def test_operators_are_told_of_an_over_promised_pool(acme, quotas):
    quotas.set("nlp", 60)
    lost = SetUnavailable(pool_id=acme.pools["h100"], unavailable=50)
    acme.run(lost, by=acme.actor("otto"), reason="half of it burned")
    read(acme)
    assert told(acme, "otto") == ["The pool h100 has promised 10 units too many"]
    for hours, unavailable in ((1, 40), (2, 60), (26, 70)):
        now = NOW + timedelta(hours=hours)
        change = SetUnavailable(pool_id=acme.pools["h100"], unavailable=unavailable)
        acme.run(change, now=now, reason="up and down")
        read(acme, now=now)
    assert len(told(acme, "otto")) == 2, "once a day, and not when it fits"


def test_a_person_who_sends_usage_hears_how_it_went_and_a_machine_does_not(acme):
    acme.use(record("a"))
    read(acme)
    assert count(acme) == 0
    acme.use(record("b"), by=acme.actor("otto"))
    read(acme)
    assert told(acme, "otto") == ["1 usage row stored"]


# ------------------------------------------------------------------------------- reminders
def test_a_temporary_quota_is_reminded_of_at_14_3_and_1_days_once_each(acme, quotas):
    end = NOW + timedelta(days=40)
    quotas.set("nlp", 40, ends_at=end)
    made = [
        reading.remind(acme.id, now=end - timedelta(days=days))
        for days in (20, 14, 14, 13, 4, 3, 3, 2, 1, 1, 0)
    ]
    assert made == [0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0]
    assert told(acme, "alice") == [
        "The temporary quota of nlp on h100 ends in 14 days",
        "The temporary quota of nlp on h100 ends in 3 days",
        "The temporary quota of nlp on h100 ends tomorrow",
    ]
    with scope.reading(acme.id):
        assert notices(acme.id, acme.people["alice"]).rows[0].deadline == end


def test_a_missed_beat_catches_up_with_the_most_urgent_only(acme, quotas):
    end = NOW + timedelta(days=40)
    quotas.set("nlp", 40, ends_at=end)
    assert reading.remind(acme.id, now=end - timedelta(hours=20)) == 1
    # A worker whose clock or queue is behind says nothing that is overtaken.
    assert reading.remind(acme.id, now=end - timedelta(days=2)) == 0
    assert len(told(acme, "alice")) == 1


def test_an_extended_quota_is_reminded_of_anew(acme, quotas):
    end = NOW + timedelta(days=20)
    quotas.set("nlp", 40, ends_at=end)
    assert reading.remind(acme.id, now=end - timedelta(days=14)) == 1
    quotas.set("nlp", 40, ends_at=end + timedelta(days=30), now=end - timedelta(days=10))
    assert reading.remind(acme.id, now=end - timedelta(days=3)) == 0
    assert reading.remind(acme.id, now=end + timedelta(days=27)) == 1


def test_a_quota_given_for_two_days_is_not_reminded_of_at_once():
    end = NOW + timedelta(days=2)
    assert due_step(end, since=NOW, now=NOW) is None
    assert due_step(end, since=NOW, now=NOW + timedelta(days=1)) == 1
    assert due_step(NOW + timedelta(days=14), since=NOW, now=NOW) == 14
    assert due_step(end, since=NOW, now=end) is None


def test_operators_are_reminded_of_tokens(acme):
    acme.token(days=30)
    assert reading.remind(acme.id, now=NOW + timedelta(days=27)) == 1
    assert told(acme, "otto") == ["The API token scheduler expires in 3 days"]
    assert told(acme, "alice") == []


# ------------------------------------------------------------------------------- the registry
def test_links_and_recipients_of_many_drafts_are_resolved_at_once(
    acme, django_assert_max_num_queries
):
    items = [
        Item(
            kind="quota.ended",
            source=f"test:{n}",
            draft=Draft(
                to=(Someone(acme.people["bob"]), Holders(acme.accounts["nlp"], ("lead", "member"))),
                title=f"one\nline {n}",
                body="words",
                link=("account_quota", "nlp"),
                query={"pool": "h100"},
            ),
        )
        for n in range(50)
    ]
    with scope.writing(acme.id), django_assert_max_num_queries(2):
        assert write(acme.id, items, now=NOW, zone=BERLIN) == 100
        assert write(acme.id, items, now=NOW, zone=BERLIN) == 0
    assert told(acme, "bob")[0] == "one line 0"
    with scope.reading(acme.id):
        assert notices(acme.id, acme.people["bob"]).rows[0].link == "/accounts/nlp/quota?pool=h100"


def test_two_kinds_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two kinds"):
        registry.kind("quota.ended", label="", about="", on=())(lambda event, look: None)


def test_every_kind_is_in_the_guide_and_has_words_of_its_own():
    guide = (Path(__file__).parents[2] / "docs" / "user" / "notices.md").read_text()
    for kind in registry.KINDS.values():
        assert f"| {kind.label} |" in guide, kind.name
        assert kind.about.endswith("."), kind.name
    labels = [kind.label for kind in registry.KINDS.values()]
    assert len(set(labels)) == len(labels)
    assert registry.KINDS.keys() == registry.TRIGGERS.keys() | registry.SCANS.keys()


def test_names_and_days_are_those_of_the_organization(acme):
    look = Look(names={acme.root: "root"}, zone=BERLIN, now=NOW)
    assert look.day(NOW) == "29 Nov 2026, 13:00"
    assert look.name(acme.root) == "root" and look.name(None) == "?"
