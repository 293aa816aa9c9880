"""Words on the quotas of a review cycle: decide, decide again, ask the lead, answer."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any
from uuid import UUID

from ledger.errors import Conflict, Denied, DomainError, Invalid, NotFound, Refused
from ledger.execution import Unit, handles
from quota import cycle_events as ev
from quota.cycle_events import CycleFigures
from quota.cycle_figures import figures_of
from quota.domain.changes import Cell
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
    _check_choices(command.choices)
    deciding = _Deciding.begin(unit, command.cycle_id, command.choices)
    for one in command.choices:
        if _place(one) in deciding.refused:
            raise deciding.refused[_place(one)]
    deciding.record()
    return CycleAnswer(cycle_id=command.cycle_id, decided=len(command.choices))


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideEach:
    """Decide quotas of an open cycle, each on its own: one that is refused does not sink the
    others."""

    cycle_id: UUID
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceResult:
    """What became of one choice: the guarantee that it means and the entry's version, or why it
    was refused."""

    units: int | None = None
    version: int | None = None
    code: str | None = None
    detail: str | None = None
    field: str | None = None
    facts: dict[str, Any] = dataclass_field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EachAnswer:
    """Results in the order of the choices."""

    cycle_id: UUID
    results: tuple[ChoiceResult, ...]


@handles(DecideEach, permission=TAKE_PART)
def decide_each(command: DecideEach, unit: Unit) -> EachAnswer:
    """In one transaction, with the use of all of them asked for once."""
    _check_choices(command.choices)
    deciding = _Deciding.begin(unit, command.cycle_id, command.choices)
    deciding.record()
    results = tuple(deciding.result(one) for one in command.choices)
    return EachAnswer(cycle_id=command.cycle_id, results=results)


def _place(one: Choice) -> Place:
    return (one.account_id, one.pool_id)


def _check_choices(choices: Sequence[Choice]) -> None:
    if not 1 <= len(choices) <= CHOICES_MAX or len({_place(one) for one in choices}) < len(choices):
        raise Invalid(
            "choices_out_of_range",
            f"Decide 1 to {CHOICES_MAX} quotas at once, each once.",
            field="choices",
            facts={"maximum": CHOICES_MAX},
        )


@dataclass(slots=True, kw_only=True)
class _Deciding:
    """Choices looked at, none recorded yet. `refused`: why each that cannot be is not."""

    unit: Unit
    cycle: Cycle
    person: UUID
    entries: Mapping[Place, Entry]
    standing: Mapping[Place, Cell]
    figures: Mapping[Place, CycleFigures]
    decided: dict[Place, tuple[Choice, int]] = dataclass_field(default_factory=dict)
    refused: dict[Place, DomainError] = dataclass_field(default_factory=dict)

    @classmethod
    def begin(cls, unit: Unit, cycle_id: UUID, choices: Sequence[Choice]) -> "_Deciding":
        """Lock and look.

        Raises:
            NotFound: `cycle_unknown`. Refused: `cycle_not_open`. Denied: a machine.
        """
        person = person_of(unit)
        places = [_place(one) for one in choices]
        cycle, entries = _entries(unit, cycle_id, places)
        found = list(entries)
        it = cls(
            unit=unit,
            cycle=cycle,
            person=person,
            entries=entries,
            standing=loading.cells(unit.organization_id, found, now=unit.now),
            figures=figures_of(
                unit.organization_id, found, window_days=cycle.window_days, now=unit.now
            ),
        )
        tops = _reviewed(unit)
        for one in choices:
            try:
                it.decided[_place(one)] = (one, it._units(one, tops))
            except DomainError as error:
                it.refused[_place(one)] = error
        it._leave_own_to_others()
        return it

    def _units(self, one: Choice, tops: Collection[UUID]) -> int:
        entry = self.entries.get(_place(one))
        if entry is None:
            raise entry_unknown()
        _check_reviewer(tops, entry)
        _check_version(self.unit, entry, one.expected_version)
        return decided_units(
            one.decision,
            guaranteed=self.standing[_place(one)].quota.guaranteed,
            recommended=self.figures[_place(one)].recommended,
            units=one.units,
        )

    def _leave_own_to_others(self) -> None:
        rises = [
            self.entries[place]
            for place, (_, units) in self.decided.items()
            if units > self.standing[place].quota.guaranteed
        ]
        self.refused |= _own(self.unit, self.person, rises)

    def record(self) -> None:
        """Note what is not refused."""
        for place, (one, units) in self.decided.items():
            if place in self.refused:
                continue
            cell = self.standing[place]
            self.unit.record(
                ev.CycleDecided(
                    cycle_id=self.cycle.id,
                    account_id=one.account_id,
                    pool_id=one.pool_id,
                    decision=str(one.decision),
                    units=units,
                    guaranteed=cell.quota.guaranteed,
                    base=cell.base.guaranteed,
                    reviewer_id=self.person,
                    figures=self.figures[place],
                )
            )

    def result(self, one: Choice) -> ChoiceResult:
        """What became of it."""
        error = self.refused.get(_place(one))
        if error is None:
            units = self.decided[_place(one)][1]
            return ChoiceResult(units=units, version=self.entries[_place(one)].version + 1)
        return ChoiceResult(
            code=error.code, detail=error.detail, field=error.field, facts=dict(error.facts)
        )


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
    cycle, entry = _entry(unit, command.cycle_id, place)
    _check_reviewer(_reviewed(unit), entry)
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
    cycle, entry = _entry(unit, command.cycle_id, place)
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


def entry_unknown() -> NotFound:
    """Of a quota that a cycle does not list."""
    return NotFound("entry_unknown", "The cycle does not review this quota.", field="account")


def _entry(unit: Unit, cycle_id: UUID, place: Place) -> tuple[Cycle, Entry]:
    """Raise as `_entries`, and NotFound: `entry_unknown`."""
    cycle, found = _entries(unit, cycle_id, [place])
    if place not in found:
        raise entry_unknown()
    return cycle, found[place]


def _entries(
    unit: Unit, cycle_id: UUID, places: Collection[Place]
) -> tuple[Cycle, Mapping[Place, Entry]]:
    """An open cycle, held so that nobody closes it, and those entries that it has under lock.

    Raises:
        NotFound: `cycle_unknown`.
        Refused: `cycle_not_open`.
    """
    cycle = loading.cycle(unit.organization_id, cycle_id, lock="FOR SHARE")
    found = loading.entries(unit.organization_id, cycle_id, places, lock=True)
    check_open(cycle.state)
    return cycle, found


def _reviewed(unit: Unit) -> frozenset[UUID]:
    """The topmost accounts that whoever acts reviews."""
    return frozenset(tenancy_policy.accounts_with(unit.actor, REQUEST_REVIEW, unit.organization_id))


def _check_reviewer(tops: Collection[UUID], entry: Entry) -> None:
    """That whoever acts reviews the account.

    Raises:
        Denied: `role_missing`.
    """
    if frozenset(tops).isdisjoint(entry.above):
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


def _own(unit: Unit, person: UUID, rises: Collection[Entry]) -> dict[Place, DomainError]:
    """Rises of accounts that whoever acts leads, under whatever login: `own_quota` for each."""
    if not rises:
        return {}
    leads = loading.leads_of(unit.organization_id, rises)
    humans = request_loading.humans(
        unit.organization_id, {person, *(one for each in leads.values() for one in each)}
    )
    me = humans.get(person, Human(person_id=person))
    return {
        entry.place: Refused(
            "own_quota",
            f"You lead {entry.account}, and nobody raises their own quota. Keep or lower it, "
            "or leave it to another reviewer.",
            field="units",
            facts={"account": entry.account, "pool": entry.pool},
        )
        for entry in rises
        if any(same_human(me, humans[one]) for one in leads[entry.account_id])
    }
