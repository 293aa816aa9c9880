"""The demo's organization is believable: its sizes, its rhythm, its characters, its physics."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from accounting.importers.record import ImportedRecord
from demo import organization
from demo.generator import DAYS, generate
from demo.values import Demo
from tenancy.domain.roles import Role

NOW = datetime(2026, 11, 29, 14, 25, 7, 123456, tzinfo=UTC)
ZONE = ZoneInfo("Europe/Zurich")


@pytest.fixture(scope="module")
def demo() -> Demo:
    return generate(now=NOW, seed=7)


def unit_hours(record: ImportedRecord) -> float:
    return record.units * ((record.end or NOW) - record.start).total_seconds() / 3600


def test_the_same_now_and_seed_give_the_same_demo(demo: Demo) -> None:
    assert generate(now=NOW, seed=7) == demo
    assert generate(now=NOW, seed=8).records != demo.records


def test_sizes(demo: Demo) -> None:
    parents = {entry.parent for entry in demo.tree.accounts}
    departments = [entry for entry in demo.tree.accounts if entry.parent is None]
    teams = [entry for entry in demo.tree.accounts if entry.name not in parents]
    assert (len(departments), len(teams), len(demo.tree.people)) == (3, 10, 40)
    assert len(demo.pools) == 4
    assert len({pool.cluster for pool in demo.pools}) == 2
    assert 20_000 <= len(demo.records) <= 30_000
    assert all(person.email.endswith("@example.org") for person in demo.tree.people)


def test_everything_named_exists(demo: Demo) -> None:
    places = {(entry.account, entry.person) for entry in demo.tree.associations}
    pools = {pool.name for pool in demo.pools}
    accounts = {entry.name for entry in demo.tree.accounts}
    people = {entry.name for entry in demo.tree.people}
    for item in (*demo.records, *demo.pending):
        assert (item.account, item.person) in places
        assert item.pool in pools
    for quota in demo.quotas:
        assert quota.account in accounts
        assert quota.pool in pools
    for role in demo.roles:
        assert role.person in people
        assert role.account is None or role.account in accounts
        Role(role.role)
    assert {pool.flavor for pool in demo.pools} == {flavor.name for flavor in demo.flavors}
    assert {role.role for role in demo.roles} >= {
        "lead",
        "approver",
        "finance",
        "operator",
        "auditor",
    }


def test_promises_fit_their_pools_but_the_one_that_lost_devices(demo: Demo) -> None:
    promised = Counter()
    for quota in demo.quotas:
        promised[quota.pool] += quota.guaranteed
    over = {}
    for pool in demo.pools:
        kept = pool.capacity - pool.unavailable - pool.safety_margin
        over[pool.name] = max(0, promised[pool.name] - kept)
    assert over.pop(organization.ASCEND) == 4
    assert set(over.values()) == {0}


def test_records_are_sound(demo: Demo) -> None:
    keys = [record.key for record in demo.records]
    assert len(set(keys)) == len(keys)
    assert not {job.key for job in demo.pending} & set(keys)
    starts = [record.start for record in demo.records]
    assert starts == sorted(starts)
    oldest = min(record.end for record in demo.records if record.end)
    assert NOW - oldest < timedelta(days=DAYS + 1)
    for record in demo.records:
        assert record.start.tzinfo is UTC
        assert record.start <= NOW
        assert record.end is None or record.start < record.end <= NOW
        assert record.units > 0
        assert {"class", "workload", "model", "project"} <= set(record.labels)
        for share in (record.compute_util, record.productive_util):
            assert share is None or 0 <= share <= 1


def test_no_pool_ever_holds_more_than_it_has(demo: Demo) -> None:
    moments: dict[str, list[tuple[datetime, int]]] = defaultdict(list)
    for record in demo.records:
        moments[record.pool].append((record.start, record.units))
        if record.end:
            moments[record.pool].append((record.end, -record.units))
    for pool in demo.pools:
        held = peak = 0
        for _, units in sorted(moments[pool.name]):
            held += units
            peak = max(peak, held)
        room = pool.capacity - pool.unavailable
        assert 0.6 * room < peak <= room
        used = sum(unit_hours(record) for record in demo.records if record.pool == pool.name)
        assert 0.4 < used / room / 24 / DAYS < 0.95


def test_guaranteed_use_stays_within_the_guarantee(demo: Demo) -> None:
    guaranteed = {(quota.account, quota.pool): quota.guaranteed for quota in demo.quotas}
    moments: dict[tuple[str, str], list[tuple[datetime, int]]] = defaultdict(list)
    for record in demo.records:
        if record.tier == "guaranteed":
            place = (record.account, record.pool)
            moments[place].append((record.start, record.units))
            if record.end:
                moments[place].append((record.end, -record.units))
    for place, changes in moments.items():
        held = 0
        for _, units in sorted(changes):
            held += units
            assert held <= guaranteed[place]


def test_something_of_each_kind_is_there_now(demo: Demo) -> None:
    assert {record.tier for record in demo.records} == {"guaranteed", "borrowed", "spot"}
    running = [record for record in demo.records if record.end is None]
    assert 20 <= len(running) <= 400
    assert {record.labels["class"] for record in demo.records} == {"P0", "P1", "P2", "P3"}
    assert len({job.account for job in demo.pending}) >= 8
    assert all(job.submitted_at <= NOW for job in demo.pending)
    unknown = [record for record in demo.records if record.compute_util is None]
    assert 0.05 < len(unknown) / len(demo.records) < 0.6


def started(demo: Demo, account: str, workload: str | None = None) -> Iterator[datetime]:
    for record in demo.records:
        if record.account == account and workload in (None, record.labels["workload"]):
            yield record.start.astimezone(ZONE)


def test_weeks_and_days_have_a_rhythm(demo: Demo) -> None:
    office = list(started(demo, "code-tools", "interactive"))
    weekday = sum(moment.weekday() < 5 for moment in office) / 5
    weekend = sum(moment.weekday() >= 5 for moment in office) / 2
    assert weekend < 0.3 * weekday
    by_day = sum(9 <= moment.hour < 18 for moment in office)
    assert by_day > 0.65 * len(office)
    nights = [
        record.start.astimezone(ZONE)
        for record in demo.records
        if record.account == "data-engine" and record.pool == "north-a100"
    ]
    assert sum(moment.hour >= 20 or moment.hour < 7 for moment in nights) > 0.7 * len(nights)


def test_research_comes_in_bursts_and_serving_does_not(demo: Demo) -> None:
    def loudest_over_median(account: str, workload: str) -> float:
        weeks = Counter(moment.isocalendar().week for moment in started(demo, account, workload))
        counts = sorted(weeks.values())
        return counts[-1] / counts[len(counts) // 2]

    assert loudest_over_median("post-training", "finetuning") > 1.5
    serving = [
        record
        for record in demo.records
        if record.account == "assistant" and record.pool == "north-h100"
    ]
    begin = NOW - timedelta(days=DAYS - 1)
    for hours in range(0, 24 * (DAYS - 2), 24):
        moment = begin + timedelta(hours=hours)
        held = sum(
            record.units
            for record in serving
            if record.start <= moment < (record.end or NOW + timedelta(days=1))
        )
        assert held == 64, "serving never pauses"


def test_the_hoarder_holds_much_and_uses_little(demo: Demo) -> None:
    known = [
        record
        for record in demo.records
        if record.account == "robotics" and record.compute_util is not None
    ]
    hours = sum(unit_hours(record) for record in known)
    mean = sum(unit_hours(record) * record.compute_util for record in known) / hours
    assert hours > 20_000
    assert mean < 0.2


@pytest.mark.parametrize("day", [1, 2, 3, 4, 5, 6])
def test_any_day_and_seed_will_do(day: int) -> None:
    now = datetime(2026, 3, 28, 23, 59, tzinfo=UTC) + timedelta(days=day)
    made = generate(now=now, seed=day)
    assert 20_000 <= len(made.records) <= 30_000
    assert any(record.end is None for record in made.records)
    assert made.pending
