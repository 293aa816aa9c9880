"""What became of guarantees: how much of each was used, and by whom it was lent. Pure; exact.

Use enters at the account of the record, fills the account's own guarantee, and what exceeds it
flows up into the guarantees above (docs/design.md part 3). What is left over of a guarantee is
idle: so each idle unit is idle once, at the account that it is promised to. Instants are whole
microseconds from any origin, amounts units x microseconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from accounting.domain.steps import Spans

Integers = NDArray[np.int64]
_LOW_BITS = 20


@dataclass(frozen=True, slots=True)
class Share:
    """Of one account's own guarantee, by segment: unit-microseconds promised and idle."""

    promised: tuple[int, ...]
    idle: tuple[int, ...]


def shares(
    used: Spans,
    promised: Spans,
    *,
    parents: Sequence[int],
    bounds: Sequence[int],
    known: tuple[int, int],
) -> dict[int, Share]:
    """Promised and idle time of every account with a guarantee of its own in one pool.

    Args:
        used, promised: by account, which count from 0.
        parents: of each account, which comes before it; -1 for the root.
        bounds: where segments begin, ascending, and the end of the last.
        known: the time in which use is known; the rest counts for nothing.
    """
    own_use, own_promise = _edges(used, bounds), _edges(promised, bounds)
    flows: dict[int, list[tuple[Integers, Integers]]] = {}
    found: dict[int, Share] = {}
    for account in range(len(parents) - 1, -1, -1):
        use = [*own_use.get(account, ()), *flows.pop(account, ())]
        promise = own_promise.get(account, [])
        if not use and not promise:
            continue
        at, in_use, guaranteed = _running(use, promise, bounds)
        if promise:
            found[account] = _measure(at, in_use, guaranteed, bounds, known)
        beyond = np.maximum(in_use - guaranteed, 0)
        change = np.diff(beyond, prepend=0)
        if parents[account] >= 0 and change.any():
            kept = change != 0
            flows.setdefault(parents[account], []).append((at[kept], change[kept]))
    return found


def lent(
    idle: Mapping[int, Sequence[int]], borrowed: Sequence[int]
) -> dict[int, tuple[Fraction, ...]]:
    """What of each account's idle time others borrowed, by segment:

        idle x min(1, borrowed in the pool / idle in the pool)

    Args:
        idle: unit-microseconds by account and segment.
        borrowed: of the whole pool, by segment.
    """
    whole = [sum(amounts[n] for amounts in idle.values()) for n in range(len(borrowed))]
    rates = [
        min(Fraction(1), Fraction(max(taken, 0), there)) if there else Fraction(0)
        for taken, there in zip(borrowed, whole, strict=True)
    ]
    return {
        account: tuple(rate * amount for rate, amount in zip(rates, amounts, strict=True))
        for account, amounts in idle.items()
    }


def _edges(spans: Spans, bounds: Sequence[int]) -> dict[int, list[tuple[Integers, Integers]]]:
    """By account: instants, and units more or less from then on; within the bounds."""
    start = np.maximum(spans.start, bounds[0])
    within = (start < bounds[-1]) & (spans.end > start)
    key = spans.key[within]
    at = np.concatenate((start[within], np.minimum(spans.end[within], bounds[-1])))
    change = np.concatenate((spans.units[within], -spans.units[within]))
    key = np.concatenate((key, key))
    order = np.argsort(key, kind="stable")
    key, at, change = key[order], at[order], change[order]
    accounts, firsts = np.unique(key, return_index=True)
    lasts = np.append(firsts, len(key))[1:]
    return {
        int(account): [(at[first:last], change[first:last])]
        for account, first, last in zip(accounts, firsts, lasts, strict=True)
    }


def _running(
    use: Sequence[tuple[Integers, Integers]],
    promise: Sequence[tuple[Integers, Integers]],
    bounds: Sequence[int],
) -> tuple[Integers, Integers, Integers]:
    """Instants at which anything changes, and units in use and promised from then on."""
    starts = np.array(bounds[:-1], np.int64)
    nothing = np.zeros(len(starts), np.int64)
    at = np.concatenate([each for each, _ in (*use, *promise)] + [starts])
    more = np.concatenate(
        [change for _, change in use]
        + [np.zeros(len(each), np.int64) for each, _ in promise]
        + [nothing]
    )
    promised = np.concatenate(
        [np.zeros(len(each), np.int64) for each, _ in use]
        + [change for _, change in promise]
        + [nothing]
    )
    order = np.argsort(at, kind="stable")
    at, in_use, guaranteed = at[order], np.cumsum(more[order]), np.cumsum(promised[order])
    last = np.append(at[1:] != at[:-1], True)
    return at[last], in_use[last], guaranteed[last]


def _measure(
    at: Integers,
    in_use: Integers,
    guaranteed: Integers,
    bounds: Sequence[int],
    known: tuple[int, int],
) -> Share:
    until = np.minimum(np.append(at[1:], bounds[-1]), known[1])
    length = np.maximum(until - np.maximum(at, known[0]), 0)
    firsts = np.searchsorted(at, np.array(bounds, np.int64))
    return Share(
        promised=_products(guaranteed, length, firsts),
        idle=_products(np.maximum(guaranteed - in_use, 0), length, firsts),
    )


def _products(units: Integers, length: Integers, firsts: Integers) -> tuple[int, ...]:
    """Sums of units x length from each first to the next, in two limbs, for one product may need
    more than 63 bits. A running sum wraps around, and so does the difference."""
    sums = []
    for limb in (length >> _LOW_BITS, length & ((1 << _LOW_BITS) - 1)):
        running = np.append(0, np.cumsum(units * limb))
        sums.append((running[firsts[1:]] - running[firsts[:-1]]).tolist())
    return tuple((high << _LOW_BITS) + low for high, low in zip(*sums, strict=True))
