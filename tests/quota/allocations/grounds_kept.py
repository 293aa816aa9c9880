"""A process and the grounds it keeps, in words: whoever is `at_work` knows what it has read."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import msgspec

from quota import wire
from quota.domain.batch import AdmissionPolicy
from quota.loading import grounds
from tests.quota.allocations.conftest import Jobs
from tests.world import NOW

USUAL_LEASE = AdmissionPolicy().lease_seconds


class Process:
    """One process of several: nothing but the database is shared with the others."""

    def __init__(self, jobs: Jobs, *, rows_max: int = grounds.ROWS_MAX) -> None:
        self.jobs = jobs
        self.kept = grounds._Kept(rows_max)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """What runs inside runs in this process."""
        others, grounds._kept = grounds._kept, self.kept
        try:
            yield
        finally:
            grounds._kept = others

    def decide(self, *asks: wire.Ask, now: datetime = NOW) -> list[dict]:
        """What the jobs would be answered; nothing is held. Ids are new each time."""
        with self.at_work():
            results = self.jobs.admit(*asks, now=now, dry_run=True).results
        told = msgspec.to_builtins(results)
        for result in told:
            for allocation in result["allocations"]:
                allocation["id"] = None
        return told

    def admit(self, *asks: wire.Ask, now: datetime = NOW) -> list[str]:
        """Decide the jobs for good; in short."""
        with self.at_work():
            return [in_short(one) for one in self.jobs.admit(*asks, now=now).results]

    def would(self, ask: wire.Ask, *, now: datetime = NOW) -> str:
        """As `decide` for one job, in short."""
        with self.at_work():
            return in_short(self.jobs.admit(ask, now=now, dry_run=True).results[0])

    def knows(self, *asks: wire.Ask, now: datetime = NOW) -> bool:
        """Would it ask for what has changed only?"""
        needs = [need for ask in asks for need in ask.needs or [ask]]
        with self.at_work():
            ground = grounds.known(
                self.jobs.place.id,
                now=now,
                pool_names={need.pool for need in needs},
                account_names={ask.account for ask in asks},
                person_names={ask.person for ask in asks},
            )
        return ground is not None


def in_short(result: wire.AdmissionResult) -> str:
    """`guaranteed 8`, `denied by capacity`, `invalid: account_unknown`; a lease that is not the
    usual one is told."""
    if result.status == "admitted":
        [one] = result.allocations
        times = "" if one.lease_seconds == USUAL_LEASE else f" for {one.lease_seconds}s"
        return f"{one.tier} {one.units}{times}"
    if result.status == "invalid":
        return "invalid: " + ", ".join(fault.code for fault in result.errors)
    limits = sorted({block.limit for block in result.blocks})
    return f"{result.status} by {', '.join(limits)}"
