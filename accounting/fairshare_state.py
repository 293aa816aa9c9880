"""The fair-share tree of an organization as warm arrays, one per process, fresh at every answer.

A process keeps the tree, its names and the exact decayed usage of everybody. Each answer asks the
database for two version numbers: another tree version loads everything anew, another usage
version fetches only the sums that changed. So new usage counts in the very next answer, and an
answer with nothing new costs one small read.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from math import log2
from threading import Lock
from uuid import UUID

import msgspec
from django.db import connection

from accounting.domain.decay import (
    HalfLife,
    Scale,
    epoch_of,
    forward_weight,
    forward_weights_at,
    quanta_of,
)
from accounting.domain.fairshare import (
    NO_PARENT,
    Algorithm,
    Fairshare,
    FairshareTree,
    Usage,
    evaluate,
)
from accounting.domain.policy import boosts, priority_policy
from accounting.domain.priority import PriorityPolicy
from ledger import scope
from ledger.sql import server_cursor
from quota.queries import pools_with_weights

WEIGHT_SCALE = 10_000
"""Economic weights have four decimals: scaled, they keep every sum an integer."""


@dataclass(frozen=True, slots=True)
class Versions:
    """What a cache compares."""

    tree: int
    usage: int


@dataclass(frozen=True, slots=True)
class OpenRecord:
    """Use that runs on, or ends later than it was recorded. Times in seconds since 1970."""

    account_id: UUID
    person_id: UUID
    pool_id: UUID
    units: int
    start: float
    end: float | None


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """What priorities need of a pool."""

    id: UUID
    name: str
    capacity: int
    weight: int


@dataclass(slots=True)
class Names:
    """Who is who: nodes by name and by id, in the order of the tree."""

    account_ids: list[UUID]
    account_names: list[str]
    account_parents: list[int]
    account_shares: list[int | None]
    person_accounts: list[int]
    person_ids: list[UUID]
    person_names: list[str]
    person_displays: list[str]
    person_shares: list[int | None]
    account_by_name: dict[str, int]
    account_by_id: dict[UUID, int]
    person_by_name: dict[tuple[str, str], int]
    person_by_id: dict[tuple[UUID, UUID], int]
    people_known: frozenset[str]
    archived: frozenset[str]
    inner_accounts: frozenset[int]


@dataclass(slots=True)
class State:
    """Everything warm about one organization. Guarded by `lock`; use through `current`."""

    versions: Versions
    algorithm: Algorithm
    half_life: HalfLife
    policy: PriorityPolicy
    boosts: list[float]
    reset_at: float | None
    tree: FairshareTree
    names: Names
    pools: dict[str, PoolFacts]
    pool_weights: dict[UUID, int]
    scale: Scale
    usage: Usage
    sums: dict[tuple[UUID, UUID, UUID, int], int]
    open_records: list[OpenRecord]
    lock: Lock = field(default_factory=Lock)
    standing_at: int | None = None
    standing: Fairshare | None = None

    def node_of(self, account_id: UUID, person_id: UUID) -> tuple[bool, int] | None:
        """(is a person, index) that use counts for: the association, or what is left of it."""
        person = self.names.person_by_id.get((account_id, person_id))
        if person is not None:
            return True, person
        account = self.names.account_by_id.get(account_id)
        return None if account is None else (False, account)

    def evaluate(self, at: int) -> Fairshare:
        """Everybody's standing at a whole second that is not before the newest ended record."""
        with self.lock:
            timeless = not self.open_records and self.standing is not None
            if self.standing_at == at and self.standing is not None:
                return self.standing
            if timeless:
                # Without running use the ratios do not move: only the shown amounts do.
                self.standing = _shown_at(self, at)
            else:
                self.standing = evaluate(self.tree, usage_at(self, at), algorithm=self.algorithm)
            self.standing_at = at
            return self.standing


_states: dict[UUID, State] = {}
_loading = Lock()


def versions(organization_id: UUID) -> Versions | None:
    """The versions in the database now, in one round trip; None for no such organization."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM accounting_fairshare_versions(%s)", (organization_id,))
        row = cursor.fetchone()
    return Versions(*row) if row else None


def current(organization_id: UUID, *, now: Versions | None = None) -> State:
    """The organization's state as of this moment, loaded or brought up to date.

    Args:
        now: the versions, if the caller has read them in this very request.

    Raises:
        LookupError: no such organization.
    """
    if now is None:
        now = versions(organization_id)
    if now is None:
        raise LookupError(organization_id)
    state = _states.get(organization_id)
    if state is not None and state.versions == now:
        return state
    with _loading:
        state = _states.get(organization_id)
        if (
            state is not None
            and state.versions.tree == now.tree
            and state.versions.usage <= now.usage
        ):
            if state.versions.usage < now.usage and not _catch_up(organization_id, state):
                state = None
        elif state is not None and state.versions.tree >= now.tree:
            return state  # another thread was faster and is further
        else:
            state = None
        if state is None:
            with scope.reading(organization_id):
                state = _load(organization_id)
            _states[organization_id] = state
        return state


def forget(organization_id: UUID | None = None) -> None:
    """Drop what is warm, for tests and benchmarks of a cold start."""
    if organization_id is None:
        _states.clear()
    else:
        _states.pop(organization_id, None)


def usage_at(state: State, at: int) -> Usage:
    """Ended use plus what runs, cut at `at`, as exact usage of every node."""
    unit_log2 = state.scale.unit_log2(at) - log2(WEIGHT_SCALE)
    if not state.open_records:
        return state.usage.at_unit(unit_log2)
    usage = state.usage.copy()
    usage.unit_log2 = unit_log2
    people: list[int] = []
    people_deltas: list[int] = []
    accounts: list[int] = []
    account_deltas: list[int] = []
    for record, delta in _running_weights(state, at):
        node = state.node_of(record.account_id, record.person_id)
        if node is None or delta == 0:
            continue
        is_person, index = node
        (people if is_person else accounts).append(index)
        (people_deltas if is_person else account_deltas).append(delta)
    usage.add(people, people_deltas)
    usage.add_residual(accounts, account_deltas)
    return usage


def _running_weights(state: State, at: int) -> Iterable[tuple[OpenRecord, int]]:
    """(record, exact weight on the state's scale) of every open record at `at`."""
    running = [r for r in state.open_records if r.end is None or r.end > at]
    epoch, quanta = forward_weights_at(
        rates=[float(r.units) for r in running],
        starts=[_since(state, r.start) for r in running],
        at=at,
        half_life=state.half_life,
    )
    for record, amount in zip(running, quanta, strict=True):
        yield record, _scaled(state, record.pool_id, epoch, amount)
    for record in state.open_records:
        if record.end is not None and record.end <= at:
            start = _since(state, record.start)
            if record.end > start:
                weight = forward_weight(
                    rate=float(record.units), start=start, end=record.end, half_life=state.half_life
                )
                yield record, _scaled(state, record.pool_id, weight.epoch, weight.quanta)


def _since(state: State, start: float) -> float:
    return start if state.reset_at is None else max(start, state.reset_at)


def _scaled(state: State, pool_id: UUID, epoch: int, quanta: int) -> int:
    total = state.scale.total({epoch: quanta})
    return total * state.pool_weights.get(pool_id, WEIGHT_SCALE)


def _shown_at(state: State, at: int) -> Fairshare:
    """The cached standing with its shown usage told at another instant."""
    old = state.standing
    shown = usage_at(state, at).shown()
    return replace(
        old,
        accounts=replace(old.accounts, usage=shown[state.tree.accounts]),
        people=replace(old.people, usage=shown[state.tree.people]),
    )


def _catch_up(organization_id: UUID, state: State) -> bool:
    """Fetch sums that changed; False when the whole must be loaded anew."""
    with scope.reading(organization_id), server_cursor() as cursor:
        facts = cursor.execute(_STATE, (organization_id,)).fetchone()
        if facts[4] != state.versions.tree:
            return False
        news = cursor.execute(
            f"{_SUMS} AND changed_in > %b", (organization_id, state.versions.usage)
        ).fetchall()
        open_records = _open_records(cursor, organization_id)
    if any(row[3] < state.scale.reference_epoch for row in news):
        return False
    with state.lock:
        people, people_deltas, accounts, account_deltas = [], [], [], []
        for account_id, person_id, pool_id, epoch, forward in news:
            key = (account_id, person_id, pool_id, epoch)
            quanta = quanta_of(forward)
            delta = _scaled(state, pool_id, epoch, quanta - state.sums.get(key, 0))
            state.sums[key] = quanta
            node = state.node_of(account_id, person_id)
            if node is None:
                return False
            is_person, index = node
            (people if is_person else accounts).append(index)
            (people_deltas if is_person else account_deltas).append(delta)
        state.usage.add(people, people_deltas)
        state.usage.add_residual(accounts, account_deltas)
        state.open_records = open_records
        state.standing = state.standing_at = None
        state.versions = Versions(facts[4], facts[5])
    return True


_STATE = """
SELECT algorithm, half_life_seconds, weights, reset_at, tree_version, usage_version, boosts
FROM accounting_fairsharestate WHERE organization_id = %b
"""
_SUMS = """
SELECT account_id, person_id, pool_id, epoch, forward FROM accounting_decayedusage
WHERE organization_id = %b
"""
_OPEN = """
SELECT account_id, person_id, pool_id, units, extract(epoch FROM started_at)::float8,
    extract(epoch FROM ended_at)::float8
FROM accounting_openusage WHERE organization_id = %b
"""
_ACCOUNTS = """
SELECT id, name, parent_id, shares, archived_at IS NOT NULL
FROM tenancy_account WHERE organization_id = %b ORDER BY cardinality(ancestors), name
"""
_PEOPLE = """
SELECT s.account_id, p.id, p.name, p.display_name, s.shares
FROM tenancy_association s
JOIN tenancy_person p ON p.organization_id = s.organization_id AND p.id = s.person_id
JOIN tenancy_account a ON a.organization_id = s.organization_id AND a.id = s.account_id
WHERE s.organization_id = %b AND a.archived_at IS NULL
ORDER BY a.name, p.name
"""


def _load(organization_id: UUID) -> State:
    with server_cursor() as cursor:
        facts = cursor.execute(_STATE, (organization_id,)).fetchone()
        accounts = cursor.execute(_ACCOUNTS, (organization_id,)).fetchall()
        people = cursor.execute(_PEOPLE, (organization_id,)).fetchall()
        known = cursor.execute(
            "SELECT name FROM tenancy_person WHERE organization_id = %b", (organization_id,)
        ).fetchall()
        sums = cursor.execute(_SUMS, (organization_id,)).fetchall()
        open_records = _open_records(cursor, organization_id)
    pools = {
        pool.name: PoolFacts(pool.id, pool.name, pool.capacity, _scaled_weight(pool.weight))
        for pool in pools_with_weights(organization_id)
    }
    names = _names(accounts, people, frozenset(row[0] for row in known))
    tree = FairshareTree.build(
        account_parents=names.account_parents,
        account_shares=[shares or 0 for shares in names.account_shares],
        account_transparent=[shares is None for shares in names.account_shares],
        person_accounts=names.person_accounts,
        person_shares=[shares or 0 for shares in names.person_shares],
        person_transparent=[shares is None for shares in names.person_shares],
    )
    half_life = HalfLife(facts[1])
    state = State(
        versions=Versions(facts[4], facts[5]),
        algorithm=facts[0],
        half_life=half_life,
        policy=priority_policy(_json(facts[2])),
        boosts=_boosts(_json(facts[6]), names),
        reset_at=facts[3].timestamp() if facts[3] else None,
        tree=tree,
        names=names,
        pools=pools,
        pool_weights={pool.id: pool.weight for pool in pools.values()},
        scale=Scale.covering((row[3] for row in sums), half_life),
        usage=Usage(tree=tree, people=[0] * tree.person_count),
        sums={},
        open_records=open_records,
    )
    _fill(state, sums)
    return state


def _fill(state: State, rows: list[tuple]) -> None:
    """Exact usage of everybody from the stored sums."""
    people = [0] * state.tree.person_count
    residual = [0] * state.tree.account_count
    if state.open_records and not rows:
        earliest = min(record.start for record in state.open_records)
        state.scale = Scale(epoch_of(end=earliest, half_life=state.half_life), state.half_life)
    for account_id, person_id, pool_id, epoch, forward in rows:
        quanta = quanta_of(forward)
        state.sums[account_id, person_id, pool_id, epoch] = quanta
        node = state.node_of(account_id, person_id)
        if node is not None:
            is_person, index = node
            (people if is_person else residual)[index] += _scaled(state, pool_id, epoch, quanta)
    state.usage = Usage(tree=state.tree, people=people, residual=residual)


def _names(accounts: list[tuple], people: list[tuple], known: frozenset[str]) -> Names:
    """Number the open accounts, parents first; a closed one stands for its nearest open
    ancestor."""
    index: dict[UUID, int] = {}
    names = Names(
        [], [], [], [], [], [], [], [], [], {}, index, {}, {}, known, frozenset(), frozenset()
    )
    archived = set()
    for account_id, name, parent_id, shares, is_archived in accounts:
        if is_archived:
            index[account_id] = index[parent_id]
            archived.add(name)
            continue
        index[account_id] = len(names.account_ids)
        names.account_by_name[name] = index[account_id]
        names.account_ids.append(account_id)
        names.account_names.append(name)
        names.account_parents.append(NO_PARENT if parent_id is None else index[parent_id])
        names.account_shares.append(shares)
    names.archived = frozenset(archived)
    names.inner_accounts = frozenset(names.account_parents)
    for account_id, person_id, name, display, shares in people:
        account = index[account_id]
        number = len(names.person_ids)
        names.person_by_name[names.account_names[account], name] = number
        names.person_by_id[account_id, person_id] = number
        names.person_accounts.append(account)
        names.person_ids.append(person_id)
        names.person_names.append(name)
        names.person_displays.append(display)
        names.person_shares.append(shares)
    return names


def _boosts(stored: dict[str, str], names: Names) -> list[float]:
    """Boost of every account: its own, else the nearest one above, else 0."""
    given = boosts(stored)
    found: list[float] = []
    for account_id, parent in zip(names.account_ids, names.account_parents, strict=True):
        inherited = 0.0 if parent == NO_PARENT else found[parent]
        found.append(given.get(str(account_id), inherited))
    return found


def _open_records(cursor, organization_id: UUID) -> list[OpenRecord]:
    return [OpenRecord(*row) for row in cursor.execute(_OPEN, (organization_id,)).fetchall()]


def _scaled_weight(weight: Decimal) -> int:
    return int(weight * WEIGHT_SCALE)


def _json(value):
    return msgspec.json.decode(value) if isinstance(value, (str, bytes)) else value


def as_seconds(at: datetime) -> int:
    """The whole second an answer is told for."""
    return int(at.timestamp())
