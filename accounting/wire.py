"""What usage and priorities look like on the wire: exact types, nothing unknown, zones required.

`msgspec` decodes and checks in one pass; its messages name the place as `$.units`. The same types
give the OpenAPI document its schemas.
"""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from accounting.staging import KEY_LENGTH_MAX, NAME_LENGTH_MAX

UNITS_MAX = 10_000_000
JOBS_MAX = 100_000

Key = Annotated[str, Meta(min_length=1, max_length=KEY_LENGTH_MAX)]
Name = Annotated[str, Meta(min_length=1, max_length=NAME_LENGTH_MAX)]
Units = Annotated[int, Meta(ge=1, le=UNITS_MAX)]
Share = Annotated[float, Meta(ge=0, le=1)]
Instant = Annotated[datetime, Meta(tz=True)]
Memory = Annotated[float, Meta(ge=0, lt=1e9)]


class Usage(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, gc=False):
    """Units of one pool held by one person's job from `start` until `end`.

    `end` null or absent: still running. Utilizations are shares from 0 to 1; absent means
    unknown, never zero. `supersedes` names the key of the record of the same source that this
    one corrects.
    """

    key: Key
    account: Name
    person: Name
    pool: Name
    units: Units
    start: Instant
    end: Instant | None = None
    tier: Literal["guaranteed", "borrowed", "spot"] = "guaranteed"
    source: Key | None = None
    labels: dict[str, str] | None = None
    compute_util: Share | None = None
    productive_util: Share | None = None
    memory_gb: Memory | None = None
    supersedes: Key | None = None
    supersedes_optional: bool = False


class UsageBatch(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Up to 100,000 records. `source` stands for every record that names none."""

    records: list[Usage]
    source: Key | None = None


class LooseBatch(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The envelope alone, when a record inside is at fault and the others shall still count."""

    records: list[msgspec.Raw]
    source: Key | None = None


class Job(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, gc=False):
    """A waiting job. `class` is P0 to P3."""

    key: Key
    account: Name
    person: Name
    pool: Name
    units: Units
    job_class: Literal["P0", "P1", "P2", "P3"] = msgspec.field(name="class")
    submitted_at: Instant

    @property
    def submitted(self) -> float:
        """Seconds since 1970."""
        return self.submitted_at.timestamp()


class Question(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Up to 100,000 waiting jobs, and the instant to answer for; absent: now."""

    jobs: list[Job]
    at: Instant | None = None


class LooseQuestion(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The envelope alone, to name every job at fault."""

    jobs: list[msgspec.Raw]
    at: Instant | None = None
