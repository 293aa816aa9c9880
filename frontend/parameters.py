"""Values of an address, read strictly: a bad one is refused by name, never guessed."""

from datetime import UTC, date, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from django.http import QueryDict

from ledger.errors import Invalid, NotFound

TEXT_LENGTH_MAX = 200
LIST_LENGTH_MAX = 50
DAYS_CHOICES = (7, 30, 90)


def text(query: QueryDict, name: str, default: str = "") -> str:
    """A short text without control characters."""
    value = query.get(name, default).strip()
    if len(value) > TEXT_LENGTH_MAX or not value.isprintable():
        raise _bad(name, "is not a name")
    return value


def free(query: QueryDict, name: str) -> list[str]:
    """All values under a name, each a short text without control characters."""
    values = [value.strip() for value in query.getlist(name) if value.strip()]
    if len(values) > LIST_LENGTH_MAX or not all(
        len(value) <= TEXT_LENGTH_MAX and value.isprintable() for value in values
    ):
        raise _bad(name, "is not a list of names")
    return values


def integer(query: QueryDict, name: str, *, default: int) -> int:
    """A whole number of 32 bits, negative ones included."""
    value = text(query, name)
    if not value:
        return default
    digits = value.removeprefix("-")
    if not (
        digits.isascii()
        and digits.isdigit()
        and len(digits) < 12
        and -(2**31) <= int(value) < 2**31
    ):
        raise _bad(name, "is not a whole number")
    return int(value)


def whole(query: QueryDict, name: str) -> int | None:
    """A whole number from 0 to 2^63-1."""
    value = text(query, name)
    if not value:
        return None
    if not (value.isascii() and value.isdigit() and len(value) < 20 and int(value) < 2**63):
        raise _bad(name, "is not a whole number")
    return int(value)


def choice(query: QueryDict, name: str, choices: tuple[str, ...], default: str) -> str:
    """One of a few words."""
    value = text(query, name) or default
    if value not in choices:
        raise _bad(name, f"is one of {', '.join(filter(None, choices))}, or left out")
    return value


def days(query: QueryDict, default: int = 30) -> int:
    """The length of a period that ends today."""
    value = whole(query, "days")
    if value is not None and value not in DAYS_CHOICES:
        raise _bad("days", f"is one of {', '.join(map(str, DAYS_CHOICES))}")
    return value or default


def day(query: QueryDict, name: str) -> date | None:
    """A day as 2026-11-29."""
    value = text(query, name)
    if not value:
        return None
    try:
        found = date.fromisoformat(value)
    except ValueError:
        raise _bad(name, "is a day like 2026-11-29") from None
    if not 2000 <= found.year < 2100:
        raise _bad(name, "lies between the years 2000 and 2099")
    return found


def period(query: QueryDict, *, today: date, default_days: int = 30) -> tuple[date, date]:
    """`since` and `until`, both included; without them the last days up to today."""
    until = day(query, "until") or today
    since = day(query, "since") or until - timedelta(days=default_days - 1)
    return since, until


def month(query: QueryDict, *, today: date) -> date:
    """The first day of a month given as 2026-11; without one, of the one that it is now."""
    value = text(query, "month")
    if not value:
        return today.replace(day=1)
    try:
        found = date.fromisoformat(f"{value}-01")
    except ValueError:
        raise _bad("month", "is a month like 2026-11") from None
    if not 2000 <= found.year < 2100:
        raise _bad("month", "lies between the years 2000 and 2099")
    return found


def moment(query: QueryDict, name: str, zone: ZoneInfo) -> datetime | None:
    """An instant: with a zone as in a link, or as the form's field gives it, in `zone`."""
    value = text(query, name).replace(" ", "+")
    if not value:
        return None
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        raise _bad(name, "is a time like 2026-11-29T12:00") from None
    if not 2000 <= found.year < 2100:
        raise _bad(name, "lies between the years 2000 and 2099")
    return (found if found.tzinfo else found.replace(tzinfo=zone)).astimezone(UTC)


def start_of(given: date, zone: ZoneInfo) -> datetime:
    """The instant at which a day begins in the organization's zone."""
    return datetime(given.year, given.month, given.day, tzinfo=zone).astimezone(UTC)


def ident(value: str, *, what: str) -> UUID:
    """An id out of an address.

    Raises:
        NotFound: not even the form of one: there is nothing here.
    """
    try:
        return UUID(value)
    except ValueError:
        raise NotFound(f"{what}_unknown", f"There is no such {what}.", field=what) from None


def _bad(name: str, why: str) -> Invalid:
    return Invalid(
        "parameter_unusable", f"The value of `{name}` cannot be used: it {why}.", field=name
    )
