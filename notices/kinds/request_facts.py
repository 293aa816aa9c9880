"""How requests stand when their notices are written: one read for a batch of events."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ledger.sql import server_cursor
from ledger.types import RecordedEvent
from notices.registry import Look


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFact:
    """A request in the words of notices.

    Attributes:
        author_ids: everybody who asks: the requester, and who changed the request.
        reviewer_ids: who may decide and has not yet: approvers of the levels that are asked,
            operators where those are asked, and whoever stands in for one of them now.
    """

    id: UUID
    account: str
    pool: str
    to_account: str | None
    kind: str
    units: int | None
    ends_at: datetime | None
    purpose: str
    state: str
    due_at: datetime | None
    requester: str
    author_ids: tuple[UUID, ...]
    reviewer_ids: tuple[UUID, ...]

    def what(self, look: Look, *, units: int | None = None, ends_at: datetime | None = None) -> str:
        """`24 units more of h100 for nlp until 13 Dec 2026, 18:00`, with another amount or end
        where one is offered."""
        amount = self.units if units is None else units
        several = "1 unit" if amount == 1 else f"{amount or 0:,} units"
        end = ends_at or self.ends_at
        until = f" until {look.day(end)}" if end else ""
        place = f"of {self.pool} for {self.account}"
        words = {
            "new": f"{several} {place}",
            "raise": f"{several} more {place}",
            "boost": f"{several} more {place}",
            "lower": f"giving back {several} of {self.pool} by {self.account}",
            "ceiling": f"borrowing up to {several} {place}",
            "transfer": f"{several} of {self.pool} to go from {self.account} to {self.to_account}",
            "extension": f"an extension {place}",
            "justification": f"keeping the idle guarantee {place}",
        }
        return f"{words.get(self.kind, f'{several} {place}')}{until}"


_REQUESTS = """
SELECT r.id, a.name, p.name, t.name, r.kind, r.units, r.ends_at, r.purpose, r.state, r.due_at,
       coalesce(nullif(q.display_name, ''), q.name), r.requester_id, r.author_ids
FROM quota_request r
JOIN tenancy_account a ON a.organization_id = r.organization_id AND a.id = r.account_id
JOIN quota_pool p ON p.organization_id = r.organization_id AND p.id = r.pool_id
JOIN tenancy_person q ON q.organization_id = r.organization_id AND q.id = r.requester_id
LEFT JOIN tenancy_account t ON t.organization_id = r.organization_id AND t.id = r.to_account_id
WHERE r.organization_id = %b AND r.id = ANY(%b)
"""

# Who has approved has had their word: in their own place, or in that of whom they stand in for.
_REVIEWERS = """
WITH asked AS (
    SELECT r.id, m.person_id, r.approvals, r.author_ids || r.requester_id AS authors
    FROM quota_request r
    JOIN tenancy_account a ON a.organization_id = r.organization_id AND a.id = r.account_id
    JOIN tenancy_membership m ON m.organization_id = r.organization_id
     AND m.account_id = ANY(a.ancestors)
     AND ((m.role = 'approver' AND m.account_id = ANY(r.level_ids))
          OR (m.role = 'operator' AND r.operators))
    WHERE r.organization_id = %b AND r.id = ANY(%b) AND r.state = 'submitted'
), free AS (
    SELECT * FROM asked WHERE NOT person_id = ANY(authors)
    AND position(person_id::text IN approvals::text) = 0
)
SELECT id, person_id FROM free
UNION SELECT f.id, d.delegate_id FROM free f
JOIN quota_delegation d ON d.organization_id = %b AND d.person_id = f.person_id
 AND d.starts_at <= %b AND d.ends_at > %b
WHERE NOT d.delegate_id = ANY(f.authors)
AND position(d.delegate_id::text IN f.approvals::text) = 0
ORDER BY 1, 2
"""


def facts(
    organization_id: UUID, events: Sequence[RecordedEvent], now: datetime
) -> Mapping[UUID, RequestFact]:
    """The request of each event, by the event's id."""
    ids = list({event.data.request_id for event in events})
    reviewers: dict[UUID, list[UUID]] = {}
    with server_cursor() as cursor:
        rows = cursor.execute(_REQUESTS, (organization_id, ids)).fetchall()
        asked = cursor.execute(
            _REVIEWERS, (organization_id, ids, organization_id, now, now)
        ).fetchall()
    for request_id, person_id in asked:
        reviewers.setdefault(request_id, []).append(person_id)
    found = {
        row[0]: RequestFact(
            id=row[0],
            account=row[1],
            pool=row[2],
            to_account=row[3],
            kind=row[4],
            units=row[5],
            ends_at=row[6],
            purpose=row[7],
            state=row[8],
            due_at=row[9],
            requester=row[10],
            author_ids=tuple(dict.fromkeys((row[11], *row[12]))),
            reviewer_ids=tuple(reviewers.get(row[0], ())),
        )
        for row in rows
    }
    return {event.id: found[event.data.request_id] for event in events}


def fact_of(look: Look) -> RequestFact:
    """The request that a kind speaks about."""
    fact = look.facts
    assert isinstance(fact, RequestFact)
    return fact
