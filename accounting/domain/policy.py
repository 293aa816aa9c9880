"""The fair-share policy of an organization: defaults, and how stored text becomes values. Pure.

Numbers of a policy travel and are kept as decimal strings, so that an event reads the same in
every language and no float is ever hashed.
"""

from collections.abc import Mapping
from dataclasses import fields
from decimal import Decimal, InvalidOperation

from accounting.domain.priority import PriorityPolicy
from ledger.errors import Invalid

ALGORITHMS = ("fair_tree", "classic", "ratio")
DEFAULT_ALGORITHM = "fair_tree"
DEFAULT_HALF_LIFE_SECONDS = 7 * 86_400
_CLASS_FACTORS = "class_factors"
_FLAGS = {"true": True, "false": False}


def priority_policy(weights: Mapping[str, str]) -> PriorityPolicy:
    """The priority policy that stored weights describe; what they leave out is the default.

    `class_factors` is four numbers separated by commas, `small_first` is true or false,
    `size_cap_units` is a whole number; all else are decimal numbers.

    Raises:
        Invalid: an unknown name, not a number, or out of the bounds of `PriorityPolicy`.
    """
    known = {field.name for field in fields(PriorityPolicy)}
    values: dict[str, object] = {}
    for name, text in weights.items():
        if name not in known:
            raise Invalid(
                "weight_unknown",
                f"{name} is not part of a priority policy. Use {', '.join(sorted(known))}.",
                field=name,
            )
        if name == "small_first":
            if text not in _FLAGS:
                raise Invalid("not_a_flag", "small_first is true or false.", field=name)
            values[name] = _FLAGS[text]
        elif name == _CLASS_FACTORS:
            values[name] = tuple(_number(name, part) for part in text.split(","))
        elif name == "size_cap_units":
            values[name] = int(_number(name, text))
        else:
            values[name] = _number(name, text)
    return PriorityPolicy(**values)  # type: ignore[arg-type]


def boosts(stored: Mapping[str, str]) -> dict[str, float]:
    """Boost in [0, 1] by account id.

    Raises:
        Invalid: not a number, or out of bounds.
    """
    found = {}
    for account, text in stored.items():
        value = _number("boosts", text)
        if not 0 <= value <= 1:
            raise Invalid("boost_out_of_bounds", "A boost is a number from 0 to 1.", field="boosts")
        found[account] = value
    return found


def _number(name: str, text: str) -> float:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite():
        raise Invalid("not_a_number", f"{name} must be a decimal number.", field=name)
    return float(number)
