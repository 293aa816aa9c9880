"""Events of tenancy to rows. Set-based; decides nothing."""

from collections.abc import Sequence

from ledger.projection import ProjectedTable, Projector
from ledger.sql import server_cursor
from ledger.types import RecordedEvent
from tenancy import events as ev
from tenancy.domain.tree import ordered_ancestors

Run = Sequence[RecordedEvent]


def _many(sql: str, rows: list[tuple]) -> None:
    """One statement for all rows: `sql` selects from `unnest` of one array per column."""
    if rows:
        with server_cursor() as cursor:
            cursor.execute(sql, tuple(list(column) for column in zip(*rows, strict=True)))


def organization_created(run: Run) -> None:
    """A new organization. Its root account follows as an event of its own."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "INSERT INTO tenancy_organization "
                "(id, slug, name, currency, time_zone, root_account_id, created_at) "
                "VALUES (%b, %b, %b, %b, %b, %b, %b)",
                (
                    data.organization_id,
                    data.slug,
                    data.name,
                    data.currency,
                    data.time_zone,
                    data.root_account_id,
                    event.recorded_at,
                ),
            )


def account_opened(run: Run) -> None:
    """New nodes, parents before children; the path of each is computed once here."""
    organization_id = run[0].organization_id
    parents = list({event.data.parent_id for event in run if event.data.parent_id})
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id, ancestors FROM tenancy_account WHERE organization_id = %b AND id = ANY(%b)",
            (organization_id, parents),
        ).fetchall()
        known = {row[0]: tuple(row[1]) for row in rows}
        new = []
        for event in run:
            data = event.data
            path = ordered_ancestors(data.account_id, data.parent_id, known)
            known[data.account_id] = path
            new.append((event, data, path))
        # Paths differ in length, so they travel as text and not as a two-dimensional array.
        columns = zip(
            *(
                (
                    event.organization_id,
                    data.account_id,
                    data.name,
                    data.description,
                    data.parent_id,
                    "{" + ",".join(map(str, path)) + "}",
                    data.shares,
                    event.recorded_at,
                )
                for event, data, path in new
            ),
            strict=True,
        )
        cursor.execute(
            "INSERT INTO tenancy_account (organization_id, id, name, description, parent_id, "
            "ancestors, shares, opened_at) SELECT o, id, name, description, parent_id, "
            "path::uuid[], shares, opened_at FROM unnest(%b::uuid[], %b::uuid[], %b::text[], "
            "%b::text[], %b::uuid[], %b::text[], %b::bigint[], %b::timestamptz[]) "
            "AS n(o, id, name, description, parent_id, path, shares, opened_at)",
            tuple(list(column) for column in columns),
        )


def account_moved(run: Run) -> None:
    """The path prefix of the whole subtree changes in one statement per move."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "UPDATE tenancy_account a SET "
                "  ancestors = p.ancestors || a.ancestors[cardinality(m.ancestors):], "
                "  parent_id = CASE WHEN a.id = m.id THEN p.id ELSE a.parent_id END "
                "FROM tenancy_account m, tenancy_account p "
                "WHERE a.organization_id = %b AND m.organization_id = a.organization_id "
                "  AND p.organization_id = a.organization_id AND m.id = %b AND p.id = %b "
                "  AND a.ancestors @> ARRAY[m.id]",
                (event.organization_id, data.account_id, data.to_parent_id),
            )


def account_renamed(run: Run) -> None:
    """Name and description."""
    _many(
        "UPDATE tenancy_account a SET name = n.name, description = n.description "
        "FROM unnest(%b::uuid[], %b::uuid[], %b::text[], %b::text[]) "
        "AS n(o, id, name, description) "
        "WHERE a.organization_id = n.o AND a.id = n.id",
        [
            (event.organization_id, event.data.account_id, event.data.name, event.data.description)
            for event in run
        ],
    )


def account_shares_set(run: Run) -> None:
    """Shares; the last event of an account in the run wins."""
    last = {event.data.account_id: event for event in run}
    _many(
        "UPDATE tenancy_account a SET shares = n.shares "
        "FROM unnest(%b::uuid[], %b::uuid[], %b::bigint[]) AS n(o, id, shares) "
        "WHERE a.organization_id = n.o AND a.id = n.id",
        [(e.organization_id, e.data.account_id, e.data.shares) for e in last.values()],
    )


def account_archived(run: Run) -> None:
    """The mark that an account takes nothing new."""
    _many(
        "UPDATE tenancy_account a SET archived_at = n.at "
        "FROM unnest(%b::uuid[], %b::uuid[], %b::timestamptz[]) AS n(o, id, at) "
        "WHERE a.organization_id = n.o AND a.id = n.id",
        [(event.organization_id, event.data.account_id, event.recorded_at) for event in run],
    )


def person_added(run: Run) -> None:
    """New people."""
    _many(
        "INSERT INTO tenancy_person (organization_id, id, name, display_name, email, added_at) "
        "SELECT * FROM unnest(%b::uuid[], %b::uuid[], %b::text[], %b::text[], %b::text[], "
        "%b::timestamptz[])",
        [
            (
                event.organization_id,
                event.data.person_id,
                event.data.name,
                event.data.display_name,
                event.data.email,
                event.recorded_at,
            )
            for event in run
        ],
    )


def person_changed(run: Run) -> None:
    """Display name and e-mail address; the last event of a person in the run wins."""
    last = {event.data.person_id: event for event in run}
    _many(
        "UPDATE tenancy_person p SET display_name = n.display_name, email = n.email "
        "FROM unnest(%b::uuid[], %b::uuid[], %b::text[], %b::text[]) "
        "AS n(o, id, display_name, email) "
        "WHERE p.organization_id = n.o AND p.id = n.id",
        [
            (e.organization_id, e.data.person_id, e.data.display_name, e.data.email)
            for e in last.values()
        ],
    )


def person_login_linked(run: Run) -> None:
    """Which login acts as the person."""
    _many(
        "UPDATE tenancy_person p SET user_id = n.user_id "
        "FROM unnest(%b::uuid[], %b::uuid[], %b::bigint[]) AS n(o, id, user_id) "
        "WHERE p.organization_id = n.o AND p.id = n.id",
        [(event.organization_id, event.data.person_id, event.data.user_id) for event in run],
    )


def association_set(run: Run) -> None:
    """A person under an account; the last event of a pair in the run wins."""
    last = {(event.data.account_id, event.data.person_id): event for event in run}
    _many(
        "INSERT INTO tenancy_association (organization_id, account_id, person_id, shares) "
        "SELECT * FROM unnest(%b::uuid[], %b::uuid[], %b::uuid[], %b::bigint[]) "
        "ON CONFLICT (organization_id, account_id, person_id) "
        "DO UPDATE SET shares = excluded.shares",
        [
            (e.organization_id, e.data.account_id, e.data.person_id, e.data.shares)
            for e in last.values()
        ],
    )


def association_ended(run: Run) -> None:
    """The person leaves the account's fair-share."""
    _many(
        "DELETE FROM tenancy_association a USING unnest(%b::uuid[], %b::uuid[], %b::uuid[]) "
        "AS n(o, account_id, person_id) WHERE a.organization_id = n.o "
        "AND a.account_id = n.account_id AND a.person_id = n.person_id",
        [(e.organization_id, e.data.account_id, e.data.person_id) for e in run],
    )


def membership_granted(run: Run) -> None:
    """A role held; granting twice changes nothing."""
    _many(
        "INSERT INTO tenancy_membership (organization_id, account_id, person_id, role) "
        "SELECT * FROM unnest(%b::uuid[], %b::uuid[], %b::uuid[], %b::text[]) "
        "ON CONFLICT DO NOTHING",
        [(e.organization_id, e.data.account_id, e.data.person_id, e.data.role) for e in run],
    )


def membership_revoked(run: Run) -> None:
    """A role no longer held."""
    _many(
        "DELETE FROM tenancy_membership m USING unnest(%b::uuid[], %b::uuid[], %b::uuid[], "
        "%b::text[]) "
        "AS n(o, account_id, person_id, role) WHERE m.organization_id = n.o "
        "AND m.account_id = n.account_id AND m.person_id = n.person_id AND m.role = n.role",
        [(e.organization_id, e.data.account_id, e.data.person_id, e.data.role) for e in run],
    )


def token_changed(run: Run) -> None:
    """Issue, rotation and revocation of tokens."""
    with server_cursor() as cursor:
        for event in run:
            _token(cursor, event)


def _token(cursor, event: RecordedEvent) -> None:
    data, organization_id = event.data, event.organization_id
    match data:
        case ev.TokenIssued():
            pools = list(data.pool_ids) if data.pool_ids is not None else None
            cursor.execute(
                "INSERT INTO tenancy_apitoken (organization_id, id, name, secret_hash, scopes, "
                "pool_ids, issued_at, expires_at) VALUES (%b, %b, %b, %b, %b, %b, %b, %b)",
                (
                    organization_id,
                    data.token_id,
                    data.name,
                    data.secret_hash,
                    list(data.scopes),
                    pools,
                    event.recorded_at,
                    data.expires_at,
                ),
            )
        case ev.TokenRotated():
            cursor.execute(
                "UPDATE tenancy_apitoken SET previous_hash = secret_hash, previous_until = %b, "
                "secret_hash = %b, expires_at = %b WHERE organization_id = %b AND id = %b",
                (
                    data.previous_until,
                    data.secret_hash,
                    data.expires_at,
                    organization_id,
                    data.token_id,
                ),
            )
        case ev.TokenRevoked():
            cursor.execute(
                "UPDATE tenancy_apitoken SET revoked_at = %b "
                "WHERE organization_id = %b AND id = %b",
                (event.recorded_at, organization_id, data.token_id),
            )


_TABLES = {
    "organization": ProjectedTable(name="tenancy_organization", key=("id",)),
    "account": ProjectedTable(name="tenancy_account", key=("organization_id", "id")),
    "person": ProjectedTable(name="tenancy_person", key=("organization_id", "id")),
    "association": ProjectedTable(
        name="tenancy_association", key=("organization_id", "account_id", "person_id")
    ),
    "membership": ProjectedTable(
        name="tenancy_membership", key=("organization_id", "account_id", "person_id", "role")
    ),
    "token": ProjectedTable(name="tenancy_apitoken", key=("organization_id", "id")),
}


def _projector(event_type: type[ev.Event], project, table: str) -> Projector:
    name = event_type.event_type
    return Projector(
        name=f"tenancy:{name}", project=project, types=frozenset({name}), tables=(_TABLES[table],)
    )


PROJECTORS = (
    _projector(ev.OrganizationCreated, organization_created, "organization"),
    _projector(ev.AccountOpened, account_opened, "account"),
    _projector(ev.AccountMoved, account_moved, "account"),
    _projector(ev.AccountRenamed, account_renamed, "account"),
    _projector(ev.AccountSharesSet, account_shares_set, "account"),
    _projector(ev.AccountArchived, account_archived, "account"),
    _projector(ev.PersonAdded, person_added, "person"),
    _projector(ev.PersonChanged, person_changed, "person"),
    _projector(ev.PersonLoginLinked, person_login_linked, "person"),
    _projector(ev.AssociationSet, association_set, "association"),
    _projector(ev.AssociationEnded, association_ended, "association"),
    _projector(ev.MembershipGranted, membership_granted, "membership"),
    _projector(ev.MembershipRevoked, membership_revoked, "membership"),
    _projector(ev.TokenIssued, token_changed, "token"),
    _projector(ev.TokenRotated, token_changed, "token"),
    _projector(ev.TokenRevoked, token_changed, "token"),
)
