"""A month against another in words. Pure."""

from collections.abc import Sequence
from decimal import Decimal

from accounting.queries.showback import Change
from frontend.templatetags.money import money, signed

SAID = 3


def why_changed(
    difference: Decimal, changes: Sequence[tuple[Change, str, str]], currency: str
) -> str:
    """Why a month is charged more or less than the one before.

    Args:
        changes: (change, its kind in words, its pool), the largest first.
    """
    told = [one for one in changes if one[0].difference][:SAID]
    if not told:
        return "The same is charged as in the month before."
    more = "more" if difference > 0 else "less"
    first = f"{money(abs(difference))} {currency} {more}" if difference else "As much"
    return f"{first} than in the month before: {'; '.join(_one(*each) for each in told)}."


def _one(change: Change, kind: str, pool: str) -> str:
    what = " ".join(filter(None, (kind.lower(), pool, change.tier)))
    text = f"{what} {signed(change.difference)}"
    if not change.before:
        return f"{text}, which is new"
    if not change.now:
        return f"{text}, which is gone"
    if change.by_use and change.by_price:
        return f"{text} ({signed(change.by_use)} by use, {signed(change.by_price)} by price)"
    if change.by_price:
        return f"{text}, by price"
    return f"{text}, by use" if change.by_use else text
