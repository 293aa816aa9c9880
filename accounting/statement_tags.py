"""What use is told apart by in a month: the details that were asked for, after tagging.

PostgreSQL says of each group of records which taggings fit them, as the bits of one number; the
rest is `accounting.domain.tagging`.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

from accounting.domain import tagging
from accounting.domain.tagging import LABELS, Tagging, like

CHANGED: Final = "changed"
"""A detail that is only asked for before a tagging is saved: whether the last one changes it."""
TAGGINGS_MAX: Final = 60
"""Of one month; a bit each."""


class Details:
    """How the rows of one question are told apart.

    Attributes:
        details: their names, in order.
        columns: expressions over `u`, for `accounting.usage_sums`.
        values: their parameters.
    """

    def __init__(
        self, taggings: Sequence[Tagging], details: Sequence[str], organization_id: UUID
    ) -> None:
        self.details = tuple(details)
        names = [name for name in details if name not in ("day", CHANGED)]
        if CHANGED in details:
            names += [name for name in LABELS if name not in names]
        labeled = any(name in LABELS for name in names)
        self._rules = [one for one in taggings if labeled or one.to_account is not None]
        self._places = {name: n for n, name in enumerate(names)}
        self._labels = [name for name in LABELS if name in self._places]
        self.columns = [_column(name) for name in names]
        self.values: dict[str, Any] = {}
        if self._rules:
            self.columns.append(self._fits(organization_id))

    @property
    def moves(self) -> list[tuple[UUID, UUID]]:
        """(whose use, who is charged for it) of taggings that say so."""
        return [(one.account, one.to_account) for one in self._rules if one.to_account is not None]  # type: ignore[misc]

    def of(
        self, above: Sequence[UUID], start: datetime, day: date | None, rest: Sequence[Any]
    ) -> tuple[UUID, tuple[Any, ...]]:
        """Who is charged for a row, and its details.

        Args:
            above: the accounts from the root down to the one that used it.
            start: of the segment that it is in.
            rest: what its columns hold.
        """
        told = None
        if self._rules and rest[-1]:
            told = tagging.tagged(
                self._rules,
                rest[-1],
                start,
                above=above,
                labels={name: rest[self._places[name]] for name in self._labels},
            )
        found = tuple(self._one(name, day, rest, told) for name in self.details)
        return (above[-1] if told is None else told.account), found  # type: ignore[return-value]

    def _one(
        self, name: str, day: date | None, rest: Sequence[Any], told: tagging.Told | None
    ) -> Any:
        if name == "day":
            return day
        if name == CHANGED:
            return told is not None and told.changed
        if told is not None and name in told.labels:
            return told.labels[name]
        return rest[self._places[name]]

    def _fits(self, organization_id: UUID) -> str:
        """Bit n: rule n fits the record, but for its account and its time."""
        self.values["tags_of"] = organization_id
        bits = []
        for n, one in enumerate(self._rules):
            where, values = fits(one, f"tag{n}")
            self.values |= values
            bits.append(f"CASE WHEN {where} THEN {1 << n}::bigint ELSE 0 END")
        return f"({' + '.join(bits)})"


def fits(one: Tagging, prefix: str) -> tuple[str, Mapping[str, Any]]:
    """A condition over `u` (and `tags_of`, the organization), and its parameters.

    A reversal comes in the batch of the correction, so its batch is that of what it takes back.
    """
    parts, values = ["true"], {}
    for name, column, value in (
        ("person", "person_id", one.person),
        ("pool", "pool_id", one.pool),
    ):
        if value is not None:
            parts.append(f"u.{column} = %({prefix}_{name})b::uuid")
            values[f"{prefix}_{name}"] = value
    if one.job is not None:
        parts.append(f"u.key LIKE %({prefix}_job)b")
        values[f"{prefix}_job"] = like(one.job)
    if one.batch is not None:
        parts.append(
            f"(u.sign = 1 AND u.batch_id = %({prefix}_batch)b::uuid OR u.sign = -1 AND EXISTS ("
            "SELECT FROM accounting_usagekey k WHERE k.organization_id = %(tags_of)b "
            "AND k.source_id = u.source_id AND k.key = u.key "
            f"AND k.batch_id = %({prefix}_batch)b::uuid))"
        )
        values[f"{prefix}_batch"] = one.batch
    return " AND ".join(parts), values


def _column(name: str) -> str:
    return "u.person_id" if name == "person" else f"u.labels->>'{name}'"
