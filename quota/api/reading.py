"""Who may read pools and quotas over REST, and how an address names them."""

import dataclasses
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest

from config.api import parameters
from config.api.schema import INSTANT, query
from ledger.errors import Denied, Invalid, NotFound
from ledger.execution import Context
from ledger.types import ActorKind
from quota.queries.pools import PoolRow, pools_with_weights
from tenancy import policy, queries
from tenancy.api.reading import TreeOperation
from tenancy.domain.roles import READ, Scope

AS_OF = query("as_of", "A past instant; absent: now.", **INSTANT)
ACCOUNTS_MAX = 1_000_000
READING_SCOPES = (Scope.ADMISSION_WRITE, Scope.PRIORITY_READ, Scope.EXPORT_READ)
"""Any of these lets a machine read pools and quotas. None lets it change one."""


class QuotaOperation(TreeOperation):
    """What operations on pools and quotas share. Helpers run inside `scope.reading`."""

    def authorize_reading(self, caller, account_id: UUID | None) -> None:
        """A person by a role on the account, a machine by one of READING_SCOPES.

        Raises:
            Denied: naming what is missing.
        """
        actor = caller.actor
        if actor.kind != ActorKind.TOKEN:
            policy.authorize(actor, READ, account_id, caller.organization_id)
        elif not actor.scopes & set(READING_SCOPES):
            policy.authorize(actor, Scope.ADMISSION_WRITE, None, caller.organization_id)

    def readable_ids(self, caller) -> frozenset[UUID] | None:
        """Accounts that the caller may see; None: all.

        Raises:
            Denied: none.
        """
        tops = self.readable(caller)
        if tops is None:
            return None
        return frozenset(queries.subtree_ids(caller.organization_id, tops, limit=ACCOUNTS_MAX))

    def pools(self, caller) -> dict[str, PoolRow]:
        """Pools that the caller may ask about, by name."""
        bound = caller.actor.pool_ids
        return {
            row.name: row
            for row in pools_with_weights(caller.organization_id)
            if bound is None or row.id in bound
        }

    def pool(self, caller, name: str) -> PoolRow:
        """A pool by its name in an address or a body.

        Raises:
            NotFound: there is none. Denied: the token is bound to others.
        """
        found = self.pools(caller).get(name)
        if found is not None:
            return found
        if any(row.name == name for row in pools_with_weights(caller.organization_id)):
            raise Denied("pool_denied", f"This token may not ask about pool {name}.")
        raise NotFound("pool_unknown", f"There is no pool {name[:80]!r}.", field="pool")

    def instants(self, request: HttpRequest) -> tuple[datetime, datetime | None]:
        """(now, `as_of` or None).

        Raises:
            Invalid: `as_of` lies ahead.
        """
        now = datetime.now(UTC)
        as_of = parameters.instant(request, "as_of")
        if as_of is not None and as_of > now:
            raise Invalid(
                "as_of_in_future",
                "`as_of` looks back. What is to come is in GET /api/v1/scheduled-quotas.",
                field="as_of",
            )
        return now, as_of

    def change(self, request: HttpRequest, caller, body: Any) -> Context:
        """The circumstances of a command whose body says why, and whether only to try."""
        return dataclasses.replace(
            self.context(request, caller),
            reason=body.reason,
            dry_run=getattr(body, "dry_run", False),
        )


def fields_of(value: Any, names: Mapping[str, Any] | tuple[str, ...]) -> dict[str, Any]:
    """Attributes by name, for a structure that has the same ones."""
    return {name: getattr(value, name) for name in names}
