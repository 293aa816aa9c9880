"""An organization of the demo while it is loaded."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from ledger import scope
from ledger.execution import Context, execute
from ledger.sql import server_cursor
from ledger.types import SYSTEM, Actor, ActorKind
from tenancy import queries


@dataclass(slots=True, kw_only=True)
class Tenant:
    """One organization being loaded. `at` is the time that commands carry."""

    id: UUID
    at: datetime
    accounts: dict[str, UUID] = field(default_factory=dict)
    people: dict[str, UUID] = field(default_factory=dict)
    pools: dict[str, UUID] = field(default_factory=dict)
    root: UUID | None = None

    def run(
        self,
        command: Any,
        step: str | None,
        *,
        at: datetime | None = None,
        by: Actor = SYSTEM,
        reason: str = "",
    ) -> Any:
        """Execute a command once: under the same `step` it answers as it did the first time."""
        context = Context(
            organization_id=self.id,
            actor=by,
            now=at or self.at,
            idempotency_key=f"demo/{step}" if step else None,
            reason=reason,
        )
        return execute(command, context).result

    def read_names(self) -> None:
        """Ids of accounts, people and pools by name."""
        with scope.reading(self.id), server_cursor() as cursor:
            self.root = queries.organization(self.id).root_account_id
            self.accounts = dict(
                cursor.execute(
                    "SELECT name, id FROM tenancy_account WHERE organization_id = %b", (self.id,)
                ).fetchall()
            )
            self.people = dict(
                cursor.execute(
                    "SELECT name, id FROM tenancy_person WHERE organization_id = %b", (self.id,)
                ).fetchall()
            )
            self.pools = dict(
                cursor.execute(
                    "SELECT name, id FROM quota_pool WHERE organization_id = %b", (self.id,)
                ).fetchall()
            )

    def person(self, name: str) -> Actor:
        """Somebody acting in person."""
        return Actor(kind=ActorKind.PERSON, id=self.people[name], label=name)
