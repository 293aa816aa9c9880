"""Of which month of which account an export is: its instants, names and members as they were.
Runs inside `scope.snapshot`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from accounting import statement_rating
from accounting.domain.exports import Spec
from accounting.domain.statements import State
from accounting.queries import showback
from accounting.queries import statements as queries
from accounting.statement_rating import Ground
from ledger.sql import server_cursor
from tenancy import queries as tenancy
from tenancy import tree_history


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """What an export is about.

    Attributes:
        asked_at: when it was asked for: an open month is as of then.
        known_by: records that came later are in a later month's adjustments, or in no export yet.
        names: of accounts as they were at the end of the month, of pools, flavors and people.
        renamed: accounts that have another name since, by id.
    """

    spec: Spec
    ground: Ground
    state: State
    asked_at: datetime
    known_by: datetime
    digest: str | None
    organization: str
    names: Mapping[UUID, str]
    renamed: Mapping[str, str]

    @property
    def whole(self) -> bool:
        """Whether it is of the whole organization."""
        return self.spec.account_id == self.ground.root

    @property
    def facts(self) -> dict[str, str | None]:
        """What a document says of itself; nothing that changes between two makings."""
        return {
            "organization": self.organization,
            "account": self.names[self.spec.account_id],
            "account_id": str(self.spec.account_id),
            "month": self.ground.month.name,
            "state": self.state,
            "currency": self.ground.currency,
            "time_zone": str(self.ground.zone),
            "digest": self.digest,
        }

    def path(self, above: tuple[UUID, ...]) -> str:
        """The names from the root down."""
        return "/".join(self.names[one] for one in above)


def extent(organization_id: UUID, spec: Spec, *, asked_at: datetime) -> Extent:
    """Load it.

    Raises:
        Invalid: `month_malformed`.
    """
    here = statement_rating.ground(organization_id, spec.month, now=asked_at)
    close = queries.close(organization_id, spec.month)
    names = showback.names_of(organization_id)
    then = _names_then(organization_id, here.until)
    renamed = {str(one): name for one, name in then.items() if names.get(one) != name}
    names.update(then)
    state: State = "open" if close is None else close.state
    closed = close is not None and close.state == "closed"
    return Extent(
        spec=spec,
        ground=here,
        state=state,
        asked_at=asked_at,
        known_by=close.closed_at if closed and close and close.closed_at else asked_at,
        digest=close.digest if closed and close else None,
        organization=tenancy.organization(organization_id).slug,
        names=names,
        renamed=renamed,
    )


_FIRST_NAMES = """
SELECT (payload->>'account_id')::uuid, payload->>'name' FROM ledger_event
WHERE organization_id = %b AND type = 'account.opened' AND occurred_at > %b
"""


def _names_then(organization_id: UUID, at: datetime) -> dict[UUID, str]:
    """Names of accounts at an instant; the first of those that were opened later."""
    with server_cursor() as cursor:
        names = dict(cursor.execute(_FIRST_NAMES, (organization_id, at)).fetchall())
    return names | {node[0]: node[1] for node in tree_history.tree_at(organization_id, at)}
