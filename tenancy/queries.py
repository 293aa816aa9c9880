"""Reads of tenancy, bounded. All but the directory questions run inside `scope.reading`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection

from ledger.errors import NotFound
from ledger.sql import server_cursor

LIST_MAX = 500


@dataclass(frozen=True, slots=True)
class OrganizationChoice:
    """An organization a login belongs to, and who it is there."""

    organization_id: UUID
    slug: str
    name: str
    person_id: UUID
    person_name: str


@dataclass(frozen=True, slots=True)
class OrganizationFacts:
    """The tenant's fixed facts."""

    id: UUID
    slug: str
    name: str
    currency: str
    time_zone: str
    root_account_id: UUID


@dataclass(frozen=True, slots=True)
class AccountRow:
    """An account. `path` are the names from the root down to it."""

    id: UUID
    name: str
    description: str
    parent_id: UUID | None
    path: tuple[str, ...]
    shares: int | None
    archived_at: datetime | None


@dataclass(frozen=True, slots=True)
class PersonRow:
    """A person and, where listed under an account, the shares there."""

    id: UUID
    name: str
    display_name: str
    email: str
    shares: int | None = None


@dataclass(frozen=True, slots=True)
class RoleRow:
    """A role a person holds on an account."""

    account_id: UUID
    account_name: str
    person_id: UUID
    person_name: str
    display_name: str
    role: str


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token as a list shows it."""

    id: UUID
    name: str
    scopes: tuple[str, ...]
    pool_ids: tuple[UUID, ...] | None
    issued_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    previous_until: datetime | None
    used_at: datetime | None


def organizations_of(user_id: int) -> list[OrganizationChoice]:
    """The organizations a signed-in login belongs to, by name. Needs no scope."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM tenancy_organizations_of(%s)", (user_id,))
        return [OrganizationChoice(*row) for row in cursor.fetchall()]


def organization_id_by_slug(slug: str) -> UUID | None:
    """For the command line, where an operator names the organization. Needs no scope."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tenancy_organization_by_slug(%s)", (slug,))
        return cursor.fetchone()[0]


def organization(organization_id: UUID) -> OrganizationFacts:
    """The tenant in scope.

    Raises:
        NotFound: no such organization, or not the one in scope.
    """
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT id, slug, name, currency, time_zone, root_account_id "
            "FROM tenancy_organization WHERE id = %b",
            (organization_id,),
        ).fetchone()
    if row is None:
        raise NotFound("organization_unknown", "There is no such organization.")
    return OrganizationFacts(*row)


_ACCOUNT_COLUMNS = """
a.id, a.name, a.description, a.parent_id,
ARRAY(SELECT p.name FROM unnest(a.ancestors) WITH ORDINALITY AS x(id, n)
      JOIN tenancy_account p ON p.organization_id = a.organization_id AND p.id = x.id
      ORDER BY x.n),
a.shares, a.archived_at
"""


def account(organization_id: UUID, account_id: UUID) -> AccountRow:
    """One account by id.

    Raises:
        NotFound: no such account.
    """
    return _one_account(organization_id, "a.id = %b", account_id)


def account_by_name(organization_id: UUID, name: str) -> AccountRow:
    """One account by its unique name.

    Raises:
        NotFound: no such account.
    """
    return _one_account(organization_id, "a.name = %b", name)


def _one_account(organization_id: UUID, where: str, value: object) -> AccountRow:
    with server_cursor() as cursor:
        row = cursor.execute(
            f"SELECT {_ACCOUNT_COLUMNS} FROM tenancy_account a "
            f"WHERE a.organization_id = %b AND {where}",
            (organization_id, value),
        ).fetchone()
    if row is None:
        raise NotFound("account_unknown", "There is no such account.", field="account")
    return _account_row(row)


def accounts_of(organization_id: UUID, person_id: UUID) -> list[AccountRow]:
    """Accounts a person works under or holds a role on, by path; at most LIST_MAX."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT {_ACCOUNT_COLUMNS} FROM tenancy_account a "
            "WHERE a.organization_id = %b AND a.archived_at IS NULL AND a.id IN ("
            "  SELECT account_id FROM tenancy_association "
            "WHERE organization_id = %b AND person_id = %b"
            "  UNION SELECT account_id FROM tenancy_membership "
            "  WHERE organization_id = %b AND person_id = %b) ORDER BY 5 LIMIT %b",
            (organization_id, organization_id, person_id, organization_id, person_id, LIST_MAX),
        ).fetchall()
    return [_account_row(row) for row in rows]


def subtree_ids(
    organization_id: UUID, tops: Sequence[UUID], *, limit: int = LIST_MAX
) -> list[UUID]:
    """Ids of accounts at or below some, archived ones included: their history stays."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id FROM tenancy_account WHERE organization_id = %b AND ancestors && %b::uuid[] "
            "LIMIT %b",
            (organization_id, list(tops), limit),
        ).fetchall()
    return [row[0] for row in rows]


def children(
    organization_id: UUID, account_id: UUID, *, after_name: str = "", limit: int = LIST_MAX
) -> list[AccountRow]:
    """Open accounts right below one, by name, from `after_name` on."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT {_ACCOUNT_COLUMNS} FROM tenancy_account a "
            "WHERE a.organization_id = %b AND a.parent_id = %b AND a.name > %b "
            "AND a.archived_at IS NULL ORDER BY a.name LIMIT %b",
            (organization_id, account_id, after_name, min(limit, LIST_MAX)),
        ).fetchall()
    return [_account_row(row) for row in rows]


def accounts(
    organization_id: UUID,
    *,
    under: Sequence[UUID] | None = None,
    parent_id: UUID | None = None,
    archived: bool = False,
    after_name: str = "",
    limit: int = LIST_MAX,
) -> list[AccountRow]:
    """Accounts at or below any of `under` (None: all), by name, from `after_name` on.

    Args:
        parent_id: only those right below it.
        archived: archived ones too.
    """
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT {_ACCOUNT_COLUMNS} FROM tenancy_account a WHERE a.organization_id = %b "
            "AND a.name > %b AND (%b::uuid[] IS NULL OR a.ancestors && %b::uuid[]) "
            "AND (%b::uuid IS NULL OR a.parent_id = %b) "
            "AND (%b OR a.archived_at IS NULL) ORDER BY a.name LIMIT %b",
            (
                *(organization_id, after_name),
                *((None, None) if under is None else (list(under), list(under))),
                *(parent_id, parent_id, archived, min(limit, LIST_MAX)),
            ),
        ).fetchall()
    return [_account_row(row) for row in rows]


def people(
    organization_id: UUID,
    *,
    under: Sequence[UUID] | None = None,
    after_name: str = "",
    limit: int = LIST_MAX,
) -> list[PersonRow]:
    """People by name, from `after_name` on; with `under`, those who work at or below any of it."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT p.id, p.name, p.display_name, p.email FROM tenancy_person p "
            "WHERE p.organization_id = %b AND p.name > %b AND (%b::uuid[] IS NULL OR EXISTS ("
            "  SELECT 1 FROM tenancy_association s JOIN tenancy_account a "
            "  ON a.organization_id = s.organization_id AND a.id = s.account_id "
            "  WHERE s.organization_id = p.organization_id AND s.person_id = p.id "
            "  AND a.ancestors && %b::uuid[])) ORDER BY p.name LIMIT %b",
            (
                *(organization_id, after_name),
                *((None, None) if under is None else (list(under), list(under))),
                min(limit, LIST_MAX),
            ),
        ).fetchall()
    return [PersonRow(*row) for row in rows]


def roles_of(organization_id: UUID, person_id: UUID) -> list[tuple[str, str]]:
    """(account, role) pairs that a person holds, by account; at most LIST_MAX."""
    with server_cursor() as cursor:
        return cursor.execute(
            "SELECT a.name, m.role FROM tenancy_membership m JOIN tenancy_account a "
            "ON a.organization_id = m.organization_id AND a.id = m.account_id "
            "WHERE m.organization_id = %b AND m.person_id = %b ORDER BY 1, 2 LIMIT %b",
            (organization_id, person_id, LIST_MAX),
        ).fetchall()


def person(organization_id: UUID, person_id: UUID) -> PersonRow:
    """One person.

    Raises:
        NotFound: no such person.
    """
    return _person("id = %b", organization_id, person_id)


def person_by_name(organization_id: UUID, name: str) -> PersonRow:
    """One person by the short name that schedulers use.

    Raises:
        NotFound: no such person.
    """
    return _person("name = %b", organization_id, name)


def _person(condition: str, organization_id: UUID, value: UUID | str) -> PersonRow:
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT id, name, display_name, email FROM tenancy_person "
            f"WHERE organization_id = %b AND {condition}",
            (organization_id, value),
        ).fetchone()
    if row is None:
        raise NotFound("person_unknown", "There is no such person.", field="person")
    return PersonRow(*row)


def people_of(
    organization_id: UUID, account_id: UUID, *, after_name: str = "", limit: int = LIST_MAX
) -> list[PersonRow]:
    """People under one account with their shares, by name, from `after_name` on."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT p.id, p.name, p.display_name, p.email, s.shares FROM tenancy_association s "
            "JOIN tenancy_person p ON p.organization_id = s.organization_id AND p.id = s.person_id "
            "WHERE s.organization_id = %b AND s.account_id = %b AND p.name > %b "
            "ORDER BY p.name LIMIT %b",
            (organization_id, account_id, after_name, min(limit, LIST_MAX)),
        ).fetchall()
    return [PersonRow(*row) for row in rows]


def search(
    organization_id: UUID, text: str, *, seen_by: UUID | None = None, limit: int = 10
) -> tuple[list[AccountRow], list[PersonRow]]:
    """Accounts and people whose name begins with `text`, for the search box.

    Args:
        seen_by: only people who work under an account on or below which this person holds a role,
            and this person; None: everybody.
    """
    prefix = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    with server_cursor() as cursor:
        accounts = cursor.execute(
            f"SELECT {_ACCOUNT_COLUMNS} FROM tenancy_account a "
            "WHERE a.organization_id = %b AND a.name ILIKE %b ORDER BY a.name LIMIT %b",
            (organization_id, prefix, min(limit, LIST_MAX)),
        ).fetchall()
        people = cursor.execute(
            "SELECT p.id, p.name, p.display_name, p.email FROM tenancy_person p "
            "WHERE p.organization_id = %b AND (p.name ILIKE %b OR p.display_name ILIKE %b) "
            "AND (%b::uuid IS NULL OR p.id = %b::uuid OR EXISTS ("
            "  SELECT 1 FROM tenancy_association s "
            "  JOIN tenancy_account a ON a.organization_id = s.organization_id "
            "    AND a.id = s.account_id "
            "  JOIN tenancy_membership m ON m.organization_id = a.organization_id "
            "    AND m.account_id = ANY(a.ancestors) AND m.person_id = %b::uuid "
            "  WHERE s.organization_id = p.organization_id AND s.person_id = p.id)) "
            "ORDER BY p.name LIMIT %b",
            (
                *(organization_id, prefix, prefix, seen_by, seen_by, seen_by),
                min(limit, LIST_MAX),
            ),
        ).fetchall()
    return [_account_row(row) for row in accounts], [PersonRow(*row) for row in people]


def roles_on(organization_id: UUID, account_id: UUID) -> list[RoleRow]:
    """Roles that count on an account: held on it or above it, nearest first."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT a.id, a.name, p.id, p.name, p.display_name, m.role "
            "FROM tenancy_account here "
            "JOIN LATERAL unnest(here.ancestors) WITH ORDINALITY AS x(id, depth) ON true "
            "JOIN tenancy_membership m ON m.organization_id = here.organization_id "
            "  AND m.account_id = x.id "
            "JOIN tenancy_account a ON a.organization_id = m.organization_id AND a.id = x.id "
            "JOIN tenancy_person p ON p.organization_id = m.organization_id AND p.id = m.person_id "
            "WHERE here.organization_id = %b AND here.id = %b "
            "ORDER BY x.depth DESC, p.name, m.role LIMIT %b",
            (organization_id, account_id, LIST_MAX),
        ).fetchall()
    return [RoleRow(*row) for row in rows]


_TOKEN = (
    "SELECT t.id, t.name, t.scopes, t.pool_ids, t.issued_at, t.expires_at, t.revoked_at, "
    "t.previous_until, u.used_at FROM tenancy_apitoken t LEFT JOIN tenancy_tokenuse u "
    "ON u.organization_id = t.organization_id AND u.token_id = t.id "
)


def tokens(organization_id: UUID) -> list[TokenRow]:
    """All tokens, newest first; at most LIST_MAX."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"{_TOKEN} WHERE t.organization_id = %b ORDER BY t.issued_at DESC, t.id LIMIT %b",
            (organization_id, LIST_MAX),
        ).fetchall()
    return [_token_row(row) for row in rows]


def token(organization_id: UUID, token_id: UUID) -> TokenRow:
    """One token.

    Raises:
        NotFound: no such token.
    """
    with server_cursor() as cursor:
        row = cursor.execute(
            f"{_TOKEN} WHERE t.organization_id = %b AND t.id = %b", (organization_id, token_id)
        ).fetchone()
    if row is None:
        raise NotFound("token_unknown", "There is no such token.", field="token")
    return _token_row(row)


def names_of(
    organization_id: UUID, *, accounts: Iterable[UUID] = (), people: Iterable[UUID] = ()
) -> dict[UUID, str]:
    """Names for ids shown on one page; ids of nothing known are left out."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id, name FROM tenancy_account WHERE organization_id = %b AND id = ANY(%b) "
            "UNION ALL SELECT id, coalesce(nullif(display_name, ''), name) FROM tenancy_person "
            "WHERE organization_id = %b AND id = ANY(%b)",
            (organization_id, list(set(accounts)), organization_id, list(set(people))),
        ).fetchall()
    return dict(rows)


def _account_row(row: tuple) -> AccountRow:
    return AccountRow(row[0], row[1], row[2], row[3], tuple(row[4]), row[5], row[6])


def _token_row(row: tuple) -> TokenRow:
    scopes, pool_ids = row[2:4]
    return TokenRow(
        *row[:2], tuple(scopes), None if pool_ids is None else tuple(pool_ids), *row[4:]
    )
