"""Use it or lose it: run a pool's rule, and decide what becomes of what it took."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple
from uuid import UUID

from ledger.errors import Refused
from ledger.execution import Unit, handles
from ledger.types import Event
from preemption import reclaim_events as ev
from preemption import reclaim_loading as loading
from preemption.domain.need import need
from preemption.domain.reclaim import ReclaimRule, Stage, idle_units, latest
from preemption.reclaim_loading import Guarantee, Justified, PoolRule, Standing
from quota.commands import reclaiming
from quota.recording import check_reason
from tenancy.domain.roles import REQUEST_REVIEW, REQUEST_WRITE, SYSTEM_ONLY

STEPS_MAX = 2_000
"""Guarantees about which one run says something: the next one goes on."""
_SIX = Decimal("0.000001")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReclaim:
    """Do what a pool's rule says now. Run twice, late or by two at once, it has one effect."""

    pool_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Reclaimed:
    """How many guarantees were told what. `settled`: demotions that a review has decided."""

    watched: int = 0
    cleared: int = 0
    justified: int = 0
    demoted: int = 0
    settled: int = 0


@handles(RunReclaim, permission=SYSTEM_ONLY)
def run_reclaim(command: RunReclaim, unit: Unit) -> Reclaimed:
    """Judge without a lock; lock only where something is to be done, and see whether it is still
    so."""
    here, now = unit.organization_id, unit.now
    pool_rule = loading.rule(here, command.pool_id)
    if any(low <= now < high for low, high in pool_rule.maintenance):
        return Reclaimed()
    # What was taken before the rule was switched off is settled all the same.
    wanted = _wanted(unit, command.pool_id, pool_rule) if pool_rule.enabled else []
    reviewed = loading.reviewed(here, command.pool_id)
    if not wanted and not reviewed:
        return Reclaimed()
    # All of the pool's quotas stand still from here on.
    reclaiming.hold(unit, pool_id=command.pool_id)
    if loading.rule(here, command.pool_id) != pool_rule:
        wanted = []  # judged by a rule that holds no more: the next run judges anew
    spared = loading.spared(here, command.pool_id, pool_rule, now=now) if wanted else set()
    stands = loading.standings(here, command.pool_id)
    settled = _settle_reviewed(unit, command.pool_id, stands)
    held = loading.in_use_now(here, command.pool_id, now=now)
    said: list[Event] = []
    idle: list[_Idle] = []
    for one, stage in wanted:
        place = {"pool_id": command.pool_id, "account_id": one.account_id}
        if stands.get(one.account_id) != one.standing:
            continue  # somebody else was here first
        if reclaiming.guarantee_of(unit, **place) != one.units:
            continue
        in_use = max(one.in_use, held.get(one.account_id, 0))
        if isinstance(stage, Justified):
            said.append(
                ev.GuaranteeJustified(
                    **place, guarantee=one.units, request_id=stage.request_id, until=stage.end
                )
            )
        elif stage.name != "cleared" and one.account_id in spared:
            continue  # justified, or serving, since it was judged
        elif stage.name == "demoted":
            idle.append(_Idle(one, stage, in_use))
        else:
            said.append(_told(unit, one, stage, in_use, pool_rule, place))
    said += _demoted_of(unit, command.pool_id, idle, pool_rule.rule)
    # Kind by kind, so that rows are written for all of a kind at once.
    unit.record(*sorted(said, key=lambda event: event.event_type))
    count = Counter(type(event) for event in said)
    return Reclaimed(
        watched=count[ev.GuaranteeWatched],
        cleared=count[ev.GuaranteeCleared],
        justified=count[ev.GuaranteeJustified],
        demoted=count[ev.GuaranteeDemoted],
        settled=settled,
    )


def _settle_reviewed(unit: Unit, pool_id: UUID, stands: dict[UUID, Standing]) -> int:
    """What a review made of demotions that stood when it closed: whoever got the units back there
    has them; all others' do not come back."""
    reviewed = loading.reviewed(unit.organization_id, pool_id)
    for account_id in reviewed:
        place = {"pool_id": pool_id, "account_id": account_id}
        stood = stands[account_id]
        guarantee = reclaiming.base_of(unit, **place)
        back = stood.undecided - _missing(stood, guarantee)
        if back and loading.limit_stands(unit.organization_id, **place, since=stood.left_at):
            reclaiming.narrow(unit, **place, units=back)
        if back == stood.undecided:
            unit.record(ev.GuaranteeRestored(**place, guarantee=guarantee, units=back))
        else:
            _return(unit, place, stood, guarantee)
    return len(reviewed)


def _missing(stood: Standing, guarantee: int) -> int:
    """Undecided units that are not in the guarantee again, by whatever way they came back."""
    whole = stood.guarantee + stood.undecided if stood.whole is None else stood.whole
    return max(0, min(stood.undecided, whole - guarantee))


def _return(unit: Unit, place: dict, stood: Standing, guarantee: int) -> UUID | None:
    units = _missing(stood, guarantee)
    parent = reclaiming.hand_up(unit, **place, units=units) if units else None
    unit.record(ev.GuaranteeReturned(**place, guarantee=guarantee, units=units, parent_id=parent))
    return parent


def _wanted(unit: Unit, pool_id: UUID, pool_rule: PoolRule) -> list:
    """Guarantees with what is to be said of them: a stage, or the justification that holds."""
    start = unit.now - loading.look_back(pool_rule)
    pool = loading.guarantees(unit.organization_id, pool_id, pool_rule, start=start, now=unit.now)
    oldest = unit.now - timedelta(seconds=pool_rule.rule.unknown_seconds_max)
    if pool.known_until is None or pool.known_until < oldest:
        return []
    found = []
    for one in sorted(pool.of.values(), key=lambda each: each.account_id):
        stage = _stage(one, pool_rule, unit.now)
        if stage is not None:
            found.append((one, stage))
    return found[:STEPS_MAX]


def _stage(one: Guarantee, pool_rule: PoolRule, now: datetime) -> Stage | Justified | None:
    stands = one.standing
    if one.is_temporary or (stands is not None and stands.is_cooling(now)):
        return None
    is_watched = _is_watched(one, stands)
    if one.justified is not None and now < one.justified.end:
        return one.justified if is_watched else None
    watched_at = stands.at if stands is not None and is_watched else None
    return latest(one.history(pool_rule), pool_rule.rule, watched_at=watched_at)


def _is_watched(one: Guarantee, stands: Standing | None) -> bool:
    """A watch of another guarantee than today's says nothing."""
    return stands is not None and stands.state == "watched" and stands.guarantee == one.units


def _told(
    unit: Unit, one: Guarantee, stage: Stage, in_use: int, pool_rule: PoolRule, place: dict
) -> Event:
    rule, known = pool_rule.rule, {"guarantee": one.units, "utilisation": _share(stage)}
    if stage.name == "cleared":
        return ev.GuaranteeCleared(**place, **known)
    due_at = unit.now + timedelta(seconds=rule.window_seconds - rule.watch_seconds)
    found = need(one.history(pool_rule), rule, last=rule.watch_seconds, in_use=in_use)
    return ev.GuaranteeWatched(
        **place,
        **known,
        due_at=due_at,
        p95=None if found is None else found.p95,
        in_use=in_use,
    )


class _Idle(NamedTuple):
    """A guarantee whose idle part is to leave it. `in_use`: units under the lock."""

    guarantee: Guarantee
    stage: Stage
    in_use: int

    @property
    def units(self) -> int:
        return idle_units(
            guarantee=self.guarantee.units, p95=self.stage.p95 or 0, in_use=self.in_use
        )


def _demoted_of(unit: Unit, pool_id: UUID, idle: list[_Idle], rule: ReclaimRule) -> Iterator[Event]:
    """Let the idle parts leave, all at once."""
    units = {one.guarantee.account_id: one.units for one in idle if one.units}
    if not units:
        return
    left = reclaiming.take_idle(unit, pool_id=pool_id, units=units)
    for one in idle:
        account_id = one.guarantee.account_id
        if account_id in left:
            yield ev.GuaranteeDemoted(
                pool_id=pool_id,
                account_id=account_id,
                guarantee=left[account_id],
                units=units[account_id],
                utilisation=_share(one.stage),
                p95=one.stage.p95 or 0,
                in_use=one.in_use,
                until=unit.now + timedelta(seconds=rule.cooldown_seconds),
            )


def _share(stage: Stage) -> Decimal:
    share = stage.utilisation or Fraction(0)
    return (Decimal(share.numerator) / Decimal(share.denominator)).quantize(_SIX)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreQuota:
    """Let what left an account's guarantee be of it again: one click, within the cooldown."""

    account_id: UUID
    pool_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnQuota:
    """A review lets what left an account's guarantee go to the account above for good."""

    account_id: UUID
    pool_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class DemotionDecided:
    """`guarantee`: of the account now. `changed` False: it was decided so before."""

    changed: bool
    guarantee: int
    parent_id: UUID | None = None


@handles(RestoreQuota, permission=REQUEST_WRITE, on="account_id")
def restore_quota(command: RestoreQuota, unit: Unit) -> DemotionDecided:
    """Refused after the cooldown, and where the pool cannot promise the units any more."""
    place = {"pool_id": command.pool_id, "account_id": command.account_id}
    stands = _demoted(unit, place, done="restored")
    if isinstance(stands, DemotionDecided):
        return stands
    if stands.until is None or unit.now >= stands.until:
        raise Refused(
            "restore_too_late",
            "The time in which this guarantee could be restored is over. Ask for it by a request.",
            facts={"until": None if stands.until is None else stands.until.isoformat()},
        )
    # What the account was granted since is no second time given.
    missing = stands.guarantee + stands.units - reclaiming.base_of(unit, **place)
    units = max(0, min(stands.units, missing))
    guarantee = reclaiming.give_back(unit, **place, units=units)
    unit.record(ev.GuaranteeRestored(**place, guarantee=guarantee, units=stands.units))
    return DemotionDecided(changed=True, guarantee=guarantee)


@handles(ReturnQuota, permission=REQUEST_REVIEW, on="account_id")
def return_quota(command: ReturnQuota, unit: Unit) -> DemotionDecided:
    """The units become the parent's own guarantee where the pool can promise them."""
    check_reason(unit)
    place = {"pool_id": command.pool_id, "account_id": command.account_id}
    stands = _demoted(unit, place, done="returned")
    if isinstance(stands, DemotionDecided):
        return stands
    left = reclaiming.base_of(unit, **place)
    parent = _return(unit, place, stands, left)
    return DemotionDecided(changed=True, guarantee=left, parent_id=parent)


def _demoted(unit: Unit, place: dict, *, done: str) -> Standing | DemotionDecided:
    """The demotion that stands, under the lock of its pool; or that it was decided so already.

    Raises:
        Refused: `not_demoted`.
    """
    guarantee = reclaiming.guarantee_of(unit, **place)
    stands = loading.standings(unit.organization_id, place["pool_id"]).get(place["account_id"])
    if stands is not None and stands.undecided and done == "returned":
        return stands
    if stands is not None and stands.state == done:
        left = stands.guarantee if guarantee is None else guarantee
        return DemotionDecided(changed=False, guarantee=left)
    reviewed = loading.reviewed(unit.organization_id, place["pool_id"])
    if stands is None or stands.state != "demoted" or place["account_id"] in reviewed:
        raise Refused(
            "not_demoted",
            "Nothing was taken from this guarantee, or that is decided. See its history.",
            field="account",
        )
    return stands
