"""Teams beside each other: who may compare what. Pure.

A team is an account that has use or guarantees of its own in a month. Figures count its own lines
alone, not those of what is below it (docs/user/comparison.md).
"""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from statistics import median
from typing import Literal, get_args

from accounting.domain import money
from accounting.domain.lines import Kind
from ledger.errors import Invalid

Reach = Literal["off", "department", "organization"]
Figure = Literal["utilization", "idle_share", "productive_cost"]
REACHES: tuple[Reach, ...] = get_args(Reach)
FIGURES: tuple[Figure, ...] = get_args(Figure)
FIGURE_PLACES, COST_PLACES = 6, 4
OTHERS_MIN = 3
"""Fewer others than this are not shown without names: who they are could be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonPolicy:
    """What a lead may compare. Who reads the whole organization sees everything anyway.

    Attributes:
        reach: with nobody, with the teams of the department, or with all.
        figures: which figures.
        named: whether other teams are called by their names.
    """

    reach: Reach = "off"
    figures: tuple[Figure, ...] = FIGURES
    named: bool = False

    def __post_init__(self) -> None:
        """Check every word.

        Raises:
            Invalid: `comparison_malformed`.
        """
        if self.reach not in REACHES:
            raise _bad(f"A comparison reaches {', '.join(REACHES)}.", "reach")
        if not set(self.figures) <= set(FIGURES) or len(set(self.figures)) < len(self.figures):
            raise _bad(f"The figures are {', '.join(FIGURES)}, each at most once.", "figures")
        if self.reach != "off" and not self.figures:
            raise _bad("Choose a figure, or let the comparison reach nobody.", "figures")


def _bad(detail: str, place: str) -> Invalid:
    return Invalid("comparison_malformed", detail, field=place)


def shown_figures(policy: ComparisonPolicy) -> tuple[Figure, ...]:
    """The figures that somebody sees: all of their own teams where nobody is compared."""
    return FIGURES if policy.reach == "off" else policy.figures


EVERYTHING = ComparisonPolicy(reach="organization", figures=FIGURES, named=True)
"""What who reads the whole organization sees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """A team's month. Figures are None where nothing is known.

    Attributes:
        above: the accounts from the root down to it.
        utilization: used share of its own guarantees, 0 to 1.
        idle_share: what idle guarantees cost, of what they and use cost.
        productive_cost: of use and guarantees, per unit-hour that advanced the work, units by the
            flavors' economic weights.
    """

    account: Hashable
    above: tuple[Hashable, ...]
    name: str
    utilization: Decimal | None
    idle_share: Decimal | None
    productive_cost: Decimal | None


def used_share(promised: Fraction, unused: Fraction) -> Decimal | None:
    """The used share of a guarantee in unit-seconds; None: nothing was promised."""
    return money.rounded(1 - unused / promised, FIGURE_PLACES) if promised else None


def idle_share(costs: Mapping[Kind, Decimal]) -> Decimal | None:
    """What idle guarantees cost, of what they and use cost; None: neither costs anything."""
    idle = costs.get(Kind.IDLE, Decimal(0))
    whole = idle + costs.get(Kind.USAGE, Decimal(0))
    return money.rounded(Fraction(idle) / Fraction(whole), FIGURE_PLACES) if whole > 0 else None


def productive_hours(whole: Decimal, known: Decimal, busy: Decimal) -> Fraction | None:
    """Unit-hours that advanced the work: the measured share counts for all of the use. None: that
    was not measured.

    Args:
        whole: weighted unit-seconds of use; of `known` ones there is a measurement, and `busy` ones
            advanced the work.
    """
    if not known or not busy:
        return None
    return Fraction(whole) * Fraction(busy) / Fraction(known) / 3600


def productive_cost(costs: Mapping[Kind, Decimal], hours: Fraction | None) -> Decimal | None:
    """What use and guarantees cost per unit-hour that advanced the work."""
    if not hours or not costs:
        return None
    return money.rounded(Fraction(money.total(list(costs.values()))) / hours, COST_PLACES)


@dataclass(frozen=True, slots=True)
class Row:
    """A team as it is shown: `own` ones by name, others as the policy says."""

    name: str
    own: bool
    team: Team


@dataclass(frozen=True, slots=True)
class Comparison:
    """The rows in order, and of each figure the median of all that have it.

    Attributes:
        withheld: so few others that, without names, they are not shown.
        as_of: when the figures were drawn; None: computed now.
    """

    rows: tuple[Row, ...]
    medians: dict[str, Decimal | None]
    withheld: bool
    as_of: datetime | None = None


def compared(
    teams: Iterable[Team],
    policy: ComparisonPolicy,
    *,
    led: Mapping[Hashable, Sequence[Hashable]],
    by: Figure,
) -> Comparison:
    """What somebody sees who leads some accounts.

    Args:
        led: the accounts on which a role is held, and those from the root down to each; what is
            below them is their own.
        by: the figure that orders the rows, unknown ones last.
    """
    figures = shown_figures(policy)
    departments = {above[1] for above in led.values() if len(above) > 1}
    whole = any(len(above) == 1 for above in led.values())
    own, others = [], []
    for team in teams:
        team = team if figures == FIGURES else _only(team, figures)
        if any(account in led for account in team.above):
            own.append(team)
        elif policy.reach == "organization" or (
            policy.reach == "department" and (whole or departments & {*team.above})
        ):
            others.append(team)
    withheld = not policy.named and 0 < len(others) < OTHERS_MIN
    if withheld:
        others = []
    ordered = sorted([*own, *others], key=lambda team: _order(team, by))
    mine = {team.account for team in own}
    return Comparison(
        tuple(_rows(ordered, mine, named=policy.named)),
        {name: _median([getattr(team, name) for team in ordered]) for name in figures},
        withheld,
    )


def _only(team: Team, figures: Collection[str]) -> Team:
    return replace(team, **{name: None for name in FIGURES if name not in figures})


def _order(team: Team, by: str) -> tuple:
    value = getattr(team, by)
    best_first = value if by != "utilization" or value is None else -value
    return (value is None, best_first if value is not None else 0, str(team.account))


def _rows(teams: Sequence[Team], own: Collection[Hashable], *, named: bool) -> Iterable[Row]:
    number = 0
    for team in teams:
        is_own = team.account in own
        if is_own or named:
            yield Row(team.name, is_own, team)
        else:
            number += 1
            yield Row(f"Another team, {number}", False, team)


def _median(values: Iterable[Decimal | None]) -> Decimal | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
