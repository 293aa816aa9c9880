"""The fair-share tree as pages and REST show it, and why a person stands where it stands."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from uuid import UUID

from accounting.domain.fairshare import Fairshare, Step, evaluate, path_of_person
from accounting.domain.fairshare.tree import NO_PARENT
from accounting.fairshare_state import State, as_seconds, current
from accounting.past_usage import reset_before, usage_in_the_past
from ledger import scope
from ledger.errors import Invalid, NotFound
from ledger.sql import server_cursor

RECORDS_MAX = 20
AHEAD_SECONDS_MAX = 366 * 86_400
RELEVANT_HALF_LIVES = 20
"""Records that started longer ago weigh less than a millionth and are not looked for."""


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One line of `sshare -l`. `shares` None means `parent`; usage is in decayed unit-seconds.

    `person` is empty for an account. `level_fs` may be infinite, or NaN where there is none.
    """

    depth: int
    account_id: UUID
    account: str
    person_id: UUID | None
    person: str
    display_name: str
    has_children: bool
    shares: int | None
    norm_shares: float
    usage: float
    norm_usage: float
    effective_usage: float
    level_fs: float
    fairshare: float
    rank: int


@dataclass(frozen=True, slots=True)
class HeavyRecord:
    """A record with what it counts at the instant of the question, in decayed unit-seconds."""

    source: str
    key: str
    pool: str
    units: int
    start: datetime
    end: datetime | None
    decayed_usage: float
    batch_id: UUID
    event_id: UUID


@dataclass(frozen=True, slots=True)
class PersonExplanation:
    """The whole way from the root to a person's factor."""

    account: str
    person: str
    display_name: str
    algorithm: str
    half_life_days: float
    people: int
    steps: tuple[tuple[str, Step], ...]
    records: tuple[HeavyRecord, ...]


def standing(organization_id: UUID, *, at: datetime, now: datetime) -> tuple[State, Fairshare]:
    """The organization's state and everybody's standing at `at`, whole seconds.

    At the present it comes from the warm sums; in the past from the records themselves. In both
    cases records count that are known now: late ones too, superseded ones not.

    Raises:
        Invalid: more than a year ahead.
    """
    second, present = as_seconds(at), as_seconds(now)
    if second > present + AHEAD_SECONDS_MAX:
        raise Invalid("at_too_far", "`at` may be at most 366 days ahead.", field="at")
    state = current(organization_id)
    if second >= present:
        return state, state.evaluate(second)
    with scope.reading(organization_id):
        usage = usage_in_the_past(state, organization_id, at=second)
    return state, evaluate(state.tree, usage, algorithm=state.algorithm)


def account_rows(state: State, result: Fairshare, account: int) -> list[NodeRow]:
    """The children and people right below one account, accounts first, by name."""
    names = state.names
    rows = [
        _account(state, result, index)
        for index, parent in enumerate(names.account_parents)
        if parent == account
    ]
    rows += [
        _person(state, result, index)
        for index, owner in enumerate(names.person_accounts)
        if owner == account
    ]
    return rows


def all_rows(state: State, result: Fairshare) -> list[NodeRow]:
    """Every node, depth first as `sshare -l -a` prints: an account, its people, its children."""
    return tree_rows(state, result)


def tree_rows(
    state: State,
    result: Fairshare,
    *,
    account: str | None = None,
    first: int = 0,
    limit: int | None = None,
) -> list[NodeRow]:
    """A stretch of the tree, or of the part below one account, in the order of `all_rows`.

    Raises:
        NotFound: no such open account.
    """
    last = None if limit is None else first + limit
    walk = _walk(state, _start(state, account))
    return [
        _account(state, result, index) if is_account else _person(state, result, index)
        for is_account, index in islice(walk, first, last)
    ]


def _start(state: State, account: str | None) -> list[int]:
    if account is None:
        return [i for i, parent in enumerate(state.names.account_parents) if parent == NO_PARENT]
    index = state.names.account_by_name.get(account)
    if index is None:
        raise NotFound("account_unknown", f"There is no open account {account}.", field="account")
    return [index]


def _walk(state: State, start: list[int]) -> Iterator[tuple[bool, int]]:
    """(is an account, index), depth first."""
    names = state.names
    children: dict[int, list[int]] = {}
    people: dict[int, list[int]] = {}
    for index, parent in enumerate(names.account_parents):
        children.setdefault(parent, []).append(index)
    for index, owner in enumerate(names.person_accounts):
        people.setdefault(owner, []).append(index)
    stack = sorted(start, key=names.account_names.__getitem__, reverse=True)
    while stack:
        account = stack.pop()
        yield True, account
        for person in people.get(account, ()):
            yield False, person
        stack += sorted(
            children.get(account, ()), key=names.account_names.__getitem__, reverse=True
        )


def account_row(state: State, result: Fairshare, name: str) -> NodeRow:
    """One account's line.

    Raises:
        NotFound: no such open account.
    """
    index = state.names.account_by_name.get(name)
    if index is None:
        raise NotFound("account_unknown", f"There is no open account {name}.", field="account")
    return _account(state, result, index)


def explain_person(
    organization_id: UUID,
    state: State,
    result: Fairshare,
    *,
    account: str,
    person: str,
    at: datetime,
) -> PersonExplanation:
    """The path with all numbers, and the records that weigh most. Runs inside `scope.reading`.

    Raises:
        NotFound: the person does not work under the account.
    """
    number = state.names.person_by_name.get((account, person))
    if number is None:
        raise NotFound(
            "person_not_on_account", f"{person} does not work under {account}.", field="person"
        )
    names = state.names
    steps = tuple(
        (names.account_names[step.account] if step.account is not None else person, step)
        for step in path_of_person(state.tree, result, number)
    )
    return PersonExplanation(
        account=account,
        person=person,
        display_name=names.person_displays[number],
        algorithm=state.algorithm,
        half_life_days=state.half_life.days,
        people=state.tree.person_count,
        steps=steps,
        records=heaviest_records(
            organization_id,
            state,
            account_id=names.account_ids[names.person_accounts[number]],
            person_id=names.person_ids[number],
            at=at,
        ),
    )


# The person's records come first and alone, by their index: fresh from a large import the planner
# knows nothing yet of the tables, and would go through every key of the organization for each.
_HEAVIEST = """
WITH mine AS MATERIALIZED (
    SELECT r.source_id, r.key, r.pool_id, r.units, r.started_at, r.ended_at, r.batch_id
    FROM accounting_usagerecord r
    WHERE r.organization_id = %b AND r.account_id = %b AND r.person_id = %b AND r.sign = 1
        AND r.started_at < %b AND r.started_at > %b
)
SELECT s.name, r.key, q.name, r.units, r.started_at, r.ended_at,
    v.value * f.weight::float8 AS counts, r.batch_id, b.event_id
FROM mine r
JOIN accounting_usagekey k ON k.organization_id = %b AND k.source_id = r.source_id
    AND k.key = r.key AND k.superseded_by IS NULL
JOIN accounting_usagesource s ON s.organization_id = k.organization_id AND s.id = r.source_id
JOIN accounting_usagebatch b ON b.organization_id = k.organization_id AND b.id = r.batch_id
JOIN quota_pool q ON q.organization_id = k.organization_id AND q.id = r.pool_id
JOIN quota_flavor f ON f.organization_id = q.organization_id AND f.id = q.flavor_id
CROSS JOIN LATERAL (SELECT
    extract(epoch FROM %b::timestamptz - least(coalesce(r.ended_at, %b), %b))::float8 AS since_end,
    extract(epoch FROM %b::timestamptz - greatest(r.started_at, %b))::float8 AS since_start
) t
CROSS JOIN LATERAL (SELECT r.units * %b::float8 / ln(2.0::float8)
    * (power(2.0::float8, -t.since_end / %b) - power(2.0::float8, -t.since_start / %b)) AS value) v
WHERE t.since_end < t.since_start
ORDER BY counts DESC, r.key LIMIT %b
"""


def heaviest_records(
    organization_id: UUID,
    state: State,
    *,
    account_id: UUID,
    person_id: UUID,
    at: datetime,
    limit: int = 5,
) -> tuple[HeavyRecord, ...]:
    """The records of a person under an account that count most at `at`, heaviest first.

    Looks back RELEVANT_HALF_LIVES half-lives. Runs inside `scope.reading`.
    """
    half_life = float(state.half_life.seconds)
    reset = reset_before(state, organization_id, at=at.timestamp())
    earliest = at.timestamp() - RELEVANT_HALF_LIVES * half_life
    with server_cursor() as cursor:
        rows = cursor.execute(
            _HEAVIEST,
            (
                *(organization_id, account_id, person_id),
                *(at, datetime.fromtimestamp(max(earliest, 0), UTC)),
                organization_id,
                *(at, at, at, at, reset),
                *(half_life, half_life, half_life),
                min(limit, RECORDS_MAX),
            ),
        ).fetchall()
    return tuple(HeavyRecord(*row) for row in rows)


def _account(state: State, result: Fairshare, index: int) -> NodeRow:
    names = state.names
    return _row(
        result.accounts,
        index,
        depth=_depth(state, index),
        account=index,
        names=names,
        person=None,
        shares=names.account_shares[index],
        has_children=bool(state.tree.people_below[index]) or index in names.inner_accounts,
    )


def _person(state: State, result: Fairshare, index: int) -> NodeRow:
    names = state.names
    owner = names.person_accounts[index]
    return _row(
        result.people,
        index,
        depth=_depth(state, owner) + 1,
        account=owner,
        names=names,
        person=index,
        shares=names.person_shares[index],
        has_children=False,
    )


def _depth(state: State, account: int) -> int:
    depth = 0
    while (account := state.names.account_parents[account]) != NO_PARENT:
        depth += 1
    return depth


def _row(columns, index, *, depth, account, names, person, shares, has_children) -> NodeRow:
    return NodeRow(
        depth=depth,
        account_id=names.account_ids[account],
        account=names.account_names[account],
        person_id=None if person is None else names.person_ids[person],
        person="" if person is None else names.person_names[person],
        display_name="" if person is None else names.person_displays[person],
        has_children=has_children,
        shares=shares,
        norm_shares=float(columns.norm_shares[index]),
        usage=float(columns.usage[index]),
        norm_usage=float(columns.norm_usage[index]),
        effective_usage=float(columns.effective_usage[index]),
        level_fs=float(columns.level_fs[index]),
        fairshare=float(columns.fairshare[index]),
        rank=int(columns.rank[index]),
    )
