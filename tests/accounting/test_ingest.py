"""Usage counts exactly once, in any order, and a bad record sinks nobody else's."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise, permutations

import pytest

from accounting.commands.usage import SettleUsage
from accounting.queries.use_by_day import use_by_day
from ledger import rebuild, scope, verification
from ledger.sql import server_cursor
from tests.world import NOW, Tenant, record, tenant


def rows(acme: Tenant, sql: str) -> list[tuple]:
    with scope.reading(acme.id), server_cursor() as cursor:
        return cursor.execute(sql).fetchall()


def unit_hours(acme: Tenant) -> Decimal:
    return rows(acme, "SELECT coalesce(sum(unit_seconds), 0) / 3600 FROM accounting_usageday")[0][0]


def codes(answer) -> list[tuple[int, str, str]]:
    return [(verdict.line, verdict.status, verdict.code) for verdict in answer.records]


def test_a_record_is_counted_once_however_often_it_is_sent(acme):
    first = acme.use(record("a"), record("b"))
    again = acme.use(record("b"), record("c"))
    assert (first.accepted, again.accepted, again.duplicates) == (2, 1, 1)
    assert codes(again) == [(1, "duplicate", "duplicate")]
    assert unit_hours(acme) == 24


def test_the_same_key_with_other_content_is_a_conflict_and_overwrites_nothing(acme):
    acme.use(record("a"))
    answer = acme.use(record("a", units=9))
    assert codes(answer) == [(1, "conflict", "key_conflict")]
    assert unit_hours(acme) == 8


def test_the_same_instant_in_another_zone_is_the_same_content(acme):
    start = datetime(2026, 11, 29, 8, 0, tzinfo=UTC)
    acme.use(record("a", start=start))
    shifted = start.astimezone(datetime.fromisoformat("2026-01-01T00:00:00+05:30").tzinfo)
    assert acme.use(record("a", start=shifted)).duplicates == 1


def test_keys_repeat_within_a_batch(acme):
    answer = acme.use(record("a"), record("a"), record("a", units=3), record("b"))
    assert codes(answer) == [(2, "duplicate", "duplicate"), (3, "conflict", "key_conflict")]
    assert answer.accepted == 2


def test_unknown_names_are_reported_each_with_its_line_and_the_rest_is_stored(acme):
    answer = acme.use(
        record("a", account="nowhere"),
        record("b", person="nobody"),
        record("c", pool="nothing"),
        record("d"),
    )
    assert codes(answer) == [
        (1, "rejected", "account_unknown"),
        (2, "rejected", "person_unknown"),
        (3, "rejected", "pool_unknown"),
    ]
    assert answer.accepted == 1
    assert unit_hours(acme) == 8


def test_nothing_accepted_leaves_no_batch(acme):
    answer = acme.use(record("a", account="nowhere"))
    assert answer.batch_id is None
    assert rows(acme, "SELECT count(*) FROM accounting_usagebatch") == [(0,)]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"hours": -1}, "end_before_start"),
        ({"start": datetime(1999, 12, 31, tzinfo=UTC)}, "start_out_of_range"),
        ({"start": NOW + timedelta(days=400)}, "start_out_of_range"),
        ({"hours": 24 * 4000, "start": datetime(2010, 1, 1, tzinfo=UTC)}, "too_long"),
        ({"compute_util": 1.5}, "utilization_range"),
        ({"productive_util": -0.1}, "utilization_range"),
        ({"memory_gb": -1.0}, "memory_range"),
        ({"key": "x" * 256}, "key_length"),
        ({"key": "a\tb"}, "control_character"),
        ({"account": "a\nb"}, "control_character"),
        ({"supersedes": "k", "key": "k"}, "supersedes_itself"),
        ({"labels": {"a": "x" * 256}}, "label_length"),
        ({"labels": {str(n): "" for n in range(33)}}, "too_many_labels"),
    ],
)
def test_a_bad_value_is_rejected_with_its_code(acme, change, code):
    values = {"key": "bad"} | change
    answer = acme.use(record(**values), record("good"))
    assert codes(answer) == [(1, "rejected", code)]
    assert answer.accepted == 1


def test_backslashes_bars_and_quotes_survive(acme):
    labels = {"name": 'a\\b|"c"\tä\n'}
    acme.use(record("k\\1|\"'", labels=labels))
    assert rows(acme, "SELECT key, labels->>'name' FROM accounting_usagerecord") == [
        ("k\\1|\"'", labels["name"])
    ]


def test_a_correction_takes_back_the_old_values_and_counts_the_new(acme):
    acme.use(record("a", hours=10, start=NOW - timedelta(hours=11)))
    answer = acme.use(record("a2", hours=2, start=NOW - timedelta(hours=11), supersedes="a"))
    assert answer.accepted == 1
    assert unit_hours(acme) == 16
    assert rows(acme, "SELECT key, sign FROM accounting_usagerecord ORDER BY key, sign DESC") == [
        ("a", 1),
        ("a", -1),
        ("a2", 1),
    ]


def test_a_record_can_be_superseded_only_once(acme):
    acme.use(record("a"))
    acme.use(record("b", supersedes="a"))
    answer = acme.use(record("c", supersedes="a"))
    assert codes(answer) == [(1, "conflict", "already_superseded")]
    assert unit_hours(acme) == 8


def test_superseding_an_unknown_record_is_rejected_unless_optional(acme):
    answer = acme.use(
        record("a", supersedes="never"),
        record("b", supersedes="late", supersedes_optional=True),
    )
    assert codes(answer) == [(1, "rejected", "supersedes_unknown")]
    assert answer.accepted == 1


def test_a_running_record_that_comes_after_its_end_adds_nothing(acme):
    acme.use(record("job", supersedes="job#open", supersedes_optional=True))
    answer = acme.use(record("job#open", hours=None))
    assert codes(answer) == [(1, "duplicate", "superseded")]
    assert rows(acme, "SELECT count(*) FROM accounting_openusage") == [(0,)]


def test_both_states_of_a_job_in_one_batch_count_once(acme):
    answer = acme.use(
        record("job#open", hours=None),
        record("job", supersedes="job#open", supersedes_optional=True),
    )
    assert answer.accepted + answer.duplicates == 2
    assert unit_hours(acme) == 8
    assert rows(acme, "SELECT count(*) FROM accounting_openusage") == [(0,)]


def test_a_running_record_waits_until_it_is_superseded(acme):
    acme.use(record("job#open", hours=None))
    assert unit_hours(acme) == 0
    assert rows(acme, "SELECT key FROM accounting_openusage") == [("job#open",)]
    acme.use(record("job", hours=1, supersedes="job#open"))
    assert unit_hours(acme) == 8
    assert rows(acme, "SELECT count(*) FROM accounting_openusage") == [(0,)]


def test_a_record_that_ends_in_the_future_is_settled_when_its_end_has_passed(acme):
    acme.use(record("a", hours=4))
    assert unit_hours(acme) == 0
    later = NOW + timedelta(hours=3)
    assert acme.run(SettleUsage(until=later), now=NOW).result.records == 0
    assert acme.run(SettleUsage(until=later), now=later).result.records == 1
    assert acme.run(SettleUsage(until=later), now=later).result.records == 0
    assert unit_hours(acme) == 32


def test_days_are_those_of_the_organization_and_may_have_25_hours(acme):
    # Berlin leaves summer time on 2026-10-25: that day has 25 hours.
    start = datetime(2026, 10, 24, 12, 0, tzinfo=UTC)
    acme.use(record("a", units=1, start=start, hours=48))
    assert rows(
        acme, "SELECT day, (unit_seconds / 3600)::int FROM accounting_usageday ORDER BY day"
    ) == [(date(2026, 10, 24), 10), (date(2026, 10, 25), 25), (date(2026, 10, 26), 13)]


@pytest.mark.parametrize(
    ("zone", "start", "hours", "days"),
    [
        # Clocks go back from 01:00 to 00:00: Sunday has its first hour twice.
        ("Atlantic/Azores", "2026-10-24T23:30Z", 1, {24: "0.5", 25: "0.5"}),
        ("Atlantic/Azores", "2026-10-24T22:00Z", 48, {24: 2, 25: 25, 26: 21}),
        ("America/Havana", "2026-11-01T03:30Z", 2, {31: "0.5", 1: "1.5"}),
        # From 24:00 back to 23:00: the day before has its last hour twice.
        ("Asia/Beirut", "2026-10-24T19:00Z", 4, {24: 3, 25: 1}),
        # From 24:00 on to 01:00: the day begins at one.
        ("America/Santiago", "2026-09-06T03:00Z", 2, {5: 1, 6: 1}),
    ],
)
def test_days_whose_midnight_comes_twice_or_never(db, zone, start, hours, days):
    place = tenant("edge", time_zone=zone)
    place.account("nlp")
    place.person("bob", "nlp")
    place.pool("h100")
    began = datetime.fromisoformat(start)
    expected = {day: Decimal(value) for day, value in days.items()}
    place.use(record("running", units=1, start=began, hours=None), now=began)
    now = began + timedelta(hours=hours)
    with scope.reading(place.id):
        running = use_by_day(
            place.id,
            account_id=place.root,
            since=began.date() - timedelta(days=2),
            until=now.date() + timedelta(days=1),
            now=now,
        )
    assert {one.day.day: one.unit_seconds / 3600 for one in running} == expected
    place.use(record("ended", units=1, start=began, hours=hours, supersedes="running"), now=now)
    ended = rows(place, "SELECT day, unit_seconds / 3600 FROM accounting_usageday")
    assert {day.day: amount for day, amount in ended} == expected


def test_unknown_measurements_are_kept_apart_from_zero(acme):
    acme.use(record("a", compute_util=0.5), record("b", compute_util=0.0), record("c"))
    assert rows(
        acme,
        "SELECT unit_seconds / 3600, compute_known / 3600, compute_busy / 3600, productive_known "
        "FROM accounting_usageday",
    ) == [(24, 16, 4, 0)]


def test_the_order_of_arrival_changes_no_sum(acme, globex):
    def records(n: int) -> list[dict]:
        start = NOW - timedelta(days=3)
        return [
            record(
                f"r{i}",
                person="bob" if n else "charlie",
                units=i + 1,
                hours=1 + i / 7,
                start=start + timedelta(minutes=37 * i),
            )
            for i in range(20)
        ]

    for one in records(1):
        acme.use(one)
    globex.use(*reversed(records(0)))
    sums = (
        "SELECT sum(forward), count(*), (SELECT sum(unit_seconds) FROM accounting_usageday) "
        "FROM accounting_decayedusage"
    )
    assert rows(acme, sums) == rows(globex, sums)


def test_the_fingerprint_of_a_records_content_never_changes(acme):
    """Records sent again in ten years must still be duplicates: these digests are kept forever."""
    acme.use(
        record("plain"),
        record(
            "full",
            tier="spot",
            hours=None,
            start=NOW - timedelta(microseconds=1),
            compute_util=0.25,
            productive_util=0.5,
            memory_gb=61.5,
            supersedes="old",
            supersedes_optional=True,
            labels={"b": "2", "a": 'q"\\\tz'},
        ),
    )
    assert rows(acme, "SELECT key, content::text FROM accounting_usagerecord ORDER BY key") == [
        ("full", "6fc4f672-0965-a9c8-94f4-2becd3a8e0ab"),
        ("plain", "ed019188-35b3-7f66-1aff-c498a5a0cd3e"),
    ]


def test_the_month_of_a_start_is_that_of_utc(acme):
    """Half past midnight in Kolkata is the evening before in UTC: another month's partition."""
    kolkata = datetime.fromisoformat("2015-02-01T00:30:00+05:30")
    caracas = datetime.fromisoformat("2014-05-31T22:00:00-04:30")
    answer = acme.use(record("a", start=kolkata), record("b", start=caracas))
    assert answer.accepted == 2
    assert unit_hours(acme) == 16


CHAIN = (
    record("a", units=100),
    record("b", units=10, supersedes="a", supersedes_optional=True),
    record("c", units=1, supersedes="b", supersedes_optional=True),
)


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("cuts", [(), (1,), (2,), (1, 2)])
def test_of_a_chain_of_corrections_the_last_counts_however_it_comes(acme, order, cuts):
    inputs = [CHAIN[n] for n in order]
    for first, last in pairwise((0, *cuts, 3)):
        acme.use(*inputs[first:last])
    assert unit_hours(acme) == 1
    for one in CHAIN:
        assert acme.use(one).accepted == 0
    assert unit_hours(acme) == 1
    assert verification.verify(acme.id).findings == []
    assert rebuild.rebuild(acme.id).differences == ()


@pytest.mark.parametrize("hours", [None, 5])
def test_a_chain_of_records_that_run_leaves_the_last_one_running(acme, hours):
    acme.use(
        record("c", hours=hours, supersedes="b"),
        record("b", hours=hours, supersedes="a"),
        record("a", hours=hours),
    )
    assert rows(acme, "SELECT key FROM accounting_openusage") == [("c",)]
    assert unit_hours(acme) == 0


def test_a_correction_may_come_before_what_it_corrects_in_the_same_batch(acme):
    answer = acme.use(record("b", units=1, supersedes="a"), record("a"))
    assert (answer.accepted, answer.records) == (2, ())
    assert unit_hours(acme) == 1


def test_a_correction_that_is_rejected_takes_nothing_back(acme):
    answer = acme.use(record("a"), record("b", account="nowhere", supersedes="a"))
    assert codes(answer) == [(2, "rejected", "account_unknown")]
    assert unit_hours(acme) == 8


def test_a_correction_of_a_rejected_record_counts_and_the_mended_one_comes_too_late(acme):
    answer = acme.use(record("a", account="nowhere"), record("b", units=1, supersedes="a"))
    assert codes(answer) == [(1, "rejected", "account_unknown")]
    assert codes(acme.use(record("a"))) == [(1, "duplicate", "superseded")]
    assert unit_hours(acme) == 1


def test_no_ring_of_corrections(acme):
    ring = (
        record("a", supersedes="c", supersedes_optional=True),
        record("b", supersedes="a", supersedes_optional=True),
        record("c", supersedes="b", supersedes_optional=True),
    )
    answer = acme.use(*ring)
    assert codes(answer) == [(3, "rejected", "supersedes_itself")]
    assert unit_hours(acme) == 8
    assert codes(acme.use(ring[2])) == [(1, "rejected", "supersedes_itself")]
    assert unit_hours(acme) == 8
