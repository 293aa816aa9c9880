"""A tree from CSV. Pure.

Columns, found by name: ``account``, ``parent``, ``person``, ``shares``, ``description``,
``display_name``, ``email``. A row with an account and no person declares the account; with both it
puts the person under the account; with a person alone it describes the person. Blank shares are 1.
"""

import csv
from collections.abc import Iterable, Iterator
from typing import Final

from tenancy.importers.tree import (
    PARENT,
    AccountEntry,
    AssociationEntry,
    PersonEntry,
    TreeBuilder,
    TreeReading,
    parse_shares,
)

COLUMNS: Final = (
    "account",
    "parent",
    "person",
    "shares",
    "description",
    "display_name",
    "email",
)


def read(lines: Iterable[str], *, delimiter: str = ",") -> TreeReading:
    """The tree, or every problem by line."""
    builder = TreeBuilder()
    rows = csv.reader(_without_mark(lines), delimiter=delimiter)
    names: list[str] | None = None
    while True:
        line = rows.line_num + 1
        try:
            row = next(rows, None)
        except csv.Error as error:
            builder.problem(line, "line", "bad_csv", f"The row cannot be split: {error}.")
            continue
        if row is None:
            return builder.finish()
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if names is None:
            names = [cell.lower() for cell in cells]
            if not _check_header(builder, line, names):
                return builder.finish()
        elif len(cells) > len(names):
            builder.problem(
                line,
                "line",
                "wrong_fields",
                f"The row has {len(cells)} fields, the header {len(names)}.",
            )
        else:
            _take(builder, line, dict(zip(names, cells, strict=False)))


def _without_mark(lines: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield line.removeprefix("\ufeff") if number == 0 else line


def _check_header(builder: TreeBuilder, line: int, names: list[str]) -> bool:
    known = f"Columns are {', '.join(COLUMNS)}."
    for index, name in enumerate(names):
        if name not in COLUMNS:
            builder.problem(line, "header", "unknown_column", known, name)
            return False
        if name in names[:index]:
            builder.problem(line, "header", "repeated_column", f"{name} is named twice.", name)
            return False
    if not {"account", "person"} & set(names):
        builder.problem(line, "header", "missing_column", f"No account column. {known}")
        return False
    return True


def _take(builder: TreeBuilder, line: int, cells: dict[str, str]) -> None:
    account, person = cells.get("account", ""), cells.get("person", "")
    try:
        shares = parse_shares(cells.get("shares", ""))
    except ValueError as error:
        builder.problem(line, "shares", "bad_shares", str(error), cells["shares"])
        shares = PARENT
    if not account and not person:
        builder.problem(line, "account", "missing", "The row names no account and no person.")
        return
    if person:
        builder.person(
            line,
            PersonEntry(
                name=person,
                display_name=cells.get("display_name", ""),
                email=cells.get("email", ""),
            ),
        )
    if account and person:
        builder.association(line, AssociationEntry(account=account, person=person, shares=shares))
    elif account:
        builder.account(
            line,
            AccountEntry(
                name=account,
                parent=cells.get("parent") or None,
                shares=shares,
                description=cells.get("description", ""),
            ),
        )
