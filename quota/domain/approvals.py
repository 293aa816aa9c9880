"""Which approvals given earlier still count when the next decision is taken. Pure."""

from collections.abc import Collection, Sequence
from uuid import UUID

from quota.domain.requests import Approval
from quota.domain.routing import Board


def void(
    board: Board, approvals: Sequence[Approval], *, authors: Collection[UUID]
) -> tuple[Approval, ...]:
    """Approvals that no longer count: whoever stands behind them may not review the account any
    more (the role was taken away, the account moved), or turned out to be one of those who ask.

    A word that was given in somebody's place stands as long as that somebody may review: the
    delegation only has to hold while it is used.
    """
    entitled = board.reviewers()
    return tuple(
        one
        for one in approvals
        if (one.on_behalf_of_id or one.reviewer_id) not in entitled
        or any(
            board.is_one_of(person, authors)
            for person in (one.reviewer_id, one.on_behalf_of_id)
            if person is not None
        )
    )
