"""The promise rule: what a pool has promised never exceeds what it can keep. Pure.

A node's guarantee is its own addition to its children's, so the promise of a pool is the sum of g
over *all* nodes, archived ones that still hold some included (docs/design.md part 3):

    sum of g <= capacity - unavailable - safety_margin

Granting to a child either *carves* from an ancestor's own g, which leaves the sum as it is, or
*adds* to the promise. A pool that shrank under its promises is *over-promised*: shown, alarmed, no
additions; nothing is silently cut.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ledger.errors import Invalid, Refused
from quota.domain.values import AccountKey, Pool, check_amount


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """A pool's promise beside what it can keep, in units.

    Attributes:
        promised: sum of all guarantees.
        promisable: capacity - unavailable - safety_margin.
    """

    promised: int
    promisable: int

    @property
    def unpromised(self) -> int:
        """What may still be added; 0 where over-promised."""
        return max(0, self.promisable - self.promised)

    @property
    def over_promised_by(self) -> int:
        """Promised beyond what the pool can keep; 0 where the rule holds."""
        return max(0, self.promised - self.promisable)

    @property
    def holds(self) -> bool:
        return self.promised <= self.promisable


def promise_of(pool: Pool, guarantees: Iterable[int]) -> Promise:
    """The promise of a pool from the guarantees of all its nodes."""
    return Promise(promised=sum(guarantees), promisable=pool.promisable)


@dataclass(frozen=True, slots=True)
class GuaranteeChange:
    """An account's own guarantee, before and after."""

    account: AccountKey
    before: int
    after: int


def set_guarantee(
    *,
    pool: Pool,
    guarantees: Mapping[AccountKey, int],
    account: AccountKey,
    guaranteed: int,
    carve_from: AccountKey | None = None,
    ancestors: Iterable[AccountKey] = (),
) -> tuple[GuaranteeChange, ...]:
    """What changes when an account's guarantee becomes `guaranteed`.

    Args:
        guarantees: own guarantee of every node of the pool; missing is 0.
        carve_from: an ancestor whose own guarantee pays for the rise, and takes back what a cut
            frees; None: the promise itself rises or falls.
        ancestors: of the account.

    Returns:
        One change, or two with carving; none where nothing changes.

    Raises:
        Invalid: `amount_*`; `carve_not_ancestor`.
        Refused: `promise_exceeded` (`short_by`, `promised`, `promisable`), `pool_over_promised`
            (`over_promised_by` too), `carve_exceeded` (`short_by`, `available`).
    """
    check_amount(guaranteed, field="guaranteed")
    before = guarantees.get(account, 0)
    rise = guaranteed - before
    if carve_from is not None and carve_from not in tuple(ancestors):
        raise Invalid(
            "carve_not_ancestor",
            "A guarantee is carved from an account above; name one of them or add to the promise.",
            field="carve_from",
        )
    if not rise:
        return ()
    change = GuaranteeChange(account, before, guaranteed)
    if carve_from is None:
        if rise > 0:
            _check_addition(pool, guarantees.values(), rise)
        return (change,)
    own = guarantees.get(carve_from, 0)
    if rise > own:
        raise Refused(
            "carve_exceeded",
            f"The account above has {own} units of its own to give, {rise} are asked: "
            f"{rise - own} short. Give less, or add to the pool's promise.",
            field="guaranteed",
            facts={
                "pool": pool.name,
                "asked": rise,
                "available": own,
                "short_by": rise - own,
            },
        )
    check_amount(own - rise, field="guaranteed")
    return (GuaranteeChange(carve_from, own, own - rise), change)


def _check_addition(pool: Pool, guarantees: Iterable[int], rise: int) -> None:
    promise = promise_of(pool, guarantees)
    short_by = promise.promised + rise - promise.promisable
    if short_by <= 0:
        return
    facts = {
        "pool": pool.name,
        "asked": rise,
        "promised": promise.promised,
        "promisable": promise.promisable,
        "unpromised": promise.unpromised,
        "capacity": pool.capacity,
        "unavailable": pool.unavailable,
        "safety_margin": pool.safety_margin,
        "short_by": short_by,
    }
    if not promise.holds:
        raise Refused(
            "pool_over_promised",
            f"{pool.name} is over-promised by {promise.over_promised_by} units, so nothing can be "
            "added. Bring units back or lower other guarantees first.",
            field="guaranteed",
            facts={**facts, "over_promised_by": promise.over_promised_by},
        )
    raise Refused(
        "promise_exceeded",
        f"{pool.name} can promise {promise.unpromised} more units, {rise} are asked: {short_by} "
        "short. Ask for less, carve from an account above, or lower another guarantee.",
        field="guaranteed",
        facts=facts,
    )


def check_whole_plan(pool: Pool, before: Iterable[int], after: Iterable[int]) -> Promise:
    """The promise after many changes at once (an import, an archive), where the rule lets them.

    A plan that lowers the promise of an over-promised pool passes, although it is still over.

    Raises:
        Refused: `promise_exceeded` or `pool_over_promised`, as `set_guarantee`.
    """
    before_sum, after_sum = sum(before), sum(after)
    if after_sum > before_sum:
        _check_addition(pool, (before_sum,), after_sum - before_sum)
    return Promise(promised=after_sum, promisable=pool.promisable)


def resize_pool(
    *, before: Pool, after: Pool, guarantees: Iterable[int], accept_over_promise: bool = False
) -> Promise:
    """The promise under a pool whose size or margin changes.

    Failed and drained units are a fact and always accepted: the answer says by how much the pool
    is then over-promised. Who *decides* to take capacity away, or to raise the margin, against
    promises is refused unless `accept_over_promise`, for hardware that is gone whatever we say.

    Raises:
        Refused: `promise_exceeded` with `short_by`.
    """
    found = Promise(promised=sum(guarantees), promisable=after.promisable)
    decided = (before.capacity - before.safety_margin) > (after.capacity - after.safety_margin)
    shrinks = after.promisable < before.promisable
    if found.holds or not (decided and shrinks) or accept_over_promise:
        return found
    raise Refused(
        "promise_exceeded",
        f"{after.name} has promised {found.promised} units and would keep {found.promisable}: "
        f"{found.over_promised_by} short. Lower guarantees first, or accept the over-promise.",
        field="capacity",
        facts={
            "pool": after.name,
            "promised": found.promised,
            "promisable": found.promisable,
            "short_by": found.over_promised_by,
        },
    )
