"""Exact money: currencies, one rounding half to even, and splits that add up. Pure, no floats.

Products and sums are exact decimals; what cannot be one (a third of an hour) stays an exact
fraction until the one rounding of its line (docs/design.md part 9).
"""

from collections.abc import Sequence
from decimal import Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow
from fractions import Fraction

from ledger.errors import Invalid

EXACT = Context(prec=400, traps=[Inexact, InvalidOperation, Overflow, DivisionByZero])
"""Arithmetic that is exact or fails: it never rounds in silence."""

MINOR_PLACES_DEFAULT = 2
# ISO 4217: all others of its currencies have two.
_CURRENCIES_BY_PLACES = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
_MINOR_PLACES = {
    currency: places
    for places, currencies in _CURRENCIES_BY_PLACES.items()
    for currency in currencies.split()
}


def minor_places(currency: str) -> int:
    """Decimals of a currency's minor unit: 2 for EUR, 0 for JPY, 3 for KWD.

    Raises:
        Invalid: `currency_malformed`.
    """
    if len(currency) != 3 or not (currency.isascii() and currency.isalpha() and currency.isupper()):
        raise Invalid(
            "currency_malformed", "A currency is three capital letters.", field="currency"
        )
    return _MINOR_PLACES.get(currency, MINOR_PLACES_DEFAULT)


def rounded(amount: Fraction | Decimal, places: int) -> Decimal:
    """The amount at so many decimals, half to even. The only rounding there is."""
    return Decimal(round(Fraction(amount) * 10**places)).scaleb(-places, EXACT)


def total(amounts: Sequence[Decimal]) -> Decimal:
    """An exact sum."""
    found = Decimal(0)
    for amount in amounts:
        found = EXACT.add(found, amount)
    return found


def split(
    amount: Decimal, weights: Sequence[Decimal | Fraction | int], places: int
) -> list[Decimal]:
    """Parts of a rounded amount in proportion to weights, each at so many decimals, that add up to
    it exactly: largest remainder. Equal remainders favor the earlier part, so the order of the
    weights must be a fixed one. Without any weight everything is the first part's.

    Args:
        amount: a multiple of the smallest unit; may be negative.
        weights: not negative, at least one.

    Raises:
        ValueError: no weights, a negative one, or an amount finer than the smallest unit.
    """
    exact = [Fraction(weight) for weight in weights]
    if not exact or min(exact) < 0:
        raise ValueError("weights must be given and not be negative")
    units = Fraction(amount) * 10**places
    if units.denominator != 1:
        raise ValueError(f"{amount} is finer than {places} decimals")
    sign, units_left = (-1, -int(units)) if units < 0 else (1, int(units))
    whole = sum(exact)
    if not whole:
        exact, whole = [Fraction(1), *([Fraction(0)] * (len(exact) - 1))], Fraction(1)
    shares = [units_left * weight / whole for weight in exact]
    parts = [int(share) for share in shares]
    by_remainder = sorted(range(len(parts)), key=lambda at: (parts[at] - shares[at], at))
    for at in by_remainder[: units_left - sum(parts)]:
        parts[at] += 1
    return [Decimal(sign * part).scaleb(-places, EXACT) for part in parts]
