"""Tags for past use: what was used is never changed, but told apart otherwise, or charged to
another account. Pure.

A tagging says which use it is about (what an account and all below it used in some days, maybe of
one person, pool, batch, or of jobs whose key fits a pattern) and which labels it has. The record
keeps its own; the later of two taggings wins. It holds for all use that fits, also for what is
reported later: otherwise the order in which records arrive would decide (docs/decisions/0021).
"""

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from ledger.errors import Invalid

LABELS = ("project", "model", "workload")
LABEL_LENGTH_MAX = 255
DAYS_MAX = 366
PATTERN_LENGTH_MAX = 255
ANY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagging:
    """One tagging, with the instants at which its days begin and end.

    Attributes:
        account: whose use, with that of all that were below it.
        labels: what to set; the others stay.
        only_untagged: labels that use has already are left alone.
        to_account: who is charged for it; None: who used it.
    """

    id: Hashable
    account: Hashable
    start: datetime
    end: datetime
    person: Hashable = None
    pool: Hashable = None
    job: str | None = None
    batch: Hashable = None
    only_untagged: bool = True
    labels: Mapping[str, str]
    to_account: Hashable = None


@dataclass(frozen=True, slots=True)
class Told:
    """How use is told apart: who is charged, its labels, whether the last tagging changed that."""

    account: Hashable
    labels: Mapping[str, str | None]
    changed: bool


def tagged(
    taggings: Sequence[Tagging],
    fits: int,
    at: datetime,
    *,
    above: Sequence[Hashable],
    labels: Mapping[str, str | None],
) -> Told:
    """Some use with its taggings, the earlier first.

    Args:
        fits: bit n is set where tagging n fits but for its account and its time.
        at: when the use was, within or without the time of each tagging as a whole.
        above: the accounts from the root down to the one that used it.
        labels: those it was reported with, of the names that are asked for.
    """
    account = above[-1]
    found = dict(labels)
    changed = False
    for n, one in enumerate(taggings):
        if not fits >> n & 1 or not one.start <= at < one.end or one.account not in above:
            changed = False
            continue
        was = (account, dict(found))
        for name, value in one.labels.items():
            if name in found and not (one.only_untagged and found[name] is not None):
                found[name] = value
        if one.to_account is not None:
            account = one.to_account
        changed = was != (account, found)
    return Told(account, found, changed)


def check_period(since: date, until: date, *, today: date) -> None:
    """Days that have begun, in order.

    Raises:
        Invalid: `period_out_of_range`.
    """
    if not since <= until <= today or (until - since).days >= DAYS_MAX:
        raise Invalid(
            "period_out_of_range",
            f"Choose 1 to {DAYS_MAX} days up to today, the earlier one first.",
            field="since",
        )


def check_labels(labels: Mapping[str, str | None]) -> dict[str, str]:
    """The labels that are set, checked.

    Raises:
        Invalid: `tag_malformed`.
    """
    found = {name: value for name, value in labels.items() if value}
    for name, value in found.items():
        if len(value) > LABEL_LENGTH_MAX or not value.isprintable() or value != value.strip():
            raise Invalid(
                "tag_malformed",
                f"A tag has 1 to {LABEL_LENGTH_MAX} printable characters, none of them a space at "
                "either end.",
                field=name,
            )
    return found


def like(job: str) -> str:
    """The pattern that PostgreSQL's LIKE takes for one in which `*` stands for anything.

    Raises:
        Invalid: `job_malformed`.
    """
    if not job.isprintable() or len(job) > PATTERN_LENGTH_MAX or not job.replace(ANY, "").strip():
        raise Invalid(
            "job_malformed",
            f"A pattern has 1 to {PATTERN_LENGTH_MAX} printable characters; * stands for anything, "
            "and there is more than that.",
            field="job",
        )
    return re.sub(r"([\\%_])", r"\\\1", job).replace(ANY, "%")
