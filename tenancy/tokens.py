"""API token strings: `apn_live_<id>_<secret>_<check>`.

The id (32 hex digits) finds the row, the secret (256 bits) proves possession, the check digits
let secret scanners and people notice a truncated copy. Only the secret's SHA-256 is stored: with
256 random bits no slow hash is needed (docs/decisions/0006-identity.md).
"""

import hashlib
import hmac
import secrets
import zlib
from dataclasses import dataclass
from uuid import UUID

PREFIX = "apn_live"
SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class PresentedToken:
    """A token string taken apart; says nothing yet about whether it is any good."""

    id: UUID
    secret: str


def new_secret() -> str:
    """256 random bits in hex. Shown once, never stored."""
    return secrets.token_hex(SECRET_BYTES)


def hash_secret(secret: str) -> str:
    """SHA-256 in hex: what the ledger keeps of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def render(token_id: UUID, secret: str) -> str:
    """The string a machine sends as its bearer token."""
    body = f"{PREFIX}_{token_id.hex}_{secret}"
    return f"{body}_{_check(body)}"


def parse(text: str) -> PresentedToken | None:
    """Take a token string apart; None when it is malformed or its check digits do not fit."""
    body, _, check = text.rpartition("_")
    prefix, _, rest = body.rpartition(f"{PREFIX}_")
    token_hex, _, secret = rest.partition("_")
    # As bytes: compare_digest takes no other text than ASCII, and a header may hold anything.
    if prefix or not secret or not hmac.compare_digest(check.encode(), _check(body).encode()):
        return None
    try:
        return PresentedToken(UUID(hex=token_hex), secret)
    except ValueError:
        return None


def matches(secret: str, stored_hash: str) -> bool:
    """Constant-time comparison of a presented secret with a stored hash."""
    return hmac.compare_digest(hash_secret(secret), stored_hash)


def _check(body: str) -> str:
    return f"{zlib.crc32(body.encode()):08x}"
