"""What blocks a job and what became of a message, in words with the way out. Pure."""

from typing import Final

from quota.domain.batch import Block
from quota.domain.lifecycle import Code

_BLOCKS: Final[dict[str, str]] = {
    "guarantee": "{account} has {available} units of its own guarantee in {pool} left",
    "borrowing_limit": "the borrowing limit of {account} in {pool} lets {available} more through",
    "guarantees": "all guarantees of {account} and below in {pool} let {available} more through",
    "capacity": "{pool} has {available} units free",
    "reclaim_target": "{pool} must be able to honour idle guarantees in time, which leaves "
    "{available} units for jobs that give back slowly or hold no entitlement",
    "class_may_not_borrow": "jobs of class P0 run on the guarantee of {account} only",
    "duration": "jobs of class P2 run no longer than interactive_seconds_max of the admission "
    "policy; ask for less time, or for another class",
    "unknown_account": "there is no such account",
    "unknown_pool": "there is no such pool",
    "key_conflict": "this key and attempt were used for another request; use the next attempt",
}

_NO_AMOUNT: Final = frozenset(
    {"class_may_not_borrow", "duration", "unknown_account", "unknown_pool", "key_conflict"}
)
"""Reasons that no units would lift: how many are short says nothing."""

MESSAGES: Final[dict[Code, str]] = {
    "started": "It runs.",
    "renewed": "Its lease is extended.",
    "resized": "It runs with other units.",
    "released": "Its units are free again.",
    "preempted": "Its units are free again.",
    "expired": "It had lapsed.",
    "promoted": "It has a better tier.",
    "demoted": "Its account's guarantee was lowered; it is borrowed now.",
    "already_running": "It was running already; its recorded start stands.",
    "already_ended": "It had ended already; the first end stands.",
    "ended_otherwise": "It had ended in another way; the first end stands.",
    "not_started": "It is held but was never started: send its start first.",
    "nothing_newer": "Something newer was heard already.",
    "no_change": "It is so already.",
    "not_elastic": "Its units stay between its least and its most; a gang has one size.",
    "no_room": "There is no room for more units in its tier now.",
    "too_many_steps": "It was resized too often; let it run as it is.",
    "from_the_future": "The instant lies in the future. Check the clock.",
}


def block(found: Block, *, pool: str, account: str | None) -> str:
    """A reason as one sentence."""
    said = _BLOCKS[found.limit].format(pool=pool, account=account, available=found.available)
    short = f"; {found.short_by} short" if found.short_by and found.limit not in _NO_AMOUNT else ""
    # A name at the beginning stays as it is written: names tell capital letters from small ones.
    is_named = _BLOCKS[found.limit].startswith("{")
    begin = said[0] if is_named else said[0].upper()
    return f"{begin}{said[1:]}{short}."
