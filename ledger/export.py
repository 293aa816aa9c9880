"""Events as NDJSON that anybody can verify; docs/operator/ledger.md says how.

One object a line. `{"line": "event", ...}` has every field that the hash covers under its own
name, in the very form it is hashed in, and the two hashes in hex. The last line of an
organization, `{"line": "heads", ...}`, says where each lane ends, so that a cut-off copy shows.
"""

from collections.abc import Iterator
from uuid import UUID

import msgspec

from ledger import scope, store
from ledger.chain import FIELDS, Link, values

_encoder = msgspec.json.Encoder()


def lines(organization_id: UUID, *, since: int = 0) -> Iterator[bytes]:
    """The organization's events after position `since`, as of one instant, then its heads."""
    count = 0
    with scope.snapshot(organization_id):
        for link, previous, digest in store.links_since(organization_id, position=since):
            yield _line(_event(link, previous, digest))
            count += 1
        heads = {
            str(lane): {"seq": seq, "hash": digest.hex()}
            for lane, (seq, digest) in store.heads(organization_id).items()
        }
    yield _line(
        {
            "line": "heads",
            "organization_id": organization_id,
            "since": since,
            "events": count,
            "heads": heads,
        }
    )


def _event(link: Link, previous: bytes, digest: bytes) -> dict[str, object]:
    return {
        "line": "event",
        **dict(zip(FIELDS, values(link), strict=True)),
        "previous_hash": previous.hex(),
        "hash": digest.hex(),
    }


def _line(value: dict[str, object]) -> bytes:
    return _encoder.encode(value) + b"\n"
