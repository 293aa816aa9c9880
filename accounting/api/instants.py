"""The instant an answer about fair-share is told for: now unless asked otherwise."""

from datetime import UTC, datetime
from uuid import UUID

from accounting.domain.fairshare import Fairshare
from accounting.fairshare_state import State, Versions, as_seconds, current
from accounting.queries.fairshare import standing
from ledger.errors import Invalid

EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)


def standing_at(
    organization_id: UUID, at: datetime | None, *, now: int, versions: Versions | None = None
) -> tuple[int, State, Fairshare]:
    """(whole second, state, everybody's standing at it). Now costs one small read, or none
    when the versions are known already.

    Raises:
        Invalid: before 2000, or more than a year ahead.
    """
    if at is None:
        state = current(organization_id, now=versions)
        return now, state, state.evaluate(now)
    if at < EARLIEST:
        raise Invalid("at_too_early", "`at` may be no earlier than 2000.", field="at")
    found, result = standing(organization_id, at=at, now=datetime.fromtimestamp(now, UTC))
    return as_seconds(at), found, result
