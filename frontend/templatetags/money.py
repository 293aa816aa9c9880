"""`{% load money %}`: amounts of money as they are read. Pure."""

from datetime import date
from decimal import Decimal
from fractions import Fraction

from django import template

from accounting.domain.money import minor_places, rounded
from frontend.numbers import NONE, UNKNOWN

register = template.Library()
MINUS = "\N{MINUS SIGN}"


@register.filter
def money(value: Decimal | None) -> str:
    """With thousands separators and the decimals that it has; the column names the currency."""
    if value is None:
        return UNKNOWN
    return f"{MINUS if value < 0 else ''}{abs(value):,}"


@register.filter
def money_of(value: Decimal, currency: str) -> str:
    """An amount as a table keeps it, at the decimals of its currency."""
    return money(value.quantize(Decimal(1).scaleb(-minor_places(currency))))


@register.filter
def exactly(value: Fraction, places: int) -> str:
    """A fraction of money, rounded to be read."""
    return money(rounded(value, places))


@register.filter
def signed(value: Decimal | None) -> str:
    """A difference: with its sign; a dash where there is none to tell."""
    if value is None:
        return NONE
    if not value:
        return "0"
    return f"{MINUS if value < 0 else '+'}{abs(value):,}"


@register.filter
def price(value: Decimal | None) -> str:
    """A price with all its digits and no idle zeros."""
    return NONE if value is None else f"{value.normalize():,f}"


@register.filter
def month(value: date | None) -> str:
    """As 2026-11."""
    return NONE if value is None else f"{value:%Y-%m}"
