"""May this actor do this here? Given to the command runner and asked by every read."""

from collections.abc import Sequence
from uuid import UUID

from ledger.errors import Denied, NotFound
from ledger.sql import server_cursor
from ledger.types import Actor, ActorKind
from tenancy.domain.roles import SYSTEM_ONLY, TAKE_PART, Scope, granting, permitted

_SCOPES = frozenset(Scope)


def authorize(
    actor: Actor, permission: str, account_id: UUID | None, organization_id: UUID
) -> None:
    """Raise unless the actor holds the permission on the account (None: on the root).

    Runs inside the organization's scope.

    Raises:
        Denied: names the permission and the roles that carry it.
        NotFound: a person asks about an account they cannot even see, or that does not exist.
    """
    if actor.kind == ActorKind.SYSTEM:
        return
    if actor.kind == ActorKind.TOKEN:
        if permission in actor.scopes:
            return
        if permission not in _SCOPES:
            roles = granting(permission)
            raise Denied(
                "people_only",
                f"No token may do this. A person with {_any_of(roles)} does."
                if roles
                else "No token may do this.",
                facts={"permission": permission, "roles": list(roles)},
            )
        raise Denied(
            "scope_missing",
            f"This token lacks the scope {permission}. Ask an operator for one that has it.",
            facts={"permission": permission, "scopes": sorted(actor.scopes)},
        )
    if permission == TAKE_PART:
        _check_person(actor, organization_id)
        return
    held = permissions_on(actor, account_id, organization_id)
    if permission not in held or permission == SYSTEM_ONLY:
        roles = granting(permission)
        raise Denied(
            "role_missing",
            f"This needs the permission {permission}. {_way_in(roles, account_id)}",
            facts={"permission": permission, "roles": list(roles)},
        )


def _any_of(roles: Sequence[str]) -> str:
    return f"the role {roles[0]}" if len(roles) == 1 else f"one of the roles {', '.join(roles)}"


def _way_in(roles: Sequence[str], account_id: UUID | None) -> str:
    if not roles:
        return "No role carries it."
    place = "the root account" if account_id is None else "this account"
    return f"Ask for {_any_of(roles)} on {place}."


def _check_person(actor: Actor, organization_id: UUID) -> None:
    with server_cursor() as cursor:
        known = cursor.execute(
            "SELECT 1 FROM tenancy_person WHERE organization_id = %b AND id = %b",
            (organization_id, actor.id),
        ).fetchone()
    if known is None:
        raise Denied("not_of_the_organization", "You are nobody in this organization.")


def may(actor: Actor, permission: str, account_id: UUID | None, organization_id: UUID) -> bool:
    """`authorize` as a question, for pages that show or hide an action."""
    try:
        authorize(actor, permission, account_id, organization_id)
    except (Denied, NotFound):
        return False
    return True


def permissions_on(actor: Actor, account_id: UUID | None, organization_id: UUID) -> frozenset[str]:
    """Everything a person may do on an account by roles on it and above it.

    Raises:
        NotFound: no such account.
    """
    with server_cursor() as cursor:
        path = cursor.execute(
            "SELECT ancestors FROM tenancy_account WHERE organization_id = %b AND id = "
            "coalesce(%b::uuid, (SELECT root_account_id FROM tenancy_organization WHERE id = %b))",
            (organization_id, account_id, organization_id),
        ).fetchone()
        if path is None:
            raise NotFound("account_unknown", "There is no such account.", field="account")
        rows = cursor.execute(
            "SELECT DISTINCT role FROM tenancy_membership "
            "WHERE organization_id = %b AND person_id = %b AND account_id = ANY(%b)",
            (organization_id, actor.id, path[0]),
        ).fetchall()
    return permitted(row[0] for row in rows)


def permissions_anywhere(actor: Actor, organization_id: UUID) -> frozenset[str]:
    """Everything a person may do on at least one account, for navigation."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT DISTINCT role FROM tenancy_membership "
            "WHERE organization_id = %b AND person_id = %b",
            (organization_id, actor.id),
        ).fetchall()
    return permitted(row[0] for row in rows)


def accounts_with(actor: Actor, permission: str, organization_id: UUID) -> tuple[UUID, ...]:
    """The accounts on which a person holds a role that carries the permission, nearest the root
    first. What is below them is permitted too."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT DISTINCT a.id, cardinality(a.ancestors), a.name FROM tenancy_membership m "
            "JOIN tenancy_account a ON a.organization_id = m.organization_id "
            "  AND a.id = m.account_id "
            "WHERE m.organization_id = %b AND m.person_id = %b AND m.role = ANY(%b) "
            "ORDER BY 2, 3",
            (organization_id, actor.id, list(granting(permission))),
        ).fetchall()
    return tuple(row[0] for row in rows)


def accounts_permitting(
    actor: Actor, permission: str, organization_id: UUID
) -> frozenset[str] | None:
    """Names of the accounts on which the actor holds a permission; None: on all of them.

    Runs inside the organization's scope, except for machines, whose scopes say it all.

    Raises:
        Denied: on none.
    """
    if actor.kind != ActorKind.PERSON:
        authorize(actor, permission, None, organization_id)
        return None
    if may(actor, permission, None, organization_id):
        return None
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT a.name FROM tenancy_account a WHERE a.organization_id = %b "
            "AND a.ancestors && (SELECT coalesce(array_agg(m.account_id), '{}') "
            "FROM tenancy_membership m WHERE m.organization_id = %b AND m.person_id = %b "
            "AND m.role = ANY(%b))",
            (organization_id, organization_id, actor.id, list(granting(permission))),
        ).fetchall()
    if not rows:
        authorize(actor, permission, None, organization_id)
    return frozenset(row[0] for row in rows)
