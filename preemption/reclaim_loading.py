"""What use-it-or-lose-it decides on, read into values of the domain: a bounded number of statements
for a pool, however many guarantees it has."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Literal, NamedTuple
from uuid import UUID

import msgspec
import numpy as np

from accounting.queries.use_by_hour import HOUR_SECONDS, PoolUse, use_by_hour
from ledger.sql import server_cursor
from preemption.domain.covering import covered_use
from preemption.domain.reclaim import DEFAULT_RULE, Justification, QuotaHistory, ReclaimRule
from preemption.domain.series import Ints, UseSeries

Window = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRule:
    """The rule that holds in a pool; off until somebody sets one. `set_for`: the pool itself, or
    the organization, whose rule the pool then follows; None: neither was ever set."""

    set_for: Literal["pool", "organization"] | None = None
    enabled: bool = False
    rule: ReclaimRule = DEFAULT_RULE
    exempt_ids: tuple[UUID, ...] = ()
    maintenance: tuple[Window, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a guarantee stands; see `preemption.reclaim_models.ReclaimState`."""

    state: str
    at: datetime
    guarantee: int
    units: int
    utilisation: Decimal | None
    due_at: datetime | None
    until: datetime | None
    judged_from: datetime | None
    demotions: int
    justifications: int
    undecided: int
    whole: int | None
    left_at: datetime | None

    def is_cooling(self, now: datetime) -> bool:
        """Within the cooldown of its demotion, whatever became of that."""
        of_demotion = self.state in ("demoted", "restored", "returned")
        return of_demotion and self.until is not None and now < self.until


class Justified(NamedTuple):
    """An approved reason to keep an idle guarantee, from `start` to before `end`."""

    start: datetime
    end: datetime
    request_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """An account's own guarantee in a pool.

    Attributes:
        since: from when on it is as large as it is.
        series: use that counts for it, in the hours in which that is known.
        in_use: units that count for it now, held ones included.
        is_temporary: it ends by itself.
        is_exempt: by the rule, or as P0 jobs use it: now, or within the time that a run looks at.
        is_exempt_by_rule: the same without P0.
        served: stretches in which it was exempt for P0 jobs.
        justified: approved justifications that reach into the time looked at, by their ends.
    """

    account_id: UUID
    units: int
    since: datetime
    series: UseSeries
    in_use: int
    is_temporary: bool
    is_exempt: bool
    is_exempt_by_rule: bool
    served: tuple[Window, ...]
    reasons: tuple[Justified, ...]
    standing: Standing | None

    @property
    def justified(self) -> Justified | None:
        """The justification that lasts longest, over or not."""
        return self.reasons[-1] if self.reasons else None

    def history(self, rule: PoolRule, *, as_it_stands: bool = True) -> QuotaHistory:
        """As the domain judges it; not `as_it_stands`: as if no run had been yet."""
        begins = [self.since]
        if as_it_stands and self.standing is not None and self.standing.judged_from:
            begins.append(self.standing.judged_from)
        if as_it_stands and self.justified is not None:
            begins.append(self.justified.end)
        pauses = tuple(Justification(start=one.start, end=one.end) for one in self.reasons)
        return QuotaHistory(
            guarantee=self.units,
            use=self.series,
            judged_from=max(begins),
            is_exempt=self.is_exempt if as_it_stands else self.is_exempt_by_rule,
            exempt=() if as_it_stands else self.served,
            maintenance=rule.maintenance,
            justifications=() if as_it_stands else pauses,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolGuarantees:
    """All guarantees of a pool. `known_until`: the last instant at which use is known."""

    known_until: datetime | None
    of: Mapping[UUID, Guarantee] = field(default_factory=dict)


_SAID = (
    "enabled, threshold, window_seconds, watch_seconds, clear_margin, "
    "cooldown_seconds, gap_seconds_max, unknown_seconds_max, exempt_ids, maintenance::text"
)
_OWN = f"SELECT pool_id, 'pool', {_SAID} FROM preemption_reclaimrule WHERE organization_id = %b"
_DEFAULT = (
    f"SELECT organization_id, 'organization', {_SAID} FROM preemption_reclaimdefault "
    "WHERE organization_id = %b"
)


def rules(organization_id: UUID) -> dict[UUID, PoolRule]:
    """The rule of every pool for which one holds: its own, or the organization's."""
    with server_cursor() as cursor:
        found = cursor.execute(
            f"{_OWN} UNION ALL {_DEFAULT}", (organization_id, organization_id)
        ).fetchall()
        own = {row[0]: _rule(row[1:]) for row in found}
        default = own.pop(organization_id, None)
        if default is None:
            return own
        pools = cursor.execute(
            "SELECT id FROM quota_pool WHERE organization_id = %b", (organization_id,)
        ).fetchall()
    return {pool: default for (pool,) in pools} | own


def rule(organization_id: UUID, pool_id: UUID) -> PoolRule:
    """What holds in a pool: its own rule, else the organization's, else the default one, off."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"{_OWN} AND pool_id = %b UNION ALL {_DEFAULT}",
            (organization_id, pool_id, organization_id),
        ).fetchall()
    found = {row[1]: row for row in rows}
    row = found.get("pool") or found.get("organization")
    return _rule(row[1:]) if row else PoolRule()


def default_rule(organization_id: UUID) -> PoolRule:
    """The organization's rule; the default one, off, where none was set."""
    with server_cursor() as cursor:
        row = cursor.execute(_DEFAULT, (organization_id,)).fetchone()
    return _rule(row[1:]) if row else PoolRule()


def _rule(row: tuple) -> PoolRule:
    set_for, enabled, threshold, window, watch, margin, *others = row
    cooldown, gap, unknown, exempt, maintenance = others
    return PoolRule(
        set_for=set_for,
        enabled=enabled,
        rule=ReclaimRule(
            threshold=Fraction(threshold),
            window_seconds=window,
            watch_part=Fraction(watch, window),
            clear_margin=Fraction(margin),
            cooldown_seconds=cooldown,
            gap_seconds_max=gap,
            unknown_seconds_max=unknown,
        ),
        exempt_ids=tuple(exempt),
        maintenance=msgspec.json.decode(maintenance, type=tuple[Window, ...]),
    )


_STANDING = Standing.__dataclass_fields__


def standings(organization_id: UUID, pool_id: UUID) -> dict[UUID, Standing]:
    """Where each guarantee of a pool stands about which something was said."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT account_id, {', '.join(_STANDING)} FROM preemption_reclaimstate "
            "WHERE organization_id = %b AND pool_id = %b",
            (organization_id, pool_id),
        ).fetchall()
    return {row[0]: Standing(**dict(zip(_STANDING, row[1:], strict=True))) for row in rows}


_GUARANTEES = """
SELECT q.account_id, q.guaranteed, q.ends_at IS NOT NULL, coalesce(
    (SELECT max(h.valid_to) FROM quota_quotahistory h WHERE h.organization_id = q.organization_id
        AND h.account_id = q.account_id AND h.pool_id = q.pool_id
        AND h.guaranteed <> q.guaranteed AND h.valid_to > h.valid_from),
    (SELECT min(h.valid_from) FROM quota_quotahistory h WHERE h.organization_id = q.organization_id
        AND h.account_id = q.account_id AND h.pool_id = q.pool_id))
FROM quota_quotahistory q
JOIN tenancy_account a ON a.organization_id = q.organization_id AND a.id = q.account_id
WHERE q.organization_id = %b AND q.pool_id = %b AND q.valid_to IS NULL AND q.guaranteed > 0
    AND a.archived_at IS NULL
"""
_HELD = """
SELECT account_id, sum(units)::bigint, bool_or(priority_class = 'P0') FROM quota_allocation
WHERE organization_id = %b AND pool_id = %b AND lapses_at > %b GROUP BY account_id
"""
_TREE = """
SELECT a.id, a.parent_id, a.ancestors FROM tenancy_account a WHERE a.organization_id = %b
"""
_UNDER = "    AND a.ancestors @> ARRAY[%b::uuid]"
# A run looks back so far: a P0 job exempts until it is out of sight.
_SERVING = """
SELECT account_id, lower(seen), upper(seen) FROM (
    SELECT account_id, unnest(range_agg(tstzrange(held_at, coalesce(
        ended_at + %(look_back)b::interval, %(now)b::timestamptz + interval '1 day')))) AS seen
    FROM quota_allocation
    WHERE organization_id = %(organization)b AND pool_id = %(pool)b AND priority_class = 'P0'
        AND (lapses_at > %(now)b OR ended_at > %(since)b) AND held_at <= %(now)b
    GROUP BY account_id) s
"""
_JUSTIFIED = """
SELECT account_id, provisioned_at, ends_at, id FROM quota_request
WHERE organization_id = %b AND pool_id = %b AND kind = 'justification'
    AND state IN ('provisioned', 'expired') AND provisioned_at <= %b AND ends_at > %b
ORDER BY account_id, ends_at
"""


def guarantees(
    organization_id: UUID,
    pool_id: UUID,
    pool_rule: PoolRule,
    *,
    start: datetime,
    now: datetime,
    also: Mapping[UUID, int] | None = None,
    under: UUID | None = None,
) -> PoolGuarantees:
    """Guarantees of a pool with their use over the full hours of [start, now).

    Args:
        also: accounts that are looked at as if they were promised so many units, where they have
            no guarantee now: it may have left them whole.
        under: only of accounts at or below this one; what is above does not bear on them.
    """
    here = (organization_id, pool_id)
    with server_cursor() as cursor:
        below = () if under is None else (under,)
        rows = cursor.execute(f"{_GUARANTEES}{_UNDER if below else ''}", here + below).fetchall()
        known = {row[0] for row in rows}
        rows += [(one, n, False, start) for one, n in (also or {}).items() if one not in known]
        if not rows:
            return PoolGuarantees(known_until=None)
        held = cursor.execute(_HELD, (*here, now)).fetchall()
        tree = cursor.execute(
            f"{_TREE}{_UNDER if below else ''}", (organization_id, *below)
        ).fetchall()
    paths = {account: set(path) for account, _, path in tree}
    serving = _serving(here, look_back(pool_rule), start=start, now=now)
    reasons = _reasons(here, start=start, now=now)
    use = use_by_hour(organization_id, pool_id, start=start, end=now, under=under)
    promised = {account: units for account, units, *_ in rows}
    counted = _counted(
        use, tree, promised, {account: units for account, units, _ in held if account in paths}
    )
    served: dict[UUID, list[Window]] = defaultdict(list)
    for account, windows in serving.items():
        for above in paths.get(account, ()):
            served[above] += windows
    exempt = set(pool_rule.exempt_ids)
    stands = standings(organization_id, pool_id)
    hours = use.start + HOUR_SECONDS * np.flatnonzero(use.known).astype(np.int64)
    found = {}
    for account, units, is_temporary, since in rows:
        amounts = counted.get(account)
        found[account] = Guarantee(
            account_id=account,
            units=units,
            since=since,
            series=_series(hours, use, amounts),
            in_use=0 if amounts is None else int(amounts[-1]),
            is_temporary=is_temporary,
            is_exempt=bool(exempt & paths[account]) or _holds(served[account], now),
            is_exempt_by_rule=bool(exempt & paths[account]),
            served=tuple(served[account]),
            reasons=tuple(reasons[account]),
            standing=stands.get(account),
        )
    last = datetime.fromtimestamp(int(hours[-1]) + HOUR_SECONDS, UTC) if len(hours) else None
    return PoolGuarantees(known_until=last, of=found)


def _serving(
    here: tuple[UUID, UUID], seen: timedelta, *, start: datetime, now: datetime
) -> dict[UUID, list[Window]]:
    """Stretches in which an account's own P0 jobs exempt it."""
    values = {"organization": here[0], "pool": here[1], "look_back": seen}
    found: dict[UUID, list[Window]] = defaultdict(list)
    with server_cursor() as cursor:
        rows = cursor.execute(_SERVING, values | {"now": now, "since": start - seen})
        for account, low, high in rows:
            found[account].append((low, high))
    return found


def _reasons(
    here: tuple[UUID, UUID], *, start: datetime, now: datetime
) -> dict[UUID, list[Justified]]:
    """Approved justifications by account, by their ends."""
    found: dict[UUID, list[Justified]] = defaultdict(list)
    with server_cursor() as cursor:
        for account, *told in cursor.execute(_JUSTIFIED, (*here, now, start)):
            found[account].append(Justified(*told))
    return found


def spared(
    organization_id: UUID, pool_id: UUID, pool_rule: PoolRule, *, now: datetime
) -> set[UUID]:
    """Accounts from which nothing may be taken now: justified, or serving P0 jobs, as may have
    become so while they were judged. For a command that holds the pool's lock."""
    here = (organization_id, pool_id)
    seen = look_back(pool_rule)
    justified = set(_reasons(here, start=now, now=now))
    found = _serving(here, seen, start=now, now=now)
    serving = {account for account, windows in found.items() if _holds(windows, now)}
    if not serving:
        return justified
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT ancestors FROM tenancy_account WHERE organization_id = %b AND id = ANY(%b)",
            (organization_id, list(serving)),
        ).fetchall()
    return justified | serving | {above for (path,) in rows for above in path}


def _holds(windows: Iterable[Window], now: datetime) -> bool:
    return any(low <= now < high for low, high in windows)


def _counted(
    use: PoolUse, tree: list[tuple], promised: dict[UUID, int], held: dict[UUID, int]
) -> dict[UUID, Ints]:
    """Use that counts for each guarantee, by hour and, last, now."""
    count = len(use.known)
    own: dict[UUID, Ints] = {}
    for account in {*use.hours, *use.now, *held}:
        hours = use.hours.get(account)
        now = max(use.now.get(account, 0), held.get(account, 0))
        own[account] = np.append(np.zeros(count, np.int64) if hours is None else hours, now)
    return covered_use(
        own=own,
        parents={account: parent for account, parent, _ in tree},
        depth={account: len(path) for account, _, path in tree},
        guarantees=promised,
    )


def _series(hours: Ints, use: PoolUse, amounts: Ints | None) -> UseSeries:
    if amounts is None:
        units = np.zeros(len(hours), np.int64)
    else:
        units = amounts[:-1] if use.known.all() else amounts[:-1][use.known]
    return UseSeries.of(hours, hours + HOUR_SECONDS, units)


def left_alone(one: Guarantee) -> str | None:
    """Why a guarantee is not judged: `temporary`, `exempt` or `unknown`; None: it is."""
    if one.is_temporary:
        return "temporary"
    if one.is_exempt:
        return "exempt"
    return None if len(one.series) else "unknown"


def look_back(pool_rule: PoolRule) -> timedelta:
    """How far back a run reads: a window, the unknown time it may span, maintenance within, and
    slack for a zone's days."""
    rule = pool_rule.rule
    off = sum(((high - low) for low, high in pool_rule.maintenance), timedelta())
    return timedelta(seconds=rule.window_seconds + rule.unknown_seconds_max + 2 * 86_400) + min(
        off, timedelta(days=90)
    )


def in_use_now(organization_id: UUID, pool_id: UUID, *, now: datetime) -> dict[UUID, int]:
    """Units that allocations hold and that count for each account's own guarantee: what a command
    looks at once more under the pool's lock."""
    here = (organization_id, pool_id)
    with server_cursor() as cursor:
        rows = cursor.execute(_GUARANTEES, here).fetchall()
        held = cursor.execute(_HELD, (*here, now)).fetchall()
        tree = cursor.execute(_TREE, (organization_id,)).fetchall()
    found = covered_use(
        own={account: np.array([units]) for account, units, _ in held},
        parents={account: parent for account, parent, _ in tree},
        depth={account: len(path) for account, _, path in tree},
        guarantees={row[0]: row[1] for row in rows},
    )
    return {account: int(units[0]) for account, units in found.items()}


_REVIEWED = """
SELECT DISTINCT s.account_id FROM preemption_reclaimstate s
JOIN quota_cycleentry e ON e.organization_id = s.organization_id AND e.account_id = s.account_id
    AND e.pool_id = s.pool_id AND e.state = 'decided'
JOIN quota_cycle c ON c.organization_id = e.organization_id AND c.id = e.cycle_id
    AND c.state = 'closed' AND c.ended_at > s.left_at
WHERE s.organization_id = %b AND s.pool_id = %b AND s.undecided > 0
ORDER BY s.account_id
"""


def limit_stands(
    organization_id: UUID, *, pool_id: UUID, account_id: UUID, since: datetime | None
) -> bool:
    """A quota's borrowing limit is what it was at an instant, and was all the time."""
    with server_cursor() as cursor:
        (limits,) = cursor.execute(
            "SELECT count(DISTINCT coalesce(borrowing_limit, -1)) FROM quota_quotahistory "
            "WHERE organization_id = %b AND account_id = %b AND pool_id = %b "
            "AND (valid_to IS NULL OR valid_to > %b)",
            (organization_id, account_id, pool_id, since),
        ).fetchone()
    return limits == 1


def pools_to_settle(organization_id: UUID) -> set[UUID]:
    """Pools in which nobody has decided what becomes of units that left a guarantee."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT DISTINCT pool_id FROM preemption_reclaimstate "
            "WHERE organization_id = %b AND undecided > 0",
            (organization_id,),
        ).fetchall()
    return {row[0] for row in rows}


def reviewed(organization_id: UUID, pool_id: UUID) -> list[UUID]:
    """Accounts of which units left, although a review has decided about the quota since."""
    with server_cursor() as cursor:
        rows = cursor.execute(_REVIEWED, (organization_id, pool_id)).fetchall()
    return [row[0] for row in rows]
