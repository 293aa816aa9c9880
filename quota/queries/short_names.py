"""Short names, as programs write them, of ids; and what pages show for them (see `names_of`)."""

from collections.abc import Collection
from uuid import UUID

from ledger.sql import server_cursor


def short_names(organization_id: UUID, ids: Collection[UUID | None]) -> dict[UUID, str]:
    """Of accounts and people; ids of nothing known are left out. Runs inside `scope.reading`."""
    wanted = list({one for one in ids if one is not None})
    if not wanted:
        return {}
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id, name FROM tenancy_account WHERE organization_id = %b AND id = ANY(%b) "
            "UNION ALL SELECT id, name FROM tenancy_person "
            "WHERE organization_id = %b AND id = ANY(%b)",
            (organization_id, wanted, organization_id, wanted),
        ).fetchall()
    return dict(rows)


def ids_of(organization_id: UUID, accounts: Collection[str]) -> dict[str, UUID]:
    """Ids of accounts by name; names of none are left out. Runs inside `scope.reading`."""
    wanted = [one for one in accounts if "\x00" not in one]
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT name, id FROM tenancy_account WHERE organization_id = %b AND name = ANY(%b)",
            (organization_id, wanted),
        ).fetchall()
    return dict(rows)


def full_names(organization_id: UUID, names: Collection[str | None]) -> dict[str, str]:
    """What pages call people, by short name; names of nobody are left out. Runs inside
    `scope.reading`."""
    wanted = list({one for one in names if one})
    if not wanted:
        return {}
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT name, coalesce(nullif(display_name, ''), name) FROM tenancy_person "
            "WHERE organization_id = %b AND name = ANY(%b)",
            (organization_id, wanted),
        ).fetchall()
    return dict(rows)
