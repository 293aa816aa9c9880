"""Rows with people called as pages call them: queries give short names, as programs need them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar
from uuid import UUID

from quota.queries.short_names import full_names

_PEOPLE: Final = ("author", "person", "on_behalf_of", "requester")
Row = TypeVar("Row")


def called_by_name(organization_id: UUID, *groups: Sequence[Row]) -> list[list[Row]]:
    """Groups of rows (dataclasses), in whose fields for people stands what they are called.

    Inside `scope.reading`; one question for all groups.
    """
    rows: list[Any] = [row for group in groups for row in group]
    said = {getattr(row, field, None) for row in rows for field in _PEOPLE}
    names = full_names(organization_id, said)

    def called(row: Any) -> Any:
        return replace(
            row,
            **{
                field: names.get(getattr(row, field), getattr(row, field))
                for field in _PEOPLE
                if hasattr(row, field)
            },
        )

    return [[called(row) for row in group] for group in groups]
