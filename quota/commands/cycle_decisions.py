"""Words on the quotas of a review cycle: decide, decide again, ask the lead, answer."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from ledger.errors import Conflict, Denied, Invalid, NotFound, Refused
from ledger.execution import Unit, handles
from quota import cycle_events as ev
from quota.cycle_figures import figures_of
from quota.domain.cycles import Decision, EntryState, check_open, check_text, decided_units
from quota.domain.routing import Human, same_human
from quota.domain.values import check_amount
from quota.loading import cycles as loading
from quota.loading import requests as request_loading
from quota.loading.cycles import Cycle, Entry
from quota.ports import Place
from quota.requesting import person_of
from tenancy import policy as tenancy_policy
from tenancy import queries as tenancy
from tenancy.domain.roles import REQUEST_REVIEW, TAKE_PART

CHOICES_MAX = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A decision about one quota.

    Attributes:
        units: of `set`, the guarantee; of `recommended`, the figure that was seen.
        expected_version: of the entry when it was looked at; another one is a conflict. None:
            whatever stands is replaced.
    """

    account_id: UUID
    pool_id: UUID
    decision: Decision
    units: int | None = None
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideCycle:
    """Decide quotas of an open cycle, all or none. The reason, where one is given, is kept with
    each."""

    cycle_id: UUID
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleAnswer:
    """How many quotas got a decision."""

    cycle_id: UUID
    decided: int


@handles(DecideCycle, permission=TAKE_PART)
def decide_cycle(command: DecideCycle, unit: Unit) -> CycleAnswer:
    """Nothing is applied before the close, and until then every decision can be taken again."""
    places = [(one.account_id, one.pool_id) for one in command.choices]
    if not 1 <= len(places) <= CHOICES_MAX or len(set(places)) < len(places):
        raise Invalid(
            "choices_out_of_range",
            f"Decide 1 to {CHOICES_MAX} quotas at once, each once.",
            field="choices",
            facts={"maximum": CHOICES_MAX},
        )
    person = person_of(unit)
    cycle, entries = _entries(unit, command.cycle_id, places)
    _check_reviewer(unit, entries.values())
    for one in command.choices:
        _check_version(unit, entries[one.account_id, one.pool_id], one.expected_version)
    standing = loading.cells(unit.organization_id, places, now=unit.now)
    figures = figures_of(unit.organization_id, places, window_days=cycle.window_days, now=unit.now)
    rises: list[Entry] = []
    for one in command.choices:
        place = (one.account_id, one.pool_id)
        cell = standing[place]
        units = decided_units(
            one.decision,
            guaranteed=cell.quota.guaranteed,
            recommended=figures[place].recommended,
            units=one.units,
        )
        if units > cell.quota.guaranteed:
            rises.append(entries[place])
        unit.record(
            ev.CycleDecided(
                cycle_id=cycle.id,
                account_id=one.account_id,
                pool_id=one.pool_id,
                decision=str(one.decision),
                units=units,
                guaranteed=cell.quota.guaranteed,
                base=cell.base.guaranteed,
                reviewer_id=person,
                figures=figures[place],
            )
        )
    _check_not_own(unit, person, rises)
    return CycleAnswer(cycle_id=cycle.id, decided=len(places))


@dataclass(frozen=True, slots=True, kw_only=True)
class AskLead:
    """Ask the leads nearest to the account before deciding. `expected_version` as in Choice."""

    cycle_id: UUID
    account_id: UUID
    pool_id: UUID
    question: str
    expected_version: int | None = None


@handles(AskLead, permission=TAKE_PART)
def ask_lead(command: AskLead, unit: Unit) -> CycleAnswer:
    """The entry waits for the answer; it may be decided without one."""
    person = person_of(unit)
    place = (command.account_id, command.pool_id)
    cycle, entries = _entries(unit, command.cycle_id, [place])
    entry = entries[place]
    _check_reviewer(unit, [entry])
    _check_version(unit, entry, command.expected_version)
    question = check_text(command.question, field="question")
    if not loading.leads_of(unit.organization_id, [entry])[entry.account_id]:
        raise Refused(
            "nobody_to_ask",
            f"{entry.account} has no lead, nor has any account above. Decide without asking.",
            field="decision",
        )
    unit.record(
        ev.CycleAsked(
            cycle_id=cycle.id,
            account_id=entry.account_id,
            pool_id=entry.pool_id,
            reviewer_id=person,
            question=question,
        )
    )
    return CycleAnswer(cycle_id=cycle.id, decided=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReview:
    """A lead answers what a reviewer asked. `units`: the guarantee they say they need."""

    cycle_id: UUID
    account_id: UUID
    pool_id: UUID
    text: str
    units: int | None = None
    expected_version: int | None = None


@handles(AnswerReview, permission=TAKE_PART)
def answer_review(command: AnswerReview, unit: Unit) -> CycleAnswer:
    """Any lead of the account, or of one above it, may answer; and say it better later, until the
    entry is decided."""
    person = person_of(unit)
    place = (command.account_id, command.pool_id)
    cycle, entries = _entries(unit, command.cycle_id, [place])
    entry = entries[place]
    if person not in loading.leads_of(unit.organization_id, [entry])[entry.account_id]:
        raise Denied(
            "not_a_lead",
            f"Only a lead of {entry.account}, or of an account above it, answers for it.",
            facts={"roles": ["lead"]},
        )
    _check_version(unit, entry, command.expected_version)
    if entry.state not in (EntryState.ASKED, EntryState.ANSWERED):
        raise Refused(
            "nothing_asked",
            f"Nothing is asked about {entry.account} in {entry.pool}: it is {entry.state}.",
            facts={"state": entry.state},
        )
    text = check_text(command.text, field="text")
    if command.units is not None:
        check_amount(command.units, field="units")
    unit.record(
        ev.CycleAnswered(
            cycle_id=cycle.id,
            account_id=entry.account_id,
            pool_id=entry.pool_id,
            author_id=person,
            text=text,
            units=command.units,
        )
    )
    return CycleAnswer(cycle_id=cycle.id, decided=0)


def _entries(
    unit: Unit, cycle_id: UUID, places: Collection[Place]
) -> tuple[Cycle, Mapping[Place, Entry]]:
    """An open cycle, held so that nobody closes it, and some of its entries under lock.

    Raises:
        NotFound: `cycle_unknown`, `entry_unknown`.
        Refused: `cycle_not_open`.
    """
    cycle = loading.cycle(unit.organization_id, cycle_id, lock="FOR SHARE")
    found = loading.entries(unit.organization_id, cycle_id, places, lock=True)
    if len(found) < len(places):
        raise NotFound("entry_unknown", "The cycle does not review this quota.", field="account")
    check_open(cycle.state)
    return cycle, found


def _check_reviewer(unit: Unit, entries: Collection[Entry]) -> None:
    """That whoever acts reviews all these accounts.

    Raises:
        Denied: `role_missing`; NotFound: they cannot even see one.
    """
    tops = set(tenancy_policy.accounts_with(unit.actor, REQUEST_REVIEW, unit.organization_id))
    for entry in entries:
        if tops.isdisjoint(entry.above):
            raise Denied(
                "role_missing",
                f"You do not review {entry.account}: it takes the role approver on it or above.",
                facts={"permission": REQUEST_REVIEW, "roles": ["approver", "operator"]},
            )


def _check_version(unit: Unit, entry: Entry, expected: int | None) -> None:
    if expected is None or expected == entry.version:
        return
    who = entry.reviewer_id
    names = tenancy.names_of(unit.organization_id, people=[who] if who else [])
    said = {
        "asked": "asked the lead",
        "answered": "got an answer",
        "decided": f"decided {entry.decision}: {entry.units} units",
    }.get(entry.state, "changed it")
    raise Conflict(
        "decided_meanwhile",
        f"{names.get(who, 'Somebody')} {said} about {entry.account} in {entry.pool} meanwhile. "
        "Look at the row again; you may decide otherwise.",
        facts={
            "expected": expected,
            "found": entry.version,
            "state": entry.state,
            "decision": entry.decision,
            "units": entry.units,
            "account": entry.account,
            "pool": entry.pool,
        },
    )


def _check_not_own(unit: Unit, person: UUID, rises: Collection[Entry]) -> None:
    """That nobody raises the quota of an account that they lead, under whatever login.

    Raises:
        Refused: `own_quota`.
    """
    if not rises:
        return
    leads = loading.leads_of(unit.organization_id, rises)
    humans = request_loading.humans(
        unit.organization_id, {person, *(one for each in leads.values() for one in each)}
    )
    me = humans.get(person, Human(person_id=person))
    for entry in rises:
        if any(same_human(me, humans[one]) for one in leads[entry.account_id]):
            raise Refused(
                "own_quota",
                f"You lead {entry.account}, and nobody raises their own quota. Keep or lower it, "
                "or leave it to another reviewer.",
                field="units",
                facts={"account": entry.account, "pool": entry.pool},
            )
