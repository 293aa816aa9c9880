"""Use and promises as steps in time, of many places at once. Pure, on arrays; exact.

Every record is two edges (units more, units less), every promise two more. In the order of time
they add up to what was in use and what was promised in each stretch between two edges; how long
each amount held gives the quantiles. The work grows with the number of edges, never with the hours
of the window. Instants are whole microseconds from any origin.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

NEVER = np.iinfo(np.int64).max
"""The end of what goes on. PostgreSQL sends `infinity` as this."""

_LOW_BITS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Spans:
    """Units of a key from a start to an end, half-open, in columns. Keys count from 0."""

    key: Integers
    start: Integers
    end: Integers
    units: Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What is asked, in columns by place.

    Attributes:
        start, end: bounds of the window.
        since, until: of each place, the time in which its use is known, within the window.
        changes: instants within the window at which idle time is told apart, ascending.
    """

    start: int
    end: int
    since: Integers
    until: Integers
    changes: Sequence[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Of one place: units x microseconds, but for `known` (microseconds) and the quantiles (units).

    Attributes:
        p50, p95, peak: None where nothing is known.
        idle: promised and not in use, at each instant, by period: 0 before the first change.
        promised_at_end: units promised at the end of the window, whether use is known or not.
    """

    known: int
    p50: int | None
    p95: int | None
    peak: int | None
    used: int
    promised: int
    idle: dict[int, int]
    promised_at_end: int


def measure(used: Spans, promised: Spans, members: NDArray, window: Window) -> list[Measured]:
    """Measure every place.

    Args:
        used, promised: spans by key.
        members: two columns, (place, key): whose spans count for which place.
    """
    count = len(window.since)
    place, at, more, promise = _edges(used, promised, members, window)
    order = np.lexsort((at, place))
    place, at = place[order], at[order]
    firsts = np.searchsorted(place, np.arange(count))
    in_use, _ = _running(more[order], place, firsts)
    promise, promised_at_end = _running(promise[order], place, firsts)
    following = np.append(at[1:], window.end)
    following[np.append(firsts[1:], len(at)) - 1] = window.end
    length = np.minimum(following, window.until[place]) - np.maximum(at, window.since[place])
    kept = length > 0
    place, at, length = place[kept], at[kept], length[kept]
    in_use, promise = in_use[kept], promise[kept]
    idle = _idle(place, at, np.maximum(promise - in_use, 0), length, window)
    p50, p95, peak, known = _quantiles(place, in_use, length, count)
    used_sums = _products(in_use, length, place, count)
    promised_sums = _products(promise, length, place, count)
    return [
        Measured(
            known=int(known[n]),
            p50=int(p50[n]) if known[n] else None,
            p95=int(p95[n]) if known[n] else None,
            peak=int(peak[n]) if known[n] else None,
            used=used_sums[n],
            promised=promised_sums[n],
            idle=idle.get(n, {}),
            promised_at_end=int(promised_at_end[n]),
        )
        for n in range(count)
    ]


def _edges(used: Spans, promised: Spans, members: NDArray, window: Window) -> tuple:
    """Columns place, instant, units in use more, units promised more: unordered."""
    by_key = members[np.argsort(members[:, 1], kind="stable")]
    parts = []
    for spans, is_use in ((used, True), (promised, False)):
        start = np.maximum(spans.start, window.start)
        within = (start < window.end) & (spans.end > start)
        begins = (spans.key[within], start[within], spans.units[within])
        ends_too = within & (spans.end < window.end)
        ends = (spans.key[ends_too], spans.end[ends_too], -spans.units[ends_too])
        key, at, units = (np.concatenate(pair) for pair in zip(begins, ends, strict=True))
        place, source = _spread(key, by_key)
        nothing = np.zeros(len(place), np.int64)
        units = units[source]
        parts.append((place, at[source], *((units, nothing) if is_use else (nothing, units))))
    count = len(window.since)
    cuts = np.array([window.start, *window.changes], np.int64)
    nothing = np.zeros(count * len(cuts), np.int64)
    parts.append((np.repeat(np.arange(count), len(cuts)), np.tile(cuts, count), nothing, nothing))
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def _spread(key: Integers, by_key: NDArray) -> tuple[Integers, Integers]:
    """For every place of every edge's key: the place, and which edge it is."""
    first = np.searchsorted(by_key[:, 1], key, side="left")
    times = np.searchsorted(by_key[:, 1], key, side="right") - first
    source = np.repeat(np.arange(len(key)), times)
    within = np.arange(len(source)) - np.repeat(np.cumsum(times) - times, times)
    return by_key[np.repeat(first, times) + within, 0], source


def _running(more: Integers, place: Integers, firsts: Integers) -> tuple[Integers, Integers]:
    """Running sum within each place, and its last value."""
    running = np.cumsum(more)
    before = np.where(firsts > 0, running[firsts - 1], 0)
    running = running - before[place]
    return running, running[np.append(firsts[1:], len(running)) - 1]


def _quantiles(place: Integers, in_use: Integers, length: Integers, count: int) -> tuple:
    order = np.lexsort((in_use, place))
    place, in_use, length = place[order], in_use[order], length[order]
    firsts = np.searchsorted(place, np.arange(count))
    afters = np.searchsorted(place, np.arange(count), side="right")
    up_to = np.cumsum(length)
    before = np.where(firsts > 0, up_to[firsts - 1], 0) if len(up_to) else np.zeros(count, np.int64)
    known = np.where(afters > firsts, (up_to[afters - 1] if len(up_to) else before) - before, 0)
    if not len(up_to):
        return known, known, known, known
    up_to = up_to - before[place]
    found = []
    for part, whole in ((1, 2), (19, 20)):
        short = np.append(0, np.cumsum(up_to * whole < known[place] * part))
        at = firsts + short[afters] - short[firsts]
        found.append(in_use[np.minimum(at, len(in_use) - 1)])
    return *found, in_use[afters - 1], known


def _products(units: Integers, length: Integers, group: Integers, count: int) -> list[int]:
    """Sum of units x length by group, exactly: in two limbs, since one product may need more than
    63 bits. `group` ascends."""
    bounds = np.searchsorted(group, np.arange(count + 1))
    sums = []
    for limb in (length >> _LOW_BITS, length & ((1 << _LOW_BITS) - 1)):
        running = np.append(0, np.cumsum(units * limb))  # wraps around, and so does the difference
        sums.append(running[bounds[1:]] - running[bounds[:-1]])
    high, low = sums
    return [
        (above << _LOW_BITS) + below
        for above, below in zip(high.tolist(), low.tolist(), strict=True)
    ]


def _idle(
    place: Integers, at: Integers, units: Integers, length: Integers, window: Window
) -> dict[int, dict[int, int]]:
    """By place and period, where there is any."""
    periods = len(window.changes) + 1
    period = np.searchsorted(np.array(window.changes, np.int64), at, side="right")
    sums = _products(units, length, place * periods + period, len(window.since) * periods)
    found: dict[int, dict[int, int]] = {}
    for group, amount in enumerate(sums):
        if amount:
            found.setdefault(group // periods, {})[group % periods] = amount
    return found
