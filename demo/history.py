"""What happened in the demo's organization besides use: its tree was not always as it is. Pure.

The ledger of a real organization tells of moves and new shares, each by somebody for a reason.
`as_it_was` undoes them from the final tree; CHANGES are the way back.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from accounting.importers.record import ImportedRecord
from tenancy.importers.tree import Shares, TreePlan

_WEEK: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """An account hung under another parent."""

    account: str
    parent_before: str
    parent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """An account's shares changed."""

    account: str
    shares_before: Shares
    shares: Shares


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonWeighed:
    """A person's shares under an account changed."""

    account: str
    person: str
    shares_before: Shares
    shares: Shares


Change: TypeAlias = Moved | Weighed | PersonWeighed


@dataclass(frozen=True, slots=True, kw_only=True)
class DatedChange:
    """A change, when, by whom, why."""

    days_ago: float
    by: str
    reason: str
    change: Change


CHANGES: Final = (
    DatedChange(
        days_ago=64.2,
        by="jholm",
        reason="Two people joined from the weather service",
        change=Weighed(account="climate", shares_before=30, shares=35),
    ),
    DatedChange(
        days_ago=40.1,
        by="jholm",
        reason="Robotics hands five shares to climate until the new hall opens",
        change=Weighed(account="robotics", shares_before=30, shares=25),
    ),
    DatedChange(
        days_ago=26.3,
        by="jholm",
        reason="The editor team reports to product intelligence now",
        change=Moved(account="code-tools", parent_before="foundation", parent="products"),
    ),
    DatedChange(
        days_ago=12.4,
        by="jholm",
        reason="Alignment of the spring release",
        change=Weighed(account="post-training", shares_before=30, shares=35),
    ),
    DatedChange(
        days_ago=8.2,
        by="qmendoza",
        reason="On leave until March",
        change=PersonWeighed(account="climate", person="tmaihi", shares_before=1, shares=0),
    ),
    DatedChange(
        days_ago=3.1,
        by="aokonkwo",
        reason="Leads the long run from now on",
        change=PersonWeighed(account="pretraining", person="ztran", shares_before=2, shares=3),
    ),
)


def as_it_was(plan: TreePlan) -> TreePlan:
    """The tree before CHANGES."""
    accounts = {entry.name: entry for entry in plan.accounts}
    places = {(entry.account, entry.person): entry for entry in plan.associations}
    for dated in CHANGES:
        match dated.change:
            case Moved(account=name, parent_before=parent):
                accounts[name] = replace(accounts[name], parent=parent)
            case Weighed(account=name, shares_before=shares):
                accounts[name] = replace(accounts[name], shares=shares)
            case PersonWeighed(account=name, person=person, shares_before=shares):
                places[name, person] = replace(places[name, person], shares=shares)
    return replace(plan, accounts=tuple(accounts.values()), associations=tuple(places.values()))


def reports(
    records: tuple[ImportedRecord, ...],
    *,
    clusters: Mapping[str, str],
    since: datetime,
    now: datetime,
) -> list[tuple[datetime, str, list[ImportedRecord]]]:
    """(reported at, cluster, records): what each cluster reports once a week, and at `now`.

    A record is reported at the end of the week in which it ended. What still runs is reported at
    `now`. `clusters` are those of the pools by name.
    """
    count = (now - since) // _WEEK
    boundaries = [since + _WEEK * number for number in range(1, count + 1)]
    found: dict[tuple[datetime, str], list[ImportedRecord]] = {}
    for record in records:
        reported_at = now
        if record.end is not None:
            index = bisect_left(boundaries, record.end)
            reported_at = boundaries[index] if index < len(boundaries) else now
        found.setdefault((reported_at, clusters[record.pool]), []).append(record)
    return [(at, cluster, found[at, cluster]) for at, cluster in sorted(found)]
