"""The tree as it was: today's, with the moves and renames since then undone in one question.

Runs inside `scope.reading`.
"""

from datetime import datetime
from uuid import UUID

from ledger.sql import server_cursor

TreeNode = tuple[UUID, str, UUID | None, int, bool]
"""Id, name, parent, depth, archived."""

_THEN = """
WITH moved AS (
    -- The first move after the instant says where the account was until then.
    SELECT DISTINCT ON (e.stream) (e.payload->>'account_id')::uuid AS id,
        (e.payload->>'from_parent_id')::uuid AS parent_id
    FROM ledger_event e
    WHERE e.organization_id = %b AND e.type = 'account.moved' AND e.occurred_at > %b
    ORDER BY e.stream, e.version
), renamed AS (
    SELECT DISTINCT e.stream FROM ledger_event e
    WHERE e.organization_id = %b AND e.type = 'account.renamed' AND e.occurred_at > %b
), named AS (
    SELECT DISTINCT ON (e.stream) (e.payload->>'account_id')::uuid AS id,
        e.payload->>'name' AS name
    FROM renamed r JOIN ledger_event e ON e.organization_id = %b AND e.stream = r.stream
    WHERE e.type IN ('account.opened', 'account.renamed') AND e.occurred_at <= %b
    ORDER BY e.stream, e.version DESC
)
SELECT a.id, coalesce(n.name, a.name), coalesce(m.parent_id, a.parent_id),
    a.archived_at <= %b IS TRUE
FROM tenancy_account a LEFT JOIN moved m ON m.id = a.id LEFT JOIN named n ON n.id = a.id
WHERE a.organization_id = %b AND a.opened_at <= %b
"""


def tree_at(organization_id: UUID, at: datetime) -> list[TreeNode]:
    """Every account that was open or archived at an instant, parents before their children and
    siblings by name."""
    here = organization_id
    with server_cursor() as cursor:
        rows = cursor.execute(_THEN, (here, at, here, at, here, at, at, here, at)).fetchall()
    above = {row[0]: row[2] for row in rows}
    depths: dict[UUID, int] = {}

    def depth(account: UUID) -> int:
        path = []
        here: UUID | None = account
        while here is not None and here not in depths:
            path.append(here)
            here = above[here]
        found = -1 if here is None else depths[here]
        for one in reversed(path):
            found += 1
            depths[one] = found
        return found

    nodes = [(id_, name, parent, depth(id_), archived) for id_, name, parent, archived in rows]
    return sorted(nodes, key=lambda node: (node[3], node[1]))
