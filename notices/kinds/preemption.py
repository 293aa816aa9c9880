"""Notices about preemption: what was taken from whom and at what cost, and what became of a plan.

Told when units are back, not when that is planned: a notice of 60 to 300 seconds is the scheduler's
to give to the job; a letter would come after it, and what a plan does not get is never told. Whose
job it was hears of each action, the leads of its account once for each plan; whoever asked hears
when the plan is over. Who took is not named: the page names it to those who may see it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from ledger.sql import server_cursor
from ledger.types import RecordedEvent
from notices.kinds.words import units
from notices.registry import Draft, Look, Someone, kind, leads
from preemption.events import ActionReported, PlanSettled

_ACTIONS = """
SELECT a.plan_id, a.allocation_id, a.step, a.mode, a.tax, a.tax_reported, q.person_id, o.currency,
    s.actions, s.units, s.cost
FROM unnest(%b::uuid[], %b::uuid[]) AS w(plan_id, allocation_id)
JOIN preemption_action a ON a.organization_id = %b
    AND a.plan_id = w.plan_id AND a.allocation_id = w.allocation_id
JOIN quota_allocation q ON q.organization_id = a.organization_id AND q.id = a.allocation_id
JOIN tenancy_organization o ON o.id = a.organization_id
CROSS JOIN LATERAL (
    SELECT count(*) AS actions, sum(x.given)::bigint AS units,
        sum(coalesce(x.tax_reported, x.tax)) AS cost
    FROM preemption_action x WHERE x.organization_id = a.organization_id
        AND x.plan_id = a.plan_id AND x.account_id = a.account_id AND x.state = 'done'
) s
"""
_PLANS = """
SELECT p.id, p.key, p.units, p.free_units, p.used_at, e.actor_kind, e.actor_id, (
    SELECT coalesce(sum(a.given), 0)::bigint FROM preemption_action a
    WHERE a.organization_id = p.organization_id AND a.plan_id = p.id AND a.state = 'done')
FROM preemption_plan p
JOIN ledger_event e ON e.organization_id = p.organization_id
    AND e.stream = 'preemption:' || p.id AND e.type = 'preemption.plan_made'
WHERE p.organization_id = %b AND p.id = ANY(%b::uuid[])
"""
_DONE = {
    "shrink": "It goes on with {left}.",
    "checkpoint": "It was asked to save itself, and waits anew.",
    "stop": "It was stopped.",
}


@dataclass(frozen=True, slots=True)
class _Action:
    """What is known of an action beside its report, and of all of its plan and account so far."""

    step: str
    mode: str
    tax: Decimal
    tax_reported: Decimal | None
    person_id: UUID | None
    currency: str
    actions: int
    units: int
    cost: Decimal


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is known of a plan that is over. `asker_id`: the person who asked; None: a machine."""

    key: str
    units: int
    free_units: int
    used_at: datetime | None
    asker_id: UUID | None
    given: int


def _actions(
    organization_id: UUID, events: Sequence[RecordedEvent], now: datetime
) -> Mapping[UUID, _Action]:
    """By event, in one question."""
    done = [event for event in events if event.data.outcome == "done"]
    places = [(event.data.plan_id, event.data.allocation_id) for event in done]
    with server_cursor() as cursor:
        rows = cursor.execute(
            _ACTIONS, ([one for one, _ in places], [one for _, one in places], organization_id)
        ).fetchall()
    found = {(plan, allocation): _Action(*rest) for plan, allocation, *rest in rows}
    return {
        event.id: found[place] for event, place in zip(done, places, strict=True) if place in found
    }


def _plans(
    organization_id: UUID, events: Sequence[RecordedEvent], now: datetime
) -> Mapping[UUID, _Plan]:
    """By event, in one question."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            _PLANS, (organization_id, [event.data.plan_id for event in events])
        ).fetchall()
    found = {
        plan: _Plan(key, units, free, used_at, actor if kind_ == "person" else None, given)
        for plan, key, units, free, used_at, kind_, actor, given in rows
    }
    return {event.id: found[event.data.plan_id] for event in events if event.data.plan_id in found}


def _money(amount: Decimal, currency: str) -> str:
    return f"{amount:,.2f} {currency}"


@kind(
    "preemption.job_taken",
    label="Your job gave units back",
    about="A job of yours was stopped or shrunk so that another could run, with what was lost.",
    on=(ActionReported,),
    facts=_actions,
)
def job_taken(event: RecordedEvent, look: Look) -> Draft | None:
    """To whose job it was, once for each time it gave units back."""
    data: ActionReported = event.data
    fact: _Action | None = look.facts
    if fact is None or fact.person_id is None:
        return None
    mode = "shrink" if data.left else "checkpoint" if fact.mode == "checkpoint" else "stop"
    if data.tax is not None:
        cost = f"Work worth {_money(data.tax, fact.currency)} was lost, as its scheduler measured."
    else:
        cost = f"Work worth {_money(fact.tax, fact.currency)} is lost, as reckoned."
    account = look.name(data.victim_id)
    return Draft(
        to=(Someone(fact.person_id),),
        title=f"Job {data.key} gave {units(data.units)} of {look.name(data.pool_id)} back",
        body=f"So that another job could run. {_DONE[mode].format(left=units(data.left))} It held "
        f"them as {fact.step}. {cost} The page says by which rule, and how often the job should "
        "save itself.",
        link=("preemption_taken",),
        query={"account": account, "month": f"{data.at.astimezone(look.zone):%Y-%m}"},
    )


@kind(
    "preemption.account_taken",
    label="Units were taken from your account",
    about="Jobs of an account that you lead gave units back so that others could run; once for "
    "each plan.",
    on=(ActionReported,),
    facts=_actions,
)
def account_taken(event: RecordedEvent, look: Look) -> Draft | None:
    """To the leads of the account, once for each plan, with what was known by then."""
    data: ActionReported = event.data
    fact: _Action | None = look.facts
    if fact is None:
        return None
    account, pool = look.name(data.victim_id), look.name(data.pool_id)
    jobs = "1 job" if fact.actions == 1 else f"{fact.actions:,} jobs"
    return Draft(
        to=(leads(data.victim_id),),
        title=f"{account} gave {units(fact.units)} of {pool} back",
        body=f"{jobs} so far made room for another; work worth "
        f"{_money(fact.cost, fact.currency)} is lost. The page lists each one with its rule, and "
        "what its scheduler reports.",
        link=("preemption_taken",),
        query={"account": account, "month": f"{data.at.astimezone(look.zone):%Y-%m}"},
        but=frozenset({fact.person_id} - {None}),  # has a notice of the very job
        once=f"preemption:{data.plan_id}:{data.victim_id}",
    )


@kind(
    "preemption.plan_over",
    label="Your plan of preemption is complete, or lapsed",
    about="Units that were taken back for a job of yours, or of an account that you lead, are "
    "there; or the plan lapsed.",
    on=(PlanSettled,),
    facts=_plans,
)
def plan_over(event: RecordedEvent, look: Look) -> Draft | None:
    """To the person who asked; where a scheduler did, to the leads of the account it asked for."""
    data: PlanSettled = event.data
    fact: _Plan | None = look.facts
    if fact is None or data.how not in ("confirmed", "lapsed"):
        return None
    pool = look.name(data.pool_id)
    if data.how == "confirmed":
        title = f"The {units(fact.units)} of {pool} for job {fact.key} are there"
        body = f"{units(fact.given)} were given back and {units(fact.free_units)} were free. " + (
            "The job has been admitted." if fact.used_at else "They wait for its admission."
        )
    else:
        title = f"The plan of {units(fact.units)} of {pool} for job {fact.key} lapsed"
        body = (
            f"Nobody confirmed it in time; {units(fact.given)} had been given back and are free "
            "for everybody. What was not taken is not taken any more. Ask again."
        )
    asker = Someone(fact.asker_id) if fact.asker_id else leads(data.account_id)
    return Draft(to=(asker,), title=title, body=body, link=("preemption",))
