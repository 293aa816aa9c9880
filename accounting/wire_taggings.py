"""What tags for past use look like on the wire."""

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta

from accounting.wire_money import Reason
from quota.wire import Name

Tag = Annotated[str, Meta(max_length=255)]


class NewTagging(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Tags for what an account and all below it used from `since` through `until`; what is absent
    does not choose. `job`: a key, or a pattern in which `*` stands for anything. `to_account`: who
    is charged instead, which finance may say. `dry_run` tells what would change, storing nothing.
    """

    account: Name
    since: date
    until: date
    person: Name | None = None
    pool: Name | None = None
    job: Annotated[str, Meta(min_length=1, max_length=255)] | None = None
    batch_id: UUID | None = None
    only_untagged: bool = True
    project: Tag | None = None
    model: Tag | None = None
    workload: Tag | None = None
    to_account: Name | None = None
    reason: Reason
    dry_run: bool = False


class TaggingMade(msgspec.Struct, kw_only=True):
    """The tagging, null where it was only tried; then how many records fit it, and how much use, at
    which cost, it would tell apart otherwise."""

    id: UUID | None
    records: int | None = None
    unit_seconds: Decimal | None = None
    amount: Decimal | None = None


class TaggingFacts(msgspec.Struct, kw_only=True):
    """A tagging; `undone_at`: when it was taken back."""

    id: UUID
    account: str
    since: date
    until: date
    person: str | None
    pool: str | None
    job: str | None
    batch_id: UUID | None
    only_untagged: bool
    project: str | None
    model: str | None
    workload: str | None
    to_account: str | None
    tagged_at: datetime
    tagged_by: str
    reason: str
    undone_at: datetime | None


class Taggings(msgspec.Struct, kw_only=True):
    """Taggings, the latest first."""

    taggings: list[TaggingFacts]
    next: str | None
