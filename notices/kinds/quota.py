"""Notices about quotas and pools: changed, ending, ended, lapsed, over-promised."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from ledger.instants import on_clock
from ledger.sql import server_cursor
from ledger.types import ActorKind, RecordedEvent
from notices.registry import OPERATORS, Draft, Look, Reminder, kind, leads, reminder
from notices.steps import AHEAD_DAYS, due_step, in_days
from quota.events import (
    PoolMarginSet,
    PoolResized,
    PoolUnavailableSet,
    QuotaEnded,
    QuotaLapsed,
    QuotaSet,
    QuotaValues,
)
from quota.queries.quotas import promises

COMMAND_EVENTS_MAX = 1_000
"""So many positions around a batch hold all other events of its commands that matter here."""


def _values(quota: QuotaValues) -> str:
    """`60 units guaranteed, may borrow 20, lends 10`."""
    units = "1 unit" if quota.guaranteed == 1 else f"{quota.guaranteed:,} units"
    words = [f"{units} guaranteed"]
    if quota.borrowing_limit is not None:
        limit = quota.borrowing_limit
        words.append(f"may borrow {limit:,}" if limit else "may not borrow")
    if quota.lending_limit is not None:
        limit = quota.lending_limit
        words.append(f"lends up to {limit:,}" if limit else "lends nothing")
    return ", ".join(words)


@dataclass(frozen=True, slots=True)
class _Change:
    """What a change replaced, if anything, and who asked for it by a request."""

    before: int | None
    requester_ids: frozenset[UUID]


def _changes(
    organization_id: UUID, events: Sequence[RecordedEvent], now: datetime
) -> Mapping[UUID, _Change]:
    """By event: the guarantee before, and whoever is told of the same by `request.granted`."""
    places = [event.position for event in events if event.position is not None]
    near = (min(places, default=0) - COMMAND_EVENTS_MAX, max(places, default=0))
    with server_cursor() as cursor:
        asked = cursor.execute(
            "SELECT e.command_id, array_agg(DISTINCT person) FROM ledger_event e "
            "JOIN quota_request r ON r.organization_id = e.organization_id "
            "  AND r.id = (e.payload ->> 'request_id')::uuid "
            "CROSS JOIN LATERAL unnest(r.author_ids || r.requester_id) AS person "
            "WHERE e.organization_id = %b AND e.type = 'request.provisioned' "
            "AND e.position BETWEEN %b AND %b AND e.command_id = ANY(%b) GROUP BY 1",
            (
                organization_id,
                near[0],
                near[1] + COMMAND_EVENTS_MAX,
                [event.command_id for event in events],
            ),
        ).fetchall()
        rows = cursor.execute(
            "SELECT n.event_id, p.guaranteed FROM quota_quotahistory n "
            "JOIN quota_quotahistory p ON p.organization_id = n.organization_id "
            "  AND p.account_id = n.account_id AND p.pool_id = n.pool_id "
            "  AND p.valid_to = n.valid_from AND p.event_id <> n.event_id "
            "WHERE n.organization_id = %b AND n.event_id = ANY(%b)",
            (organization_id, [event.id for event in events]),
        ).fetchall()
    before, askers = dict(rows), dict(asked)
    return {
        event.id: _Change(before.get(event.id), frozenset(askers.get(event.command_id, ())))
        for event in events
    }


@kind(
    "quota.changed",
    label="Your quota changed",
    about="The guarantee or the limits of an account that you lead are other ones now.",
    on=(QuotaSet,),
    facts=_changes,
)
def quota_changed(event: RecordedEvent, look: Look) -> Draft:
    """To the leads, with what it was and until when it holds."""
    data: QuotaSet = event.data
    account, pool = look.name(data.account_id), look.name(data.pool_id)
    change: _Change = look.facts
    before = f" It had {change.before:,} before." if change.before is not None else ""
    what, why = f"A change of {account} in the pool {pool} fell due.", ""
    if event.actor_kind != ActorKind.SYSTEM:
        what = f"{look.who(event)} changed the quota of {account} in the pool {pool}."
        reason = event.reason.strip().rstrip(".")
        why = f" Reason: {reason}." if reason else ""
    if data.borrower_id:
        # The one whose guarantee paid for another's, or got it back.
        why = f" This follows from a change of {look.name(data.borrower_id)}.{why}"
    until = ""
    if data.ends_at and data.returns_to:
        until = f" Until {look.day(data.ends_at)}; then {_values(data.returns_to)} again."
    return Draft(
        to=(leads(data.account_id),),
        title=f"{account} on {pool}: {_values(data.quota)}",
        body=f"{what}{before}{until}{why}",
        link=("account_quota", account),
        but=change.requester_ids,
    )


@kind(
    "quota.ended",
    label="A temporary quota ended",
    about="A temporary quota of an account that you lead is over; the one before it holds again.",
    on=(QuotaEnded,),
)
def quota_ended(event: RecordedEvent, look: Look) -> Draft:
    """To the leads: what stands again."""
    data: QuotaEnded = event.data
    account, pool = look.name(data.account_id), look.name(data.pool_id)
    early = " before its time" if data.early else ""
    return Draft(
        to=(leads(data.account_id),),
        title=f"The temporary quota of {account} on {pool} ended{early}",
        body=f"{account} is back to {_values(data.quota)} in the pool {pool}. Nothing that runs "
        "was stopped; what does not fit any more starts nothing new.",
        link=("account_quota", account),
    )


@kind(
    "quota.lapsed",
    label="A scheduled quota change was refused",
    about="A change fell due, and the promise rule did not let it. It will not be tried again.",
    on=(QuotaLapsed,),
)
def quota_lapsed(event: RecordedEvent, look: Look) -> Draft:
    """To the leads and to operators, who can schedule it again."""
    data: QuotaLapsed = event.data
    account, pool = look.name(data.account_id), look.name(data.pool_id)
    what = "A scheduled change" if data.change_id else "The end of the temporary quota"
    short = f" {data.short_by:,} units are missing." if data.short_by else ""
    return Draft(
        to=(leads(data.account_id), OPERATORS),
        title=f"{what} of {account} on {pool} was refused",
        body=f"{on_clock(data.detail, look.zone)}{short} The quota stays at {_values(data.quota)}; "
        "the change will not be tried again by itself.",
        link=("account_quota", account),
    )


def _over(
    organization_id: UUID, events: Sequence[RecordedEvent], now: datetime
) -> Mapping[UUID, tuple[int, int]]:
    """(promised, promisable) of pools that are over-promised now, by the last event of each."""
    over = {
        one.pool_id: one.promise
        for one in promises(organization_id, now=now)
        if one.promise.over_promised_by
    }
    last = {event.data.pool_id: event.id for event in events}
    return {
        event_id: (over[pool_id].promised, over[pool_id].promisable)
        for pool_id, event_id in last.items()
        if pool_id in over
    }


@kind(
    "pool.over_promised",
    label="A pool has promised more than it has",
    about="For operators: after a change of its size a pool cannot keep all its guarantees.",
    on=(PoolResized, PoolUnavailableSet, PoolMarginSet),
    facts=_over,
)
def pool_over_promised(event: RecordedEvent, look: Look) -> Draft | None:
    """To operators, when the pool is still over-promised at the time of telling; once a day and
    pool, for units fail and come back all day long. Whoever changed it is told as well: the
    consequence is not what they typed."""
    if look.facts is None:
        return None
    promised, promisable = look.facts
    pool = look.name(event.data.pool_id)
    return Draft(
        to=(OPERATORS,),
        title=f"The pool {pool} has promised {promised - promisable:,} units too many",
        body=f"{promised:,} units are guaranteed, {max(promisable, 0):,} can be kept. Nothing is "
        "cut by itself; no new guarantee is granted in the pool until this is settled.",
        link=("capacity_pool", pool),
        also_author=True,
        once=f"pool:{event.data.pool_id}:{event.recorded_at.astimezone(look.zone).date()}",
    )


@reminder(
    "quota.ending",
    label="A temporary quota ends soon",
    about="14, 3 and 1 days before a temporary quota of an account that you lead ends.",
)
def quotas_ending(organization_id: UUID, look: Look) -> Iterable[Reminder]:
    """To the leads. Read along the index of ends. Who was given the quota after a step's day was
    told the end then."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT q.account_id, a.name, q.pool_id, p.name, q.guaranteed, q.base_guaranteed, "
            "  q.ends_at, q.since FROM quota_quota q "
            "JOIN tenancy_account a ON a.organization_id = q.organization_id "
            "  AND a.id = q.account_id AND a.archived_at IS NULL "
            "JOIN quota_pool p ON p.organization_id = q.organization_id AND p.id = q.pool_id "
            "WHERE q.organization_id = %b AND q.ends_at > %b AND q.ends_at <= %b "
            "ORDER BY q.ends_at",
            (organization_id, look.now, look.now + timedelta(days=AHEAD_DAYS)),
        ).fetchall()
    for account_id, account, pool_id, pool, units, base, ends_at, since in rows:
        step = due_step(ends_at, since=since, now=look.now)
        if step is not None:
            yield Reminder(
                key=f"quota:{account_id}:{pool_id}:{ends_at.isoformat()}",
                step=step,
                draft=Draft(
                    to=(leads(account_id),),
                    title=f"The temporary quota of {account} on {pool} ends "
                    f"{in_days(ends_at, now=look.now, zone=look.zone)}",
                    body=f"{units:,} units are guaranteed until {look.day(ends_at)}, {base:,} from "
                    "then on. Ask for an extension in time if the work goes on; nothing that runs "
                    "is stopped by the end itself.",
                    # The form, filled with the later end: one look and one click.
                    link=("request_new",),
                    query={"account": account, "pool": pool, "kind": "extension"},
                    deadline=ends_at,
                ),
            )
