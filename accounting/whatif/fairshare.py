"""`manage.py whatif fairshare`: the standing of everybody in a tree that is given, not stored.

The same pure code answers here and over REST, so the answers agree to the digit. Documented field
by field in docs/operator/whatif.md.
"""

import math
from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from accounting.domain.decay import Scale, add_weight, forward_weight
from accounting.domain.fairshare import NO_PARENT, FairshareTree, Standing, Usage, evaluate
from accounting.whatif.fairshare_document import PARENT, AccountLine, Owner, Question, read

Shown = Callable[[int], float]
"""An exact total as the number that people see."""


def answer(document: bytes) -> dict[str, Any]:
    """Question in JSON to answer as JSON-friendly values.

    Raises:
        Invalid: `whatif_invalid`, with the place of the fault in `field`.
    """
    question = read(document)
    ordered = _parents_first(question.accounts)
    tree = _tree(question, ordered)
    exact, unit, shown = _usage_by_owner(question)
    usage = Usage(
        tree=tree,
        people=[exact.get(Owner(person.account, person.name), 0) for person in question.people],
        residual=[exact.get(Owner(account.name, None), 0) for account in ordered],
        unit_log2=unit,
    )
    result = evaluate(tree, usage, algorithm=question.algorithm)
    amounts = [shown(total) for total in usage.exact.tolist()]
    row_of = {account.name: row for row, account in enumerate(ordered)}
    return {
        "algorithm": question.algorithm,
        "half_life_days": None if question.half_life is None else question.half_life.days,
        "at": question.at_text,
        "accounts": [
            {
                "name": account.name,
                "parent": account.parent,
                "shares": PARENT if account.shares is None else account.shares,
                **_columns(result.accounts, row_of[account.name], amounts[tree.accounts]),
            }
            for account in question.accounts
        ],
        "people": [
            {
                "account": person.account,
                "name": person.name,
                "shares": PARENT if person.shares is None else person.shares,
                **_columns(result.people, row, amounts[tree.people]),
            }
            for row, person in enumerate(question.people)
        ],
    }


def _columns(standing: Standing, row: int, usage: list[float]) -> dict[str, Any]:
    rank = int(standing.rank[row])
    fairshare = float(standing.fairshare[row])
    return {
        "norm_shares": float(standing.norm_shares[row]),
        "usage": usage[row],
        "norm_usage": float(standing.norm_usage[row]),
        "effective_usage": float(standing.effective_usage[row]),
        "level_fs": _level(float(standing.level_fs[row])),
        "fairshare": fairshare,
        "rank": rank or None,
    }


def _level(level: float) -> float | str | None:
    """JSON has no infinity: the text "inf"; null where there is no level."""
    if math.isnan(level):
        return None
    return "inf" if math.isinf(level) else level


def _parents_first(accounts: tuple[AccountLine, ...]) -> list[AccountLine]:
    """The document may list accounts in any order; siblings keep theirs."""
    by_name = {account.name: account for account in accounts}
    ordered: dict[str, AccountLine] = {}
    for account in accounts:
        path = []
        here: AccountLine | None = account
        while here is not None and here.name not in ordered:
            path.append(here)
            here = None if here.parent is None else by_name[here.parent]
        ordered.update({step.name: step for step in reversed(path)})
    return list(ordered.values())


def _tree(question: Question, ordered: list[AccountLine]) -> FairshareTree:
    index = {account.name: row for row, account in enumerate(ordered)}
    people = question.people
    return FairshareTree.build(
        account_parents=[NO_PARENT if a.parent is None else index[a.parent] for a in ordered],
        account_shares=[a.shares or 0 for a in ordered],
        account_transparent=[a.shares is None for a in ordered],
        person_accounts=[index[p.account] for p in people],
        person_shares=[p.shares or 0 for p in people],
        person_transparent=[p.shares is None for p in people],
    )


def _usage_by_owner(question: Question) -> tuple[dict[Owner, int], float, Shown]:
    """Exact usage on one scale, log2 of its unit, and how a total of it is shown."""
    if question.usage:
        return _decayed_now(question)
    decimals = max((_decimals(line.value) for line in question.decayed), default=0)
    scale = 10**decimals
    exact: dict[Owner, int] = defaultdict(int)
    for line in question.decayed:
        exact[line.owner] += int(Fraction(line.value) * scale)
    return dict(exact), -math.log2(scale), lambda total: float(Fraction(total, scale))


def _decimals(value: Decimal) -> int:
    return max(0, -int(value.as_tuple().exponent)) if value else 0


def _decayed_now(question: Question) -> tuple[dict[Owner, int], float, Shown]:
    """Decay every record to `at`: what still runs, or ends later, is cut there."""
    at, half_life = question.at, question.half_life
    if at is None or half_life is None:
        raise AssertionError("read() lets no usage through without at and half_life_days")
    sums: dict[Owner, dict[int, int]] = defaultdict(dict)
    for line in question.usage:
        end = at if line.end is None else min(line.end, at)
        if end > line.start:
            weight = forward_weight(
                rate=float(line.units), start=line.start, end=end, half_life=half_life
            )
            add_weight(sums[line.owner], weight)
    scale = Scale.covering((epoch for kept in sums.values() for epoch in kept), half_life)
    return (
        {owner: scale.total(kept) for owner, kept in sums.items()},
        scale.unit_log2(at),
        lambda total: scale.value(total, at=at),
    )
