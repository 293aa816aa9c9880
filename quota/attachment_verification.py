"""Files against the digests that the ledger has of them. Part of `manage.py ledger verify`.

The bytes are in a table of their own, which no rebuild makes: only this check would notice that
somebody changed or removed them.
"""

from collections.abc import Iterator
from uuid import UUID

from ledger.sql import server_cursor
from ledger.verification import Finding

CHECK = "attachments"
EXAMPLES_MAX = 20

_DIFFERENT = """
SELECT a.id, a.request_id, a.name, c.content IS NULL, coalesce(length(c.content), 0), a.size
FROM quota_requestattachment a
LEFT JOIN quota_attachmentcontent c
    ON c.organization_id = a.organization_id AND c.digest = a.digest
WHERE a.organization_id = %b AND (
    c.content IS NULL OR encode(sha256(c.content), 'hex') <> a.digest
    OR length(c.content) <> a.size)
ORDER BY a.id LIMIT %b
"""


def verify_attachments(organization_id: UUID) -> Iterator[Finding]:
    """Reckon every digest again. Runs in the organization's snapshot."""
    with server_cursor() as cursor:
        rows = cursor.execute(_DIFFERENT, (organization_id, EXAMPLES_MAX)).fetchall()
    for attachment_id, request_id, name, is_missing, length, size in rows:
        said = "are gone" if is_missing else "are not those that were attached"
        yield Finding(
            check=CHECK,
            problem=f"The bytes of {name} {said}",
            facts={
                "attachment": str(attachment_id),
                "request": str(request_id),
                "found_bytes": length,
                "attached_bytes": size,
            },
        )
