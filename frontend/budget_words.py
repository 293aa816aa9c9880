"""Budgets in words: states, alerts, periods, why there is no forecast. Pure."""

from datetime import date
from decimal import Decimal
from fractions import Fraction

from accounting.domain.budgets import Period, Span
from accounting.queries.budgets import BudgetRow, Ground, Standing
from frontend.numbers import NONE

STATES = {
    "over": ("Overspent", "exclamation-triangle"),
    "at_risk": ("Will not last", "exclamation-triangle"),
    "ok": ("On track", "check-lg"),
    "ended": ("Kept", "check-lg"),
    "planned": ("Not begun", "clock-history"),
    "unknown": ("No costs yet", "question-circle"),
}
"""Word and icon of each; the first two are marked as problems."""
PROBLEMS = ("over", "at_risk")
PERIODS = {
    Period.MONTH: "month",
    Period.QUARTER: "quarter",
    Period.YEAR: "year",
    Period.RANGE: "these days",
}
MARKS = {"high": "unusually dear", "low": "unusually cheap"}
"""Of days; see `accounting.domain.anomalies`."""
NO_FORECAST = {
    "not_begun": "the period has not begun",
    "over": "the period is over",
    "little_history": "fewer than 14 whole days of cost are known",
}


def state_of(one: Standing, here: Ground) -> str:
    """The state; unknown while no costs were ever drawn."""
    return "unknown" if here.at is None else one.state


def name_of(row: BudgetRow) -> str:
    """The name that somebody gave it, or what it is for."""
    return row.name or f"Each {PERIODS[row.period]}".replace("Each these days", "A range of days")


def span_words(span: Span, period: Period) -> str:
    """A period as people name it."""
    if period == Period.MONTH:
        return f"{span.first:%Y-%m}"
    if period == Period.QUARTER:
        return f"{span.first.year} Q{(span.first.month + 2) // 3}"
    if period == Period.YEAR:
        return str(span.first.year)
    return f"{span.first} to {span.last}"


def rule_words(kind: str, rule: str) -> str:
    """What an alert is about."""
    if kind == "spent":
        return f"{rule} % spent"
    if kind == "forecast":
        return f"Forecast at {rule} %"
    long, short, factor = rule.split("/")
    last = "on the last day" if short == "1" else f"in the last {short} days"
    return f"Burning {factor} times as fast for {long} days, and still {last}"


def figure_words(kind: str, figure: Decimal | Fraction) -> str:
    """What it came to."""
    return f"{float(figure):,.2f} times" if kind == "burn" else f"{float(figure):,.1f} %"


def burn_words(rate: Fraction | None) -> str:
    """A burn rate; a dash where its window is not in the period."""
    return NONE if rate is None else f"{float(rate):,.2f}"


def left_words(span: Span, today: date) -> str:
    """How much of the period is left."""
    if today < span.first:
        return f"begins on {span.first}"
    if today >= span.end:
        return f"ended with {span.last}"
    days = (span.end - today).days
    return "ends today" if days == 1 else f"{days} days left, today among them"
