"""Rules of the account tree: names, depth, cycles, shares. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from ledger.errors import Conflict, Invalid, NotFound, Refused

DEPTH_MAX = 16
"""Levels below the root, which is none itself (docs/design.md part 2: depth up to 16)."""
SHARES_MAX = 2_147_483_646
NAME_LENGTH_MAX = 64
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountNode:
    """An account as the rules see it. `ancestors` runs from the root to the account itself."""

    id: UUID
    name: str
    parent_id: UUID | None
    ancestors: tuple[UUID, ...]
    shares: int | None
    archived: bool


def check_name(name: str, *, field: str) -> str:
    """Return the name when it can stand for an account, person or pool in every format we read.

    Raises:
        Invalid: empty, too long, or with blanks, bars or control characters.
    """
    if not _NAME.fullmatch(name):
        raise Invalid(
            "name_malformed",
            f"{name[:80]!r} cannot be a name: use 1 to {NAME_LENGTH_MAX} letters, digits "
            "and _ . @ + -, starting with a letter or digit.",
            field=field,
            facts={"length_max": NAME_LENGTH_MAX},
        )
    return name


def check_shares(shares: int | None, *, field: str = "shares") -> int | None:
    """Return shares when they are `parent` (None) or a whole number from 0 to SHARES_MAX.

    Raises:
        Invalid: negative or absurd.
    """
    if shares is not None and not 0 <= shares <= SHARES_MAX:
        raise Invalid(
            "shares_out_of_range",
            f"Shares must be a whole number from 0 to {SHARES_MAX}, or `parent`.",
            field=field,
            facts={"minimum": 0, "maximum": SHARES_MAX},
        )
    return shares


def decide_open(*, name: str, parent: AccountNode, name_taken: bool) -> None:
    """Check that an account may be opened under `parent`.

    Raises:
        Invalid: the name is malformed.
        Conflict: the name is taken.
        Refused: the parent is archived, or the tree would be deeper than DEPTH_MAX.
    """
    check_name(name, field="name")
    if name_taken:
        raise Conflict(
            "account_name_taken",
            f"An account named {name} exists already. Choose another name.",
            field="name",
            facts={"name": name},
        )
    _check_parent(parent)
    if len(parent.ancestors) + 1 > DEPTH_MAX + 1:
        raise _too_deep(parent)


def decide_move(*, account: AccountNode, to_parent: AccountNode, height: int) -> None:
    """Check that an account and everything below it may hang under `to_parent`.

    Args:
        height: levels below the account, 0 for a leaf.

    Raises:
        Refused: the root would move, a cycle would close, the parent is archived, too deep.
    """
    if account.parent_id is None:
        raise Refused("root_cannot_move", "The root account cannot be moved.", field="account")
    if account.id in to_parent.ancestors:
        raise Refused(
            "cycle",
            f"{account.name} cannot move below itself. Choose a parent outside its subtree.",
            field="parent",
            facts={"account": account.name, "parent": to_parent.name},
        )
    _check_parent(to_parent)
    if len(to_parent.ancestors) + 1 + height > DEPTH_MAX + 1:
        raise _too_deep(to_parent)


def ordered_ancestors(
    account_id: UUID, parent_id: UUID | None, known: Mapping[UUID, tuple[UUID, ...]]
) -> tuple[UUID, ...]:
    """The path from the root to a new account, given its parent's path.

    Raises:
        NotFound: the parent is unknown.
    """
    if parent_id is None:
        return (account_id,)
    if parent_id not in known:
        raise NotFound("parent_unknown", "The parent account does not exist.", field="parent")
    return (*known[parent_id], account_id)


def _check_parent(parent: AccountNode) -> None:
    if parent.archived:
        raise Refused(
            "parent_archived",
            f"{parent.name} is archived and takes no new accounts.",
            field="parent",
            facts={"parent": parent.name},
        )


def _too_deep(parent: AccountNode) -> Refused:
    return Refused(
        "too_deep",
        f"The tree may be {DEPTH_MAX} levels deep below the root; {parent.name} is too far down.",
        field="parent",
        facts={"depth_max": DEPTH_MAX},
    )
