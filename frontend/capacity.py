"""Where every unit of a pool is, as one picture that adds up. Pure.

Use stands first, then what is kept for jobs, then what could still be used: guaranteed units that
nobody uses, then free ones, then those kept back. Lent and borrowed units are the same units seen
from both sides: one part.
"""

from dataclasses import dataclass

from quota.domain.promise import Promise
from quota.domain.values import Pool
from quota.queries.capacity import NOTHING, Held


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the picture. `kind` names its color in the stylesheet."""

    kind: str
    title: str
    about: str
    units: int


@dataclass(frozen=True, slots=True)
class Picture:
    """A pool's units, every one once. `beyond`: in use although the pool has not got them."""

    parts: tuple[Part, ...]
    total: int
    beyond: int

    def units(self, kind: str) -> int:
        """Units of one part."""
        return next(part.units for part in self.parts if part.kind == kind)

    @property
    def words(self) -> str:
        """The picture for who does not see it."""
        said = [f"{part.title} {part.units:,}" for part in self.parts if part.units]
        return f"{', '.join(said) or 'nothing'}; of {self.total:,} units"


def picture(pool: Pool, promise: Promise, held: Held, aside: Held = NOTHING) -> Picture:
    """Split a pool's capacity.

    What is borrowed comes from idle guarantees first (lent); more than those is beyond any
    guarantee, as after a cut. What runs beyond the working units widens the picture. What is set
    aside for jobs (`aside`) is neither idle nor free, and takes from guarantees as if it ran.
    """
    idle_promises = max(0, promise.promised - held.guaranteed)
    lent = min(held.borrowed, idle_promises)
    unused = max(0, pool.usable - held.units)
    kept = min(unused, aside.units)
    unused -= kept
    idle = min(unused, max(0, idle_promises - lent - aside.guaranteed - aside.borrowed))
    margin = min(unused - idle, pool.safety_margin)
    unavailable = min(pool.unavailable, pool.capacity)
    parts = (
        Part("used", "Guaranteed, used", "Guarantees that their accounts use", held.guaranteed),
        Part("lent", "Lent and borrowed", "Idle guarantees that other accounts use", lent),
        Part(
            "above",
            "Borrowed beyond guarantees",
            "Borrowed when it was covered, not covered any more",
            held.borrowed - lent,
        ),
        Part("spot", "Spot", "Use without any entitlement: the first to make room", held.spot),
        Part(
            "aside", "Set aside for jobs", "Kept for jobs whose plan took it back or found it", kept
        ),
        Part("idle", "Guaranteed, idle", "Promised and not used by anybody now", idle),
        Part("free", "Free", "Neither promised nor used", unused - idle - margin),
        Part("margin", "Safety margin", "Never promised", margin),
        Part("out", "Unavailable", "Failed or drained", unavailable),
    )
    total = sum(part.units for part in parts)
    return Picture(parts, total, max(0, held.units - pool.usable))
