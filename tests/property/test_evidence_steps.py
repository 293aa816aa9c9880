"""Measured use of many places equals what one gets second by second."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from accounting.domain.steps import NEVER, Measured, Spans, Window, measure

SPANS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.integers(-20, 40),
        st.one_of(st.integers(0, 30), st.none()),
        st.integers(1, 50) | st.integers(10**6, 10**7),
    ),
    max_size=12,
)


def columns(found: list[tuple]) -> Spans:
    key, start, units = (np.array([row[at] for row in found], np.int64) for at in (0, 1, 3))
    end = np.array([NEVER if row[2] is None else row[1] + row[2] for row in found], np.int64)
    return Spans(key=key, start=start, end=end, units=units)


def at(found: list[tuple], keys: set[int], instant: int) -> int:
    return sum(
        units
        for key, start, length, units in found
        if key in keys and start <= instant and (length is None or instant < start + length)
    )


def slowly(used, promised, keys, since, until, changes) -> Measured:
    uses = {t: at(used, keys, t) for t in range(since, until)}
    promises = {t: at(promised, keys, t) for t in range(since, until)}
    ordered = sorted(uses.values())
    known = len(ordered)
    idle: dict[int, int] = {}
    for t, units in uses.items():
        period = sum(change <= t for change in changes)
        amount = max(0, promises[t] - units)
        if amount:
            idle[period] = idle.get(period, 0) + amount
    return Measured(
        known=known,
        p50=ordered[-(-known // 2) - 1] if known else None,
        p95=ordered[-(-known * 19 // 20) - 1] if known else None,
        peak=ordered[-1] if known else None,
        used=sum(ordered),
        promised=sum(promises.values()),
        idle=idle,
        promised_at_end=at(promised, keys, 29),
    )


@settings(deadline=None)
@given(
    SPANS,
    SPANS,
    st.lists(st.sets(st.integers(0, 3)), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=4, max_size=4),
    st.sets(st.integers(1, 29), max_size=2),
)
def test_as_second_by_second(used, promised, places, known, changes):
    known = [(min(pair), max(pair)) for pair in known[: len(places)]]
    ordered = sorted(changes)
    members = np.array(
        [(n, key) for n, keys in enumerate(places) for key in keys], np.int64
    ).reshape(-1, 2)
    window = Window(
        start=0,
        end=30,
        since=np.array([since for since, _ in known], np.int64),
        until=np.array([until for _, until in known], np.int64),
        changes=ordered,
    )
    found = measure(columns(used), columns(promised), members, window)
    assert found == [
        slowly(used, promised, keys, since, until, ordered)
        for keys, (since, until) in zip(places, known, strict=True)
    ]


def test_amounts_beyond_63_bits_are_exact():
    year = 366 * 86_400 * 10**6
    units = 10_000_000
    spans = Spans(
        key=np.zeros(1, np.int64),
        start=np.zeros(1, np.int64),
        end=np.full(1, NEVER),
        units=np.full(1, units),
    )
    window = Window(
        start=0, end=10 * year, since=np.zeros(1, np.int64), until=np.full(1, 10 * year)
    )
    (found,) = measure(spans, spans, np.zeros((1, 2), np.int64), window)
    assert found.used == found.promised == units * 10 * year > 2**63
    assert found.idle == {}
