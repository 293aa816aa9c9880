"""The root of the error tree. Every refusal of the domain is one of five kinds.

An error carries facts, not prose: `code` is stable and documented, `facts` are the values a page
or an API answer shows (`limit`, `short_by`, `blocking_account`), `field` names the place of the
fault in the input, and `detail` is one sentence with the way out. `config/problems.py` and
`frontend/errors.py` translate them once each.
"""

from typing import Any


class DomainError(Exception):
    """Something the caller asked for will not happen, and why.

    Args:
        code: stable, snake_case, unique for the reason.
        detail: one sentence for a person, with the way out.
        field: JSON-pointer-like place in the input, if one place is at fault.
        facts: further values for machines, JSON-friendly.
    """

    status = 400

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        field: str | None = None,
        facts: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.field = field
        self.facts = facts or {}

    def as_stored(self) -> dict[str, Any]:
        """JSON-friendly form, kept in a receipt so that a retry gets the same answer."""
        return {
            "kind": type(self).__name__,
            "code": self.code,
            "detail": self.detail,
            "field": self.field,
            "facts": self.facts,
        }


class Invalid(DomainError):
    """The input cannot mean anything: wrong shape, bounds or combination (400)."""


class Denied(DomainError):
    """The actor may not do this (403). `facts` name the permission and who can grant it."""

    status = 403


class NotFound(DomainError):
    """No such thing in this organization (404); also said of another tenant's thing."""

    status = 404


class Conflict(DomainError):
    """The state moved meanwhile, or the idempotency key was used for other content (409)."""

    status = 409


class Refused(DomainError):
    """A rule of the domain says no (422). The refusal is remembered under the idempotency key."""

    status = 422


_KINDS = {kind.__name__: kind for kind in (Invalid, Denied, NotFound, Conflict, Refused)}


def from_stored(stored: dict[str, Any]) -> DomainError:
    """Rebuild the error that `as_stored` wrote.

    Raises:
        KeyError: the stored kind is not one of ours.
    """
    kind = _KINDS[stored["kind"]]
    return kind(stored["code"], stored["detail"], field=stored["field"], facts=stored["facts"])
