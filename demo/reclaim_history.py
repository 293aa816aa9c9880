"""Use it or lose it in the demo: small guarantees on the MIG slices that nobody used, one in each
stage. Through the commands that tasks and people use, each at the time at which it was done.

Clusters report once a week, so the pool's rule spans eight days of which nothing is known yet.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from demo.organization import H100, MIG
from demo.quota_history import OPERATOR
from demo.tenant import Tenant
from preemption.commands.reclaim import RestoreQuota, ReturnQuota, RunReclaim
from preemption.commands.reclaim_rules import SetReclaimRule
from quota.commands.quotas import SetQuota
from quota.commands.requests import Submit
from quota.commands.reviews import Approve
from quota.domain.requests import Terms

DAY_SECONDS: Final = 86_400
RUNS: Final = (27.0, 18.0, 0.3)
"""When the pool's rule ran, days ago: it told, it took, it told of what was promised since."""
JUSTIFIED: Final = "data-engine"
EXEMPT: Final = ("assistant", "code-tools")


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A guarantee that is not used."""

    days_ago: float
    account: str
    units: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What somebody made of idle units that had left a guarantee."""

    days_ago: float
    account: str
    by: str
    reason: str
    command: type[RestoreQuota] | type[ReturnQuota]


GIVEN: Final = (
    Given(days_ago=40.2, account="search-ranking", units=4, reason="Small models for the demo day"),
    Given(days_ago=40.1, account=JUSTIFIED, units=3, reason="Notebooks of the annotators"),
    Given(days_ago=39.8, account="climate", units=5, reason="A class of students in autumn"),
    Given(days_ago=39.7, account="protein-design", units=3, reason="Notebooks for the partner"),
    Given(days_ago=12.2, account="robotics", units=3, reason="Tests of the new simulator"),
)
DECIDED: Final = (
    Decided(
        days_ago=16.8,
        account="protein-design",
        by="vpopescu",
        reason="The partner's people arrive in December",
        command=RestoreQuota,
    ),
    Decided(
        days_ago=11.1,
        account="search-ranking",
        by="bmwangi",
        reason="The demo day is over",
        command=ReturnQuota,
    ),
)


def steps(tenant: Tenant, *, now: datetime) -> list[tuple[datetime, Callable[[], Any]]]:
    """Everything of this story with its times, in no order."""

    def ago(days: float) -> datetime:
        return now - timedelta(days=days)

    found: list[tuple[datetime, Callable[[], Any]]] = [
        (ago(one.days_ago), partial(_give, tenant, ago(one.days_ago), one)) for one in GIVEN
    ]
    found += [(ago(one.days_ago), partial(_decide, tenant, ago(one.days_ago), one))
              for one in DECIDED]  # fmt: skip
    found += [(ago(days), partial(_run, tenant, ago(days), days)) for days in RUNS]
    found.append((ago(34.5), partial(_rules, tenant, ago(34.5))))
    found.append((ago(24.2), partial(_justify, tenant, ago(24.2), until=ago(-12))))
    return found


def _give(tenant: Tenant, at: datetime, given: Given) -> None:
    command = SetQuota(
        account_id=tenant.accounts[given.account],
        pool_id=tenant.pools[MIG],
        guaranteed=given.units,
        borrowing_limit=0,
    )
    by = tenant.person(OPERATOR)
    tenant.run(command, f"idle/{given.account}", at=at, by=by, reason=given.reason)


def _rules(tenant: Tenant, at: datetime) -> None:
    """One that is on, and one that is kept for later."""
    on = SetReclaimRule(
        pool_id=tenant.pools[MIG],
        cooldown_seconds=28 * DAY_SECONDS,
        unknown_seconds_max=8 * DAY_SECONDS,
        exempt_ids=tuple(tenant.accounts[name] for name in EXEMPT),
    )
    later = SetReclaimRule(pool_id=tenant.pools[H100], enabled=False)
    by = tenant.person(OPERATOR)
    reason = "Slices lie idle while notebooks wait. The assistant serves, code-tools has bursts"
    tenant.run(on, "reclaim/rule", at=at, by=by, reason=reason)
    reason = "Tried on last month's use; to be switched on after the review"
    tenant.run(later, "reclaim/later", at=at, by=by, reason=reason)


def _run(tenant: Tenant, at: datetime, days: float) -> None:
    command = RunReclaim(pool_id=tenant.pools[MIG])
    tenant.run(command, f"reclaim/run/{days}", at=at, reason="use it or lose it")


def _justify(tenant: Tenant, at: datetime, *, until: datetime) -> None:
    terms = Terms(
        account_id=tenant.accounts[JUSTIFIED],
        pool_id=tenant.pools[MIG],
        kind="justification",
        ends_at=until,
        workload="interactive",
        purpose="The annotators begin next month. Without slices of their own they wait behind "
        "the editor previews.",
    )
    lead = tenant.person("oadeyemi")
    asked = tenant.run(Submit(terms=terms), "reclaim/ask", at=at, by=lead)
    tenant.run(
        Approve(request_id=asked.request_id),
        "reclaim/approve",
        at=at + timedelta(hours=6),
        by=tenant.person("hlindqvist"),
        reason="Three slices until they have begun; then they are used or go back.",
    )


def _decide(tenant: Tenant, at: datetime, decided: Decided) -> None:
    command = decided.command(
        account_id=tenant.accounts[decided.account], pool_id=tenant.pools[MIG]
    )
    by = tenant.person(decided.by)
    tenant.run(command, f"reclaim/{decided.account}", at=at, by=by, reason=decided.reason)
