"""Events of flavors, pools and quotas to rows."""

from collections.abc import Iterator, Sequence

from ledger.projection import ProjectedTable, Projector
from ledger.sql import server_cursor
from ledger.types import RecordedEvent
from quota import events as ev

Run = Sequence[RecordedEvent]

_FLAVOR = ProjectedTable(name="quota_flavor", key=("organization_id", "id"))
_POOL = ProjectedTable(name="quota_pool", key=("organization_id", "id"))
_POOL_HISTORY = ProjectedTable(name="quota_poolhistory", key=("organization_id", "event_id"))
_QUOTA = ProjectedTable(name="quota_quota", key=("organization_id", "account_id", "pool_id"))
_QUOTA_HISTORY = ProjectedTable(name="quota_quotahistory", key=("organization_id", "event_id"))
_SCHEDULED = ProjectedTable(name="quota_scheduled", key=("organization_id", "id"))


def flavor_defined(run: Run) -> None:
    """New kinds of resource."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "INSERT INTO quota_flavor (organization_id, id, name, weight) "
                "VALUES (%b, %b, %b, %b)",
                (event.organization_id, data.flavor_id, data.name, data.weight),
            )


def flavor_weight_set(run: Run) -> None:
    """Economic weights."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "UPDATE quota_flavor SET weight = %b WHERE organization_id = %b AND id = %b",
                (data.weight, event.organization_id, data.flavor_id),
            )


def pool_opened(run: Run) -> None:
    """New pools."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "INSERT INTO quota_pool (organization_id, id, name, flavor_id, cluster, capacity, "
                "unavailable, safety_margin, reclaim_target_seconds, opened_at) "
                "VALUES (%b, %b, %b, %b, %b, %b, %b, %b, %b, %b)",
                (
                    event.organization_id,
                    data.pool_id,
                    data.name,
                    data.flavor_id,
                    data.cluster,
                    data.capacity,
                    data.unavailable,
                    data.safety_margin,
                    data.reclaim_target_seconds,
                    event.recorded_at,
                ),
            )


def pool_changed(run: Run) -> None:
    """One fact of a pool's size; the field of the event beside the pool's id names the column."""
    with server_cursor() as cursor:
        for event in run:
            (column,) = (name for name in _SIZES if hasattr(event.data, name))
            cursor.execute(
                f"UPDATE quota_pool SET {column} = %b WHERE organization_id = %b AND id = %b",
                (getattr(event.data, column), event.organization_id, event.data.pool_id),
            )


def pool_history(run: Run) -> None:
    """Close the open row of the pool and open one with its sizes as they are now.

    Projected right after the pool itself, event by event, so that the pool's row says them all.
    """
    with server_cursor() as cursor:
        for event in run:
            key = (event.organization_id, event.data.pool_id)
            cursor.execute(
                "UPDATE quota_poolhistory SET valid_to = greatest(valid_from, %b) "
                "WHERE organization_id = %b AND pool_id = %b AND valid_to IS NULL",
                (event.occurred_at, *key),
            )
            cursor.execute(
                "INSERT INTO quota_poolhistory (organization_id, event_id, pool_id, capacity, "
                "unavailable, safety_margin, reclaim_target_seconds, valid_from) "
                "SELECT organization_id, %b, id, capacity, unavailable, safety_margin, "
                "reclaim_target_seconds, greatest(%b, (SELECT max(valid_to) "
                "FROM quota_poolhistory h WHERE h.organization_id = p.organization_id "
                "AND h.pool_id = p.id)) "
                "FROM quota_pool p WHERE organization_id = %b AND id = %b",
                (event.id, event.occurred_at, *key),
            )


def pool_and_history(run: Run) -> None:
    """Pool and history in step: a run may hold two sizes of one pool."""
    for event in run:
        (pool_opened if isinstance(event.data, ev.PoolOpened) else pool_changed)((event,))
        pool_history((event,))


def quota_became(run: Run) -> None:
    """A quota in force: set, ended, or kept where its end lapsed."""
    for group in _distinct(run):
        _became([event for event in group if _says_what_stands(event)])
    due = [event.data.change_id for event in run if getattr(event.data, "change_id", None)]
    _forget_scheduled(run[0].organization_id, due)


def _says_what_stands(event: RecordedEvent) -> bool:
    """A scheduled change that lapsed leaves the quota alone."""
    return not isinstance(event.data, ev.QuotaLapsed) or event.data.change_id is None


def _distinct(run: Run) -> Iterator[list[RecordedEvent]]:
    """Parts of a run in which no quota comes twice, in order: each is one set of statements."""
    group: list[RecordedEvent] = []
    seen: set[str] = set()
    for event in run:
        if event.stream in seen:
            yield group
            group, seen = [], set()
        seen.add(event.stream)
        group.append(event)
    yield group


_NEW = (
    "unnest(%b::uuid[], %b::uuid[], %b::uuid[], %b::uuid[], %b::timestamptz[], %b::bigint[], "
    "%b::bigint[], %b::bigint[], %b::timestamptz[], %b::bigint[], %b::bigint[], %b::bigint[], "
    "%b::uuid[], %b::boolean[]) AS n(organization_id, account_id, pool_id, event_id, at, "
    "guaranteed, borrowing_limit, lending_limit, ends_at, base_guaranteed, base_borrowing_limit, "
    "base_lending_limit, lender_id, end_exposes)"
)
_COLUMNS = (
    "organization_id, account_id, pool_id, event_id, guaranteed, borrowing_limit, lending_limit, "
    "ends_at, base_guaranteed, base_borrowing_limit, base_lending_limit, lender_id, end_exposes"
)
_SELECTED = ", ".join(f"n.{name}" for name in _COLUMNS.split(", "))
_SAME = (
    "q.organization_id = n.organization_id AND q.account_id = n.account_id "
    "AND q.pool_id = n.pool_id"
)


def _became(events: list[RecordedEvent]) -> None:
    """Three statements: close what was open, add to history, replace what stands. An event that
    occurred before the one it follows (clocks differ) takes effect with it."""
    if not events:
        return
    columns = tuple(list(column) for column in zip(*map(_quota_row, events), strict=True))
    with server_cursor() as cursor:
        cursor.execute(
            f"UPDATE quota_quotahistory q SET valid_to = greatest(q.valid_from, n.at) FROM {_NEW} "
            f"WHERE {_SAME} AND q.valid_to IS NULL",
            columns,
        )
        cursor.execute(
            f"INSERT INTO quota_quotahistory ({_COLUMNS}, valid_from) "
            f"SELECT {_SELECTED}, greatest(n.at, q.since) "
            f"FROM {_NEW} LEFT JOIN quota_quota q ON {_SAME}",
            columns,
        )
        replaced = ", ".join(
            f"{name} = excluded.{name}" for name in _COLUMNS.split(", ") if name not in _QUOTA.key
        )
        cursor.execute(
            f"INSERT INTO quota_quota AS q ({_COLUMNS}, since) SELECT {_SELECTED}, n.at "
            f"FROM {_NEW} ON CONFLICT (organization_id, account_id, pool_id) "
            f"DO UPDATE SET {replaced}, since = greatest(q.since, excluded.since)",
            columns,
        )


def _quota_row(event: RecordedEvent) -> tuple:
    data = event.data
    base = getattr(data, "returns_to", None)
    ends_at = getattr(data, "ends_at", None)
    return (
        event.organization_id,
        data.account_id,
        data.pool_id,
        event.id,
        event.occurred_at,
        data.quota.guaranteed,
        data.quota.borrowing_limit,
        data.quota.lending_limit,
        ends_at,
        base.guaranteed if base else None,
        base.borrowing_limit if base else None,
        base.lending_limit if base else None,
        data.lender_id if ends_at else None,
        getattr(data, "end_exposes", False),
    )


def quota_scheduled(run: Run) -> None:
    """Changes to come."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "INSERT INTO quota_scheduled (organization_id, id, account_id, pool_id, "
                "guaranteed, borrowing_limit, lending_limit, starts_at, ends_at, lender_id, "
                "expose, event_id) VALUES (%b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b)",
                (
                    event.organization_id,
                    data.change_id,
                    data.account_id,
                    data.pool_id,
                    data.quota.guaranteed,
                    data.quota.borrowing_limit,
                    data.quota.lending_limit,
                    data.starts_at,
                    data.ends_at,
                    data.lender_id,
                    data.expose,
                    event.id,
                ),
            )


def quota_schedule_cancelled(run: Run) -> None:
    """Changes that will not come."""
    _forget_scheduled(run[0].organization_id, [event.data.change_id for event in run])


def _forget_scheduled(organization_id, ids: list) -> None:
    if ids:
        with server_cursor() as cursor:
            cursor.execute(
                "DELETE FROM quota_scheduled WHERE organization_id = %b AND id = ANY(%b)",
                (organization_id, ids),
            )


_SIZES = ("capacity", "unavailable", "safety_margin", "reclaim_target_seconds")


def _projector(event_type: type[ev.Event], project, *tables: ProjectedTable) -> Projector:
    name = event_type.event_type
    return Projector(name=f"quota:{name}", project=project, types=frozenset({name}), tables=tables)


_QUOTAS = (_QUOTA, _QUOTA_HISTORY, _SCHEDULED)

PROJECTORS = (
    _projector(ev.FlavorDefined, flavor_defined, _FLAVOR),
    _projector(ev.FlavorWeightSet, flavor_weight_set, _FLAVOR),
    _projector(ev.PoolOpened, pool_and_history, _POOL, _POOL_HISTORY),
    _projector(ev.PoolResized, pool_and_history, _POOL, _POOL_HISTORY),
    _projector(ev.PoolUnavailableSet, pool_and_history, _POOL, _POOL_HISTORY),
    _projector(ev.PoolMarginSet, pool_and_history, _POOL, _POOL_HISTORY),
    _projector(ev.PoolReclaimTargetSet, pool_and_history, _POOL, _POOL_HISTORY),
    _projector(ev.QuotaSet, quota_became, *_QUOTAS),
    _projector(ev.QuotaEnded, quota_became, *_QUOTAS),
    _projector(ev.QuotaLapsed, quota_became, *_QUOTAS),
    _projector(ev.QuotaScheduled, quota_scheduled, _SCHEDULED),
    _projector(ev.QuotaScheduleCancelled, quota_schedule_cancelled, _SCHEDULED),
)
