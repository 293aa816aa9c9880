"""`manage.py whatif rate`: what records cost at rates that are given, not stored.

The same pure code charges here and in statements, so the amounts agree to the cent. Documented
field by field in docs/operator/whatif.md. Numbers of the answer are text: exact, never floats.
"""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from accounting.domain import money, rating
from accounting.domain.rating import HOUR_SECONDS, Group, Line
from accounting.whatif.rate_document import Question, read

HOURS_PLACES = 6


def answer(document: bytes) -> dict[str, Any]:
    """Question in JSON to answer as JSON-friendly values.

    Raises:
        Invalid: `whatif_invalid`, with the place of the fault in `field`.
    """
    question = read(document)
    result = rating.rate(
        question.records,
        question.card,
        zone=question.zone,
        currency=question.currency,
        bucket=question.bucket,
        grades=question.grades,
        labels=question.labels,
    )
    places = money.minor_places(question.currency)
    return {
        "currency": question.currency,
        "time_zone": question.zone.key,
        "bucket": question.bucket,
        "lines": [
            {
                **_group(line.group, question),
                **_amount_used(line.unit_seconds),
                "list_price": _text(line.list_price),
                "price": _text(line.price),
                "list_amount": _text(line.list_amount),
                "amount": _text(line.amount),
            }
            for line in result.lines
        ],
        "unrated": [
            {**_group(one.group, question), **_amount_used(one.unit_seconds), "why": one.why}
            for one in result.unrated
        ],
        "accounts": _by(result.lines, "account", places),
        "flavors": _by(result.lines, "flavor", places),
        "periods": _by(result.lines, "bucket", places),
        "list_total": _money([line.list_amount for line in result.lines], places),
        "total": _money([line.amount for line in result.lines], places),
    }


def _group(group: Group, question: Question) -> dict[str, Any]:
    return {
        "period": group.bucket.isoformat(),
        "account": group.account,
        "pool": group.pool,
        "flavor": group.flavor,
        "tier": group.tier,
        "grade": group.grade,
        "rates": group.version,
        "labels": dict(zip(question.labels, group.labels, strict=True)),
    }


def _amount_used(unit_seconds: Decimal) -> dict[str, str]:
    hours = money.rounded(Fraction(unit_seconds) / HOUR_SECONDS, HOURS_PLACES)
    return {"unit_seconds": _text(unit_seconds.normalize()), "unit_hours": _text(hours)}


def _by(lines: Sequence[Line], field: str, places: int) -> dict[str, str]:
    return {
        str(value): _money([amount], places)
        for value, amount in rating.totals(lines, by=field).items()
    }


def _money(amounts: Sequence[Decimal], places: int) -> str:
    return _text(money.rounded(money.total(amounts), places))


def _text(number: Decimal) -> str:
    """Without an exponent."""
    return f"{number:f}"
