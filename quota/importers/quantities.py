"""Kubernetes quantities as whole units of a pool. Pure.

A quantity is a decimal number with a suffix: `m` (thousandths) and smaller, `k` `M` `G` `T` `P` `E`
(powers of 1000), `Ki` to `Ei` (powers of 1024), or an exponent (`1e3`).
"""

import re
from fractions import Fraction
from typing import Final

_QUANTITY = re.compile(
    r"(?P<number>\d{1,30}(\.\d{0,30})?|\.\d{1,30})"
    r"((?P<suffix>[num]|[kMGTPE]|[KMGTPE]i)|[eE](?P<exponent>[+-]?\d{1,2}))?"
)
_SUFFIXES: Final = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{letter: Fraction(1000**power) for power, letter in enumerate("kMGTPE", start=1)},
    **{f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", start=1)},
}
GIB: Final = 2**30
IN_GIB: Final = ("memory", "ephemeral-storage", "storage")


class BadQuantity(ValueError):
    """The text is no quantity, or no whole number of the unit; the message says which."""


def parse(text: str) -> Fraction:
    """The exact value.

    Raises:
        BadQuantity: it is none, or negative.
    """
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise BadQuantity(f"{text[:40]!r} is not a quantity such as 64, 9.5, 1500m or 36Gi.")
    value = Fraction(found["number"].rstrip(".")) * _SUFFIXES[found["suffix"] or ""]
    return value * Fraction(10) ** int(found["exponent"] or 0)


def whole_units(text: str, resource: str) -> int:
    """A quantity of a resource in the units its pool counts: Gi of memory and storage, whole
    cores, devices, pods.

    Raises:
        BadQuantity: not whole.
    """
    in_gib = resource in IN_GIB or resource.startswith("hugepages-")
    unit, size = ("Gi", GIB) if in_gib else ("units", 1)
    value = parse(text) / size
    if value.denominator != 1:
        raise BadQuantity(
            f"{text} of {resource} is {float(value):g} {unit}; a pool counts whole {unit}. "
            "Round it in the file."
        )
    return int(value)
