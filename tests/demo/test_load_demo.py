"""`manage.py load_demo`: everything once, with a past, and ways in that work."""

import io
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from rest_framework.exceptions import AuthenticationFailed

from config.demo_client import DemoFile, request_of_curl
from demo import history, loading, organization
from demo.generator import generate
from demo.management.commands import load_demo
from demo.values import Demo
from ledger import scope
from ledger.ids import new_id
from ledger.sql import server_cursor
from quota.queries.quotas import coming, promises
from tenancy import queries
from tenancy.authentication import authenticate_token
from tenancy.commands.imports import ImportTree
from tenancy.importers import sacctmgr
from tenancy.models import User
from tests.world import Tenant, tenant

NOW = datetime(2026, 11, 29, 16, 30, tzinfo=UTC)
EVERY = 25
"""Tests load one record in so many: the way is the same, the time is not."""

LATELY = timedelta(minutes=40)


@cache
def few(*, now: datetime, seed: int) -> Demo:
    """The demo with one ended record in EVERY, those of the last minutes, and all that run."""
    demo = generate(now=now, seed=seed)
    running = tuple(record for record in demo.records if record.end is None)
    ended = tuple(record for record in demo.records if record.end is not None)
    lately = [record for record in ended if record.end > now - LATELY]
    old = [record for record in ended if record.end <= now - LATELY]
    return replace(demo, records=(*old[::EVERY], *lately, *running))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_demo, "generate", few)


@pytest.fixture(autouse=True)
def var(settings: Any, tmp_path: Path) -> Path:
    settings.VAR_DIR = tmp_path
    return tmp_path


def load(*, now: datetime = NOW, **options: Any) -> str:
    out = io.StringIO()
    call_command("load_demo", stdout=out, now=now, **options)
    return out.getvalue()


def content(var: Path) -> dict[str, Any]:
    return json.loads((var / "demo.json").read_text())


def found(slug: str) -> UUID:
    organization_id = queries.organization_id_by_slug(slug)
    assert organization_id is not None
    return organization_id


def rows(slug: str, sql: str) -> list[tuple]:
    with scope.reading(found(slug)), server_cursor() as cursor:
        return cursor.execute(sql).fetchall()


def events() -> dict[str, int]:
    return {
        slug: rows(slug, "SELECT count(*) FROM ledger_event")[0][0]
        for slug in (organization.SLUG, loading.LAB_SLUG)
    }


pytestmark = pytest.mark.django_db


def test_everything_is_loaded_once(var: Path) -> None:
    load()
    counted = events()
    before = content(var)
    assert rows("meridian", "SELECT count(*) FROM tenancy_account") == [(14,)]
    assert rows("meridian", "SELECT count(*) FROM tenancy_person") == [(40,)]
    assert rows("meridian", "SELECT count(*) FROM quota_pool") == [(4,)]
    assert rows("meridian", "SELECT count(*) FROM accounting_usagerecord")[0][0] > 900
    assert rows("meridian", "SELECT count(*) FROM accounting_openusage")[0][0] > 20
    assert "nothing was changed" in load(now=NOW + timedelta(days=3))
    assert events() == counted
    assert content(var) == before


def test_the_sample_counts_as_it_was_worked_out_by_hand() -> None:
    load()
    assert rows("slurm-lab", "SELECT sum(unit_seconds) FROM accounting_usageday") == [(4064,)]
    with (loading.SAMPLES / "sacctmgr_dump.cfg").open() as lines:
        plan = sacctmgr.read(lines).plan
    assert plan is not None
    lab = Tenant(id=found("slurm-lab"), root=new_id())
    wanted = ImportTree(wanted=plan, archive_missing=True, end_missing=True)
    assert lab.run(wanted).result.total == 0


def test_the_tree_is_the_generators_in_the_end_and_was_another_before() -> None:
    load()
    meridian = Tenant(id=found("meridian"), root=new_id())
    wanted = ImportTree(wanted=organization.tree(), archive_missing=True, end_missing=True)
    assert meridian.run(wanted).result.total == 0
    moved = rows(
        "meridian",
        "SELECT actor_label, reason, recorded_at FROM ledger_event WHERE type = 'account.moved'",
    )
    assert [(row[0], row[2].date().isoformat()) for row in moved] == [("jholm", "2026-11-03")]
    assert history.as_it_was(organization.tree()) != organization.tree()


def test_history_is_told_in_its_order() -> None:
    load()
    told = rows("meridian", "SELECT recorded_at FROM ledger_event ORDER BY position")
    times = [row[0] for row in told]
    assert times == sorted(times)
    assert (times[0], times[-1]) == (NOW - loading.AGE, NOW)
    late = rows(
        "meridian",
        "SELECT count(*) FROM accounting_usagerecord r JOIN accounting_usagebatch b "
        "ON b.id = r.batch_id WHERE r.ended_at > b.recorded_at OR r.started_at > b.recorded_at",
    )
    assert late == [(0,)]
    weeks = rows("meridian", "SELECT DISTINCT recorded_at FROM accounting_usagebatch ORDER BY 1")
    assert 13 <= len(weeks) <= 15
    assert all(row[0].weekday() == 0 for row in weeks[:-1])
    out = io.StringIO()
    call_command("ledger", "verify", stdout=out)
    assert out.getvalue().count("all right") == 2


def test_the_ways_in_work(var: Path) -> None:
    load(address="http://demo.example:9")
    told = content(var)
    assert (var / "demo.json").stat().st_mode & 0o777 == 0o600
    for login in told["logins"]:
        user = User.objects.get(email=login["email"])
        assert user.check_password(login["password"])
    choices = queries.organizations_of(User.objects.get(email="jholm@example.org").pk)
    assert [choice.slug for choice in choices] == ["meridian", "slurm-lab"]
    for entry in told["organizations"]:
        assert authenticate_token(entry["token"], now=NOW).organization_id == found(entry["slug"])
        request = request_of_curl(entry["curl"])
        assert request.full_url == "http://demo.example:9/api/v1/priorities"
        (job,) = json.loads(request.data)["jobs"]
        for table, name in (
            ("tenancy_account", job["account"]),
            ("tenancy_person", job["person"]),
            ("quota_pool", job["pool"]),
        ):
            assert (name,) in rows(entry["slug"], f"SELECT name FROM {table}")
    denied = request_of_curl(told["curl_denied"])
    assert denied.full_url == "http://demo.example:9/api/v1/admissions"
    answer = Client().post(
        "/api/v1/admissions",
        denied.data,
        content_type="application/json",
        headers={"Authorization": denied.get_header("Authorization")},
    )
    (result,) = answer.json()["results"]
    assert result["status"] == "denied"
    assert [block["limit"] for block in result["blocks"]] == ["borrowing_limit"]
    demo = DemoFile.read(var / "demo.json", base_url="http://localhost:1")
    assert demo is not None
    assert "http://localhost:1/api/v1/priorities" in demo.curl


def test_a_lost_file_gives_new_ways_in_and_no_second_history(var: Path) -> None:
    load()
    counted, before = events(), content(var)
    (var / "demo.json").unlink()
    load()
    after = content(var)
    assert after["password"] != before["password"]
    assert User.objects.get(email="ana@example.org").check_password(after["password"])
    assert authenticate_token(after["token"], now=NOW).organization_id == found("meridian")
    # One rotation in each organization, and nothing else.
    assert events() == {slug: count + 1 for slug, count in counted.items()}
    with pytest.raises(AuthenticationFailed, match="unknown"):
        authenticate_token(before["token"], now=NOW + timedelta(seconds=1))


def test_an_expired_token_is_replaced_and_the_password_kept(var: Path) -> None:
    load()
    before = content(var)
    later = NOW + timedelta(days=400)
    load(now=later)
    after = content(var)
    assert after["password"] == before["password"]
    assert authenticate_token(after["token"], now=later).organization_id == found("meridian")


def test_a_load_that_broke_off_is_taken_up(var: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reports = history.reports

    def half(*args: Any, **facts: Any):
        for count, report in enumerate(reports(*args, **facts)):
            if count == 11:
                raise RuntimeError("killed")
            yield report

    monkeypatch.setattr(history, "reports", half)
    with pytest.raises(RuntimeError):
        load()
    monkeypatch.setattr(history, "reports", reports)
    load(now=NOW + timedelta(hours=7))
    # With the records of the first run, not those of seven hours later, and each once.
    demo = few(now=NOW, seed=load_demo.SEED)
    assert rows("meridian", "SELECT count(*) FROM accounting_usagerecord") == [(len(demo.records),)]
    assert rows("meridian", "SELECT max(recorded_at) FROM accounting_usagebatch") == [(NOW,)]
    once = "SELECT count(*) FROM ledger_event WHERE type = '%s'"
    assert rows("meridian", once % "organization.created") == [(1,)]
    assert rows("meridian", once % "account.moved") == [(1,)]
    counted = events()
    assert "nothing was changed" in load(now=NOW + timedelta(hours=8))
    assert events() == counted


def test_an_organization_of_somebody_else_is_left_alone(db: None) -> None:
    tenant("meridian")
    with pytest.raises(CommandError, match="organization of yours"):
        load()
    assert queries.organization_id_by_slug("slurm-lab") is None


def test_pools_and_allocations_tell_a_story() -> None:
    load()
    live = rows(
        "meridian",
        "SELECT a.tier, sum(a.units) FROM quota_allocation a WHERE a.lapses_at > "
        f"'{NOW.isoformat()}' GROUP BY 1",
    )
    assert {tier for tier, _ in live} == {"guaranteed", "borrowed", "spot"}
    ended = rows("meridian", "SELECT count(*) FROM quota_allocation WHERE state = 'released'")
    assert ended[0][0] > 0
    assert rows("meridian", "SELECT count(*) FROM quota_allocation WHERE state = 'expired'") == [
        (0,)
    ]
    with scope.reading(found("meridian")):
        promised = {one.pool.name: one for one in promises(found("meridian"), now=NOW)}
        to_come = coming(found("meridian"), now=NOW)
    over = {name: one.promise.over_promised_by for name, one in promised.items()}
    assert {name for name, units in over.items() if units} == {organization.ASCEND}
    assert [one.account for one in to_come] == ["robotics"]
    temporary = rows("meridian", "SELECT count(*) FROM quota_quota WHERE ends_at IS NOT NULL")
    assert temporary == [(3,)]


def test_requests_reviews_and_prices_tell_a_story(var: Path) -> None:
    load()
    states = rows(
        "meridian",
        "SELECT a.name, r.state FROM quota_request r JOIN tenancy_account a "
        "ON a.organization_id = r.organization_id AND a.id = r.account_id ORDER BY r.id",
    )
    assert [one for one in states if one[1] != "submitted"] == [
        ("translation", "provisioned"),
        ("data-engine", "provisioned"),
        ("code-tools", "provisioned"),
        ("climate", "rejected"),
        ("protein-design", "countered"),
        ("pretraining", "draft"),
    ]
    # About one nobody was asked; one waits for a second person's word.
    automatic = (
        "SELECT count(*) FROM quota_request WHERE state = 'provisioned' AND level_ids = '{}'"
    )
    assert rows("meridian", automatic) == [(1,)]
    second = "SELECT count(*) FROM quota_request WHERE approvals_needed = 2 AND approvals <> '[]'"
    assert rows("meridian", second) == [(1,)]
    entries = rows("meridian", "SELECT state, count(*) FROM quota_cycleentry GROUP BY 1 ORDER BY 1")
    assert [state for state, _ in entries] == ["asked", "decided", "undecided"]
    told = dict(
        rows(
            "meridian",
            "SELECT p.name, n.title FROM notices_notice n JOIN tenancy_person p "
            "ON p.organization_id = n.organization_id AND p.id = n.person_id "
            "WHERE n.kind IN ('quota.ending', 'request.answer', 'cycle.asked')",
        )
    )
    assert told.keys() == {"gnunez", "vpopescu", "eyilmaz"}
    assert told["gnunez"].endswith("ends in 3 days")
    prices = "SELECT count(*) FROM accounting_rateversion"
    assert rows("meridian", prices) == [(1,)]
    roles = {login["role"] for login in content(var)["logins"]}
    assert any(role.startswith("lead of pretraining") for role in roles)
    assert any(role.startswith("approver of foundation") for role in roles)


def test_idle_guarantees_are_in_every_stage(var: Path) -> None:
    load()
    states = rows("meridian", "SELECT state FROM preemption_reclaimstate ORDER BY state")
    assert [state for (state,) in states] == [
        *("demoted", "justified", "restored", "returned", "watched")
    ]


def test_after_a_long_pause_what_runs_counts_again() -> None:
    load()
    later = NOW + timedelta(days=20)
    live = f"SELECT count(*) FROM quota_allocation WHERE lapses_at > '{later.isoformat()}'"
    assert rows("meridian", live) == [(0,)]
    assert "signs of life" in load(now=later)
    assert rows("meridian", live)[0][0] > 50
    assert "signs of life" not in load(now=later + timedelta(hours=1))


def test_something_is_found_and_known() -> None:
    load()
    kinds = rows("meridian", "SELECT kind, state FROM preemption_detection")
    assert {kind for kind, _ in kinds} >= {"idle", "zombie"}
    assert [state for _, state in kinds].count("acknowledged") == 1
    assert len(kinds) <= 20, kinds


def test_units_are_taken_back_and_kept_for_jobs() -> None:
    load()
    plans = rows(
        "meridian",
        "SELECT key, state, override, wanted IS NOT NULL FROM preemption_plan ORDER BY id",
    )
    assert plans == [
        ("north/urgent-eval", "confirmed", False, False),
        ("north/elastic-tuning", "open", False, True),
        ("north/rebuttal", "open", True, False),
    ]
    done = "SELECT count(*), count(tax_reported) FROM preemption_action WHERE state = 'done'"
    assert rows("meridian", done) == [(2, 1)]
    kept = rows("meridian", "SELECT count(*) FROM quota_reservation")
    assert kept == [(3,)]
