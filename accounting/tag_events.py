"""Events of tags for past use. Pure; names and versions are fixed."""

from dataclasses import dataclass
from datetime import date
from uuid import UUID

from ledger.registry import event
from ledger.types import Event


class _OfTagging(Event):
    """An event in the history of one tagging."""

    __slots__ = ()
    tagging_id: UUID

    @property
    def stream(self) -> str:
        return f"tagging:{self.tagging_id}"


@event("usage.tagged")
@dataclass(frozen=True, slots=True, kw_only=True)
class UsageTagged(_OfTagging):
    """What an account and all below it used from `since` through `until`, maybe only of one person,
    pool, batch, or of jobs whose key fits `job`, has these labels in statements; records stay as
    they are. `only_untagged`: labels that they have already are left alone. `to_account_id`: who is
    charged; null: who used it."""

    tagging_id: UUID
    account_id: UUID
    since: date
    until: date
    person_id: UUID | None
    pool_id: UUID | None
    job: str | None
    batch_id: UUID | None
    only_untagged: bool
    project: str | None
    model: str | None
    workload: str | None
    to_account_id: UUID | None


@event("usage.untagged")
@dataclass(frozen=True, slots=True, kw_only=True)
class UsageUntagged(_OfTagging):
    """The tagging is taken back: use is told apart as before it."""

    tagging_id: UUID
