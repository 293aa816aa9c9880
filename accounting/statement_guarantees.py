"""What became of every guarantee in a month: loaded in four statements, told apart by pool, day,
price and place in the tree. Runs inside `scope.reading` or a command.

The formula of what is lent goes by the day (and price), so every segment here is a day or less.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, date, datetime
from fractions import Fraction
from itertools import groupby
from typing import Any
from uuid import UUID

import numpy as np
import psycopg

from accounting.domain import guarantees, splitting
from accounting.domain.lines import Guarantee
from accounting.domain.steps import Spans
from accounting.queries import evidence_sql as sql
from accounting.statement_rating import Ground, Place, Segment, borrowed_by_segment
from ledger.sql import server_cursor

ORIGIN = datetime(2000, 1, 1, tzinfo=UTC)
MICROSECONDS = 1_000_000
GUARANTEED = "guaranteed"

_POOLS = """
SELECT p.id, p.flavor_id FROM quota_pool p WHERE p.organization_id = %b AND EXISTS (
    SELECT FROM quota_quotahistory q WHERE q.organization_id = p.organization_id
        AND q.pool_id = p.id AND q.guaranteed > 0 AND q.valid_from < %b
        AND (q.valid_to > %b OR q.valid_to IS NULL)
) ORDER BY p.id
"""


def month_guarantees(here: Ground, *, pools: Collection[UUID] | None = None) -> list[Guarantee]:
    """Every account's own guarantees, one per place in the tree, pool, grade and version of rates.

    Args:
        pools: of these only; None: of all.
    """
    return [one for _, one in _guarantees(here, pools=pools, days=False)]


def daily_guarantees(here: Ground) -> list[tuple[date | None, Guarantee]]:
    """The same by day; summed over its days, each is what `month_guarantees` has."""
    return _guarantees(here, pools=None, days=True)


def _guarantees(
    here: Ground, *, pools: Collection[UUID] | None, days: bool
) -> list[tuple[date | None, Guarantee]]:
    segments = here.segments(days=True)
    if not segments:
        return []
    with server_cursor() as cursor:
        flavors = dict(
            cursor.execute(_POOLS, (here.organization_id, here.until, here.month.start)).fetchall()
        )
        wanted = [pool for pool in flavors if pools is None or pool in pools]
        if not wanted:
            return []
        accounts = _with_guarantees_above(here, cursor, wanted)
        used, promised, known = _load(cursor, here, accounts, wanted)
    borrowed = borrowed_by_segment(here, segments)
    found: dict[tuple, list] = defaultdict(lambda: [Fraction(0)] * 3)
    for number, pool in enumerate(wanted):
        one = _Pool(here, accounts, _of_pool(used, number, len(accounts)),
                    _of_pool(promised, number, len(accounts)), known[pool])  # fmt: skip
        taken = [borrowed.get((pool, n), 0) for n in range(len(segments))]
        for account, n, amounts in one.by_segment(segments, taken):
            place = here.place(account, segments[n])
            version = here.card.at(segments[n].start)
            grade = here.grade(place, segments[n].start)
            day = segments[n].day if days else None
            key = (day, (place, pool, grade, None if version is None else version.id))
            found[key] = [have + more for have, more in zip(found[key], amounts, strict=True)]
    versions = {version.id: version for version in here.card.versions}
    return [
        (day, _guarantee(key, amounts, flavors[key[1]], versions.get(key[3])))
        for (day, key), amounts in found.items()
    ]


_PROMISED_TO = """
SELECT DISTINCT q.account_id FROM quota_quotahistory q
WHERE q.organization_id = %b AND q.pool_id = ANY (%b) AND q.guaranteed > 0 AND q.valid_from < %b
    AND (q.valid_to > %b OR q.valid_to IS NULL)
"""


def _with_guarantees_above(
    here: Ground, cursor: psycopg.Cursor, pools: Sequence[UUID]
) -> list[UUID]:
    """The accounts whose use can fill a guarantee: those with one, all below, and what is between.
    Use of the others flows past every promise."""
    rows = cursor.execute(
        _PROMISED_TO, (here.organization_id, list(pools), here.until, here.month.start)
    ).fetchall()
    promised = {row[0] for row in rows}
    found: set[UUID] = set()
    for tree in here.trees:
        for above in tree.values():
            first = next((n for n, one in enumerate(above) if one in promised), None)
            if first is not None:
                found.update(above)
    return sorted(found)


def _guarantee(
    key: tuple[Place, UUID, str | None, Any], amounts: Sequence[Fraction], flavor: UUID, version
) -> Guarantee:
    (account, above), pool, grade, version_id = key
    line = None if version is None else version.line(flavor, GUARANTEED, grade)
    promised, idle, lent = (amount / MICROSECONDS for amount in amounts)
    return Guarantee(
        account=account,
        above=above,
        pool=pool,
        flavor=flavor,
        grade=grade,
        version=version_id,
        promised=promised,
        idle=idle,
        lent=lent,
        price=None if line is None else line.price,
        list_price=None if line is None else line.list_price,
    )


class _Pool:
    """The spans of one pool, and the time in which its use is known."""

    def __init__(
        self,
        here: Ground,
        accounts: Sequence[UUID],
        used: Spans,
        promised: Spans,
        known: tuple[datetime, datetime],
    ) -> None:
        self._here, self._accounts = here, accounts
        self._used, self._promised = used, promised
        self._known = (_micros(known[0]), _micros(known[1]))

    def by_segment(
        self, segments: Sequence[Segment], borrowed: Sequence[int]
    ) -> Iterable[tuple[UUID, int, tuple[Fraction, Fraction, Fraction]]]:
        """Account, segment, and what was promised, idle and lent in it."""
        first = 0
        for tree, part in groupby(segments, key=lambda one: one.tree):
            stretch = list(part)
            taken = borrowed[first : first + len(stretch)]
            for account, one, lent in self._stretch(tree, stretch, taken):
                for n in range(len(stretch)):
                    if one.promised[n]:
                        amounts = (Fraction(one.promised[n]), Fraction(one.idle[n]), lent[n])
                        yield account, first + n, amounts
            first += len(stretch)

    def _stretch(self, tree: int, stretch: Sequence[Segment], borrowed: Sequence[int]):
        paths = self._here.trees[tree]
        order = sorted(self._accounts, key=lambda account: (len(paths[account]), account))
        places = {account: n for n, account in enumerate(order)}
        renumber = np.array([places[account] for account in self._accounts], np.int64)
        shares = guarantees.shares(
            _renumbered(self._used, renumber),
            _renumbered(self._promised, renumber),
            parents=[places[path[-2]] if len(path := paths[one]) > 1 else -1 for one in order],
            bounds=[*(_micros(one.start) for one in stretch), _micros(stretch[-1].end)],
            known=self._known,
        )
        lent = guarantees.lent({n: one.idle for n, one in shares.items()}, borrowed)
        for n, one in shares.items():
            yield order[n], one, lent[n]


def _renumbered(spans: Spans, numbers: np.ndarray) -> Spans:
    return Spans(key=numbers[spans.key], start=spans.start, end=spans.end, units=spans.units)


def _of_pool(spans: Spans, pool: int, accounts: int) -> Spans:
    kept = (spans.key >= pool * accounts) & (spans.key < (pool + 1) * accounts)
    return Spans(
        key=spans.key[kept] - pool * accounts,
        start=spans.start[kept],
        end=spans.end[kept],
        units=spans.units[kept],
    )


def _load(cursor: psycopg.Cursor, here: Ground, accounts: Sequence[UUID], pools: Sequence[UUID]):
    """Use and promises by pool and account, and the time in which each pool's use is known."""
    values: dict[str, Any] = {
        "organization": here.organization_id,
        **sql.window(here.month.start, here.until),
        "counted_account": list(accounts) * len(pools),
        "counted_pool": [pool for pool in pools for _ in accounts],
        "members": list(accounts),
    }
    used = _spans(sql.used(cursor, values))
    promised = _spans(cursor.execute(sql.PROMISED, values, binary=True, prepare=False).fetchone())
    values |= {"accounts": [here.root] * len(pools), "pools": list(pools), "tops": [here.root]}
    rows = cursor.execute(sql.PLACES, values, prepare=False).fetchall()
    return used, promised, {pools[row[0]]: (row[3], row[4]) for row in rows}


def _spans(columns: tuple[bytes, ...]) -> Spans:
    key, start, end, units = (np.frombuffer(each, ">i8").astype(np.int64) for each in columns)
    return Spans(key=key, start=start, end=end, units=units)


def _micros(at: datetime) -> int:
    """As PostgreSQL sends instants."""
    return splitting.microseconds(ORIGIN, at)
