"""Notices about reviews of quotas: one opened or ends soon, a lead is asked, an answer came, the
close. What a close does to a quota is told to its leads as any change of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from ledger.sql import server_cursor
from ledger.types import RecordedEvent
from notices.kinds.words import quoted
from notices.registry import OPERATORS, Draft, Look, Reminder, Someone, kind, leads, reminder
from notices.steps import AHEAD_DAYS, due_step, in_days
from quota.cycle_events import CycleAnswered, CycleAsked, CycleClosed, CycleOpened


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fact:
    """A review as it stands when it is told of.

    Attributes:
        reviewers: approvers of its account, and of those above and below.
        decided_by: whose decisions stand.
        entry_state, asked_by: of the quota that the event is about.
    """

    name: str
    account: str
    state: str
    deadline: datetime
    undecided: int
    reviewers: tuple[Someone, ...]
    decided_by: tuple[Someone, ...]
    entry_state: str = ""
    asked_by: UUID | None = None


_CYCLES = """
SELECT c.id, c.name, a.name, c.state, c.deadline,
    (SELECT count(*) FROM quota_cycleentry e WHERE e.organization_id = c.organization_id
        AND e.cycle_id = c.id AND e.state <> 'decided'),
    (SELECT array_agg(DISTINCT m.person_id) FROM tenancy_membership m
        JOIN tenancy_account t ON t.organization_id = m.organization_id AND t.id = m.account_id
        WHERE m.organization_id = c.organization_id AND m.role = 'approver'
        AND (t.ancestors && ARRAY[c.account_id] OR t.id = ANY(a.ancestors))),
    (SELECT array_agg(DISTINCT e.reviewer_id) FROM quota_cycleentry e
        WHERE e.organization_id = c.organization_id AND e.cycle_id = c.id
        AND e.state = 'decided')
FROM quota_cycle c
JOIN tenancy_account a ON a.organization_id = c.organization_id AND a.id = c.account_id
WHERE c.organization_id = %b
"""


def _people(ids: Iterable[UUID] | None) -> tuple[Someone, ...]:
    return tuple(Someone(one) for one in ids or ())


def _fact(row: Sequence) -> _Fact:
    return _Fact(
        name=row[1],
        account=row[2],
        state=row[3],
        deadline=row[4],
        undecided=row[5],
        reviewers=_people(row[6]),
        decided_by=_people(row[7]),
    )


def _facts(
    organization_id: UUID, events: Sequence[RecordedEvent], now: datetime
) -> Mapping[UUID, _Fact]:
    ids = list({event.data.cycle_id for event in events})
    with server_cursor() as cursor:
        rows = cursor.execute(f"{_CYCLES} AND c.id = ANY(%b)", (organization_id, ids)).fetchall()
    found = {row[0]: _fact(row) for row in rows}
    return {event.id: found[event.data.cycle_id] for event in events}


def _entry_facts(
    organization_id: UUID, events: Sequence[RecordedEvent], now: datetime
) -> Mapping[UUID, _Fact]:
    """With the quota that each event is about."""
    cycles = _facts(organization_id, events, now)
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT cycle_id, account_id, pool_id, state, reviewer_id FROM quota_cycleentry "
            "WHERE organization_id = %b AND (cycle_id, account_id, pool_id) IN "
            "(SELECT * FROM unnest(%b::uuid[], %b::uuid[], %b::uuid[]) AS w(c, a, p))",
            (
                organization_id,
                [event.data.cycle_id for event in events],
                [event.data.account_id for event in events],
                [event.data.pool_id for event in events],
            ),
        ).fetchall()
    entries = {row[:3]: row[3:] for row in rows}
    found = {}
    for event in events:
        data, cycle = event.data, cycles[event.id]
        state, asked_by = entries[data.cycle_id, data.account_id, data.pool_id]
        found[event.id] = _Fact(
            name=cycle.name,
            account=cycle.account,
            state=cycle.state,
            deadline=cycle.deadline,
            undecided=cycle.undecided,
            reviewers=cycle.reviewers,
            decided_by=cycle.decided_by,
            entry_state=state,
            asked_by=asked_by,
        )
    return found


def _of(look: Look) -> _Fact:
    assert isinstance(look.facts, _Fact)
    return look.facts


@kind(
    "cycle.opened",
    label="A review of quotas is open",
    about="Quotas of accounts that you review are to be decided, with the deadline.",
    on=(CycleOpened,),
    facts=_facts,
)
def cycle_opened(event: RecordedEvent, look: Look) -> Draft | None:
    """To everybody who reviews some of it; to operators where nobody does."""
    fact = _of(look)
    if fact.state != "open":
        return None
    return Draft(
        to=fact.reviewers or (OPERATORS,),
        title=f"{fact.name}: {event.data.quota_count:,} quotas of {fact.account} to decide",
        body="Each is shown beside its real use and a recommended figure. Nothing changes before "
        "the review is closed.",
        link=("cycle", str(event.data.cycle_id)),
        deadline=fact.deadline,
    )


@kind(
    "cycle.asked",
    label="A reviewer asks about your quota",
    about="In a review of quotas somebody wants your word on an account that you lead.",
    on=(CycleAsked,),
    facts=_entry_facts,
)
def cycle_asked(event: RecordedEvent, look: Look) -> Draft | None:
    """To the nearest leads, while the question is open."""
    fact, data = _of(look), event.data
    if fact.state != "open" or fact.entry_state != "asked":
        return None
    return Draft(
        to=(leads(data.account_id),),
        title=f"{look.who(event)} asks about the quota of {look.name(data.account_id)} on "
        f"{look.name(data.pool_id)}",
        body=f"{quoted(data.question)} Your answer goes into the review {fact.name}.",
        link=("cycle_entry", str(data.cycle_id), str(data.account_id), str(data.pool_id)),
        deadline=fact.deadline,
    )


@kind(
    "cycle.answered",
    label="A lead answered in a review of quotas",
    about="What you asked about has an answer; the quota waits for your decision.",
    on=(CycleAnswered,),
    facts=_entry_facts,
)
def cycle_answered(event: RecordedEvent, look: Look) -> Draft | None:
    """To whoever asked, while it is not decided."""
    fact, data = _of(look), event.data
    if fact.state != "open" or fact.entry_state != "answered":
        return None
    needs = "" if data.units is None else f" They need {data.units:,} units."
    return Draft(
        to=(Someone(fact.asked_by),),
        title=f"{look.who(event)} answered about {look.name(data.account_id)} on "
        f"{look.name(data.pool_id)}",
        body=f"{quoted(data.text)}{needs}",
        link=("cycle_entry", str(data.cycle_id), str(data.account_id), str(data.pool_id)),
        deadline=fact.deadline,
    )


@kind(
    "cycle.closed",
    label="A review of quotas is closed",
    about="What you decided in it is applied, or it is said why not.",
    on=(CycleClosed,),
    facts=_facts,
)
def cycle_closed(event: RecordedEvent, look: Look) -> Draft:
    """To everybody whose decisions were in it."""
    fact, data = _of(look), event.data
    left = f" {data.impossible:,} could not be applied." if data.impossible else ""
    return Draft(
        to=fact.decided_by,
        title=f"{fact.name} is closed: {data.changed:,} quotas changed",
        body=f"{data.kept:,} were kept, {data.undecided:,} had no decision.{left} The report says "
        "it of each.",
        link=("cycle", str(data.cycle_id)),
    )


@reminder(
    "cycle.ending",
    label="A review of quotas is due",
    about="14, 3 and 1 days before the deadline of a review in which quotas are not decided.",
)
def cycles_ending(organization_id: UUID, look: Look) -> Iterable[Reminder]:
    """To those who review, while something is undecided."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"{_CYCLES} AND c.state = 'open' AND c.deadline > %b AND c.deadline <= %b "
            "ORDER BY c.deadline",
            (organization_id, look.now, look.now + timedelta(days=AHEAD_DAYS)),
        ).fetchall()
        opened = dict(
            cursor.execute(
                "SELECT id, opened_at FROM quota_cycle WHERE organization_id = %b AND id = ANY(%b)",
                (organization_id, [row[0] for row in rows]),
            ).fetchall()
        )
    for row in rows:
        fact = _fact(row)
        step = due_step(fact.deadline, since=opened[row[0]], now=look.now)
        if step is None or not fact.undecided:
            continue
        yield Reminder(
            key=f"cycle:{row[0]}:{fact.deadline.isoformat()}",
            step=step,
            draft=Draft(
                to=fact.reviewers or (OPERATORS,),
                title=f"{fact.name} is due {in_days(fact.deadline, now=look.now, zone=look.zone)}: "
                f"{fact.undecided:,} quotas are not decided",
                body="Nothing happens by itself at the deadline: somebody has to close the review.",
                link=("cycle", str(row[0])),
                deadline=fact.deadline,
            ),
        )
