"""What stops a job or an account, in words: names as they are written, ways out that exist."""

from uuid import uuid4

import pytest

from quota import allocation_words
from quota.domain.batch import Block
from quota.domain.values import Quota
from quota.queries.standing import AccountStanding
from quota.stops import Above, stop_of


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("guarantee", "fz-c has 0 units of its own guarantee in h100 left; 4 short."),
        ("capacity", "h100 has 0 units free; 4 short."),
        ("guarantees", "All guarantees of fz-c and below in h100 let 0 more through; 4 short."),
        ("class_may_not_borrow", "Jobs of class P0 run on the guarantee of fz-c only."),
        (
            "duration",
            (
                "Jobs of class P2 run no longer than interactive_seconds_max of the admission "
                "policy; ask for less time, or for another class."
            ),
        ),
        ("unknown_account", "There is no such account."),
    ],
)
def test_a_sentence_keeps_the_names_as_they_are(limit, words):
    block = Block(pool=uuid4(), account=uuid4(), limit=limit, available=0, short_by=4)
    assert allocation_words.block(block, pool="h100", account="fz-c") == words


def standing(*, guaranteed: int, used: int, available: int) -> AccountStanding:
    return AccountStanding(
        account_id=uuid4(),
        account="nlp",
        parent_id=uuid4(),
        depth=1,
        archived=False,
        quota=Quota(guaranteed=guaranteed),
        own_use=used,
        used=used,
        subtree=guaranteed,
        local=0,
        available=available,
        potential=100,
        overshoot=0,
        borrowed=max(0, used - guaranteed),
    )


def test_only_who_has_guarantee_left_is_told_that_borrowers_give_way():
    way = "makes borrowers give way"
    assert way in stop_of(standing(guaranteed=20, used=5, available=60), free=3).detail
    assert way not in stop_of(standing(guaranteed=0, used=0, available=60), free=3).detail
    assert way not in stop_of(standing(guaranteed=20, used=20, available=60), free=3).detail


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        (0, "All guarantees of the pool together: 4, of which 1 are in use"),
        (
            12,
            "All guarantees of the pool together (but for 12 that lending limits keep): 4, of",
        ),
    ],
)
def test_guarantees_that_nobody_lends_are_not_told_as_left(kept, words):
    root = Above(account="root", borrowing_limit=None, subtree=4, used=1, lets_through=3, kept=kept)
    stop = stop_of(standing(guaranteed=0, used=0, available=3), free=40, above=root)
    assert stop.detail.startswith(words)
