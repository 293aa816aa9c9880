"""Who may read the tree and its people, and how an address names a part of it."""

from collections.abc import Sequence
from uuid import UUID

from django.http import HttpRequest

from config.api import cursors, parameters
from config.api.operation import Operation
from config.api.schema import paging
from ledger.errors import Denied, Invalid, NotFound
from ledger.types import ActorKind
from tenancy import policy, queries
from tenancy.domain import tree
from tenancy.domain.roles import READ, Scope, granting
from tenancy.queries import AccountRow, PersonRow

LIMIT_DEFAULT = 100
LIMIT_MAX = queries.LIST_MAX - 1
PAGING = paging(LIMIT_MAX, LIMIT_DEFAULT)


def authorize_reader(caller, scope: Scope, account_id: UUID | None) -> None:
    """Refuse who may not read an account (None: the root): a machine by a scope, a person by role.

    Raises:
        Denied: naming what is missing.
    """
    permission = scope if caller.actor.kind == ActorKind.TOKEN else READ
    policy.authorize(caller.actor, permission, account_id, caller.organization_id)


class TreeOperation(Operation):
    """What operations on accounts and people share. Helpers run inside `scope.reading`."""

    def may_see_addresses(self, caller) -> bool:
        """A machine needs no e-mail addresses."""
        return caller.actor.kind == ActorKind.PERSON

    def authorize_reading(self, caller, account_id: UUID | None) -> None:
        """Refuse who may not read an account: a person by role, a machine by `priority:read`,
        which shows the whole tree anyway.

        Raises:
            Denied: naming what is missing.
        """
        authorize_reader(caller, Scope.PRIORITY_READ, account_id)

    def readable(self, caller) -> Sequence[UUID] | None:
        """The topmost accounts a caller may read, with all below them; None: everything.

        Raises:
            Denied: nothing.
        """
        if caller.actor.kind == ActorKind.TOKEN:
            self.authorize_reading(caller, None)
            return None
        if policy.may(caller.actor, READ, None, caller.organization_id):
            return None
        found = policy.accounts_with(caller.actor, READ, caller.organization_id)
        if not found:
            raise Denied(
                "role_missing",
                "Accounts and people are shown to those with a role on some account.",
                facts={"permission": READ, "roles": list(granting(READ))},
            )
        return found

    def page(self, request: HttpRequest) -> tuple[str, int]:
        """(name after which the page begins, its length).

        Raises:
            Invalid: not a cursor of ours, or a length out of bounds.
        """
        after = cursors.read(request, str) or ""
        if not after.isprintable():
            raise Invalid("parameter_invalid", "`cursor` is no cursor of ours.", field="cursor")
        limit = parameters.integer(request, "limit", low=1, high=LIMIT_MAX, default=LIMIT_DEFAULT)
        return after, limit


def account_named(
    organization_id: UUID, name: str, *, field: str = "account", open_only: bool = False
) -> AccountRow:
    """An account by its name in an address or a body.

    Raises:
        NotFound: no such account.
    """
    found = None
    if _is_name(name):
        try:
            found = queries.account_by_name(organization_id, name)
        except NotFound:
            found = None
    if found is None or (open_only and found.archived_at is not None):
        raise NotFound(
            "account_unknown",
            f"There is no {'open ' if open_only else ''}account {name[:80]!r}.",
            field=field,
        )
    return found


def person_named(organization_id: UUID, name: str) -> PersonRow:
    """A person by the short name in an address.

    Raises:
        NotFound: no such person.
    """
    if _is_name(name):
        return queries.person_by_name(organization_id, name)
    raise NotFound("person_unknown", f"There is no person {name[:80]!r}.", field="person")


def next_page(request: HttpRequest, rows: Sequence, limit: int) -> str | None:
    """The address of the page after `limit` of the rows read; None at the end."""
    return cursors.next_address(request, rows[limit - 1].name) if len(rows) > limit else None


def _is_name(name: str) -> bool:
    """Whether anything can have the name; PostgreSQL cannot even be asked about some texts."""
    try:
        tree.check_name(name, field="name")
    except Invalid:
        return False
    return True
