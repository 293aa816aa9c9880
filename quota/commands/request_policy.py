"""How requests are routed, and who stands in for whom."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from ledger.errors import Invalid, NotFound, Refused
from ledger.execution import Unit, handles
from quota import request_events as ev
from quota.domain.routing import Policy, check_policy, same_human
from quota.loading import requests as loading
from quota.queries.versions import versions
from quota.recording import check_reason
from quota.requesting import person_of
from tenancy import policy as tenancy_policy
from tenancy.domain.roles import PEOPLE_WRITE, POLICY_WRITE, TAKE_PART

DELEGATION_MAX: Final = timedelta(days=92)
DELEGATIONS_MAX: Final = 20
"""That one person has running or to come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRequestPolicy:
    """How requests handed in from now on are routed, as a whole; the reason is kept.

    `expected_version`: of the policy's stream when its author looked at it, 0 where it was never
    set; another one is a conflict. None: whatever stands is replaced.
    """

    policy: Policy
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPolicyAnswer:
    """`changed` False: it was so already. `version`: name it in the next change."""

    changed: bool
    version: int


@handles(SetRequestPolicy, permission=POLICY_WRITE)
def set_request_policy(command: SetRequestPolicy, unit: Unit) -> RequestPolicyAnswer:
    """What is open already goes on as it was routed."""
    check_reason(unit)
    check_policy(command.policy)
    stream = f"request_policy:{unit.organization_id}"
    found = versions(unit.organization_id, (stream,)).get(stream, 0)
    seen = found if command.expected_version is None else command.expected_version
    if seen == found and loading.policy(unit.organization_id) == command.policy:
        return RequestPolicyAnswer(changed=False, version=found)
    unit.expect(stream, seen)
    unit.record(ev.RequestPolicySet(policy_id=unit.organization_id, **asdict(command.policy)))
    return RequestPolicyAnswer(changed=True, version=found + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDelegate:
    """Somebody reviews in the place of a person for a while. `person_id` None: of who asks; of
    others only with the right to change people of the whole organization."""

    delegate_id: UUID
    starts_at: datetime
    ends_at: datetime
    person_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationAnswer:
    """A delegation."""

    delegation_id: UUID


@handles(SetDelegate, permission=TAKE_PART)
def set_delegate(command: SetDelegate, unit: Unit) -> DelegationAnswer:
    """A delegate decides what the absent person may; never the absent person's own requests."""
    person_id = command.person_id or person_of(unit)
    _check_own(unit, person_id)
    humans = loading.humans(unit.organization_id, {person_id, command.delegate_id})
    for field, person in (("person", person_id), ("delegate", command.delegate_id)):
        if person not in humans:
            raise NotFound("person_unknown", "There is no such person.", field=field)
    if same_human(humans[person_id], humans[command.delegate_id]):
        raise Invalid("delegate_is_oneself", "Name somebody else.", field="delegate")
    _check_period(command, unit.now)
    if loading.delegations_from(unit.organization_id, person_id, now=unit.now) >= DELEGATIONS_MAX:
        raise Refused(
            "too_many_delegations",
            f"A person has at most {DELEGATIONS_MAX} delegations. End one first.",
            facts={"maximum": DELEGATIONS_MAX},
        )
    delegation_id = unit.new_id()
    unit.record(
        ev.DelegationSet(
            delegation_id=delegation_id,
            person_id=person_id,
            delegate_id=command.delegate_id,
            starts_at=command.starts_at,
            ends_at=command.ends_at,
        )
    )
    return DelegationAnswer(delegation_id=delegation_id)


def _check_own(unit: Unit, person_id: UUID) -> None:
    if unit.actor.id != person_id:
        tenancy_policy.authorize(unit.actor, PEOPLE_WRITE, None, unit.organization_id)


def _check_period(command: SetDelegate, now: datetime) -> None:
    for field in ("starts_at", "ends_at"):
        if getattr(command, field).tzinfo is None:
            raise Invalid("instant_without_zone", "An instant names its zone.", field=field)
    if command.ends_at <= max(command.starts_at, now):
        raise Invalid(
            "end_not_later",
            "A delegation ends after it starts, and in the future.",
            field="ends_at",
        )
    if command.ends_at - max(command.starts_at, now) > DELEGATION_MAX:
        raise Invalid(
            "period_too_long",
            f"A delegation lasts at most {DELEGATION_MAX.days} days; who is away for longer gives "
            "the role to somebody else.",
            field="ends_at",
            facts={"maximum_days": DELEGATION_MAX.days},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EndDelegate:
    """End a delegation before its time, or before it begins."""

    delegation_id: UUID


@handles(EndDelegate, permission=TAKE_PART)
def end_delegate(command: EndDelegate, unit: Unit) -> DelegationAnswer:
    """Of one's own; of others' only with the right to change people."""
    found = loading.delegation(unit.organization_id, command.delegation_id)
    if found is None:
        raise NotFound("delegation_unknown", "There is no such delegation.", field="delegation")
    _check_own(unit, found.person_id)
    if found.ends_at > unit.now:
        unit.record(
            ev.DelegationEnded(
                delegation_id=command.delegation_id,
                person_id=found.person_id,
                delegate_id=found.delegate_id,
            )
        )
    return DelegationAnswer(delegation_id=command.delegation_id)
