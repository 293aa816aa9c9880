"""The question of `manage.py whatif fairshare`: a validated document as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from accounting.domain.decay import HalfLife
from accounting.domain.fairshare import ALGORITHMS, DEPTH_MAX, SHARES_MAX, Algorithm
from ledger import document_fields as fields
from ledger.errors import Invalid

ACCOUNTS_MAX = 100_000
PEOPLE_MAX = 1_000_000
ENTRIES_MAX = 1_000_000
UNITS_MAX = 10**9
DECAYED_MAX = 10**30
SHARES_DEFAULT = 1
PARENT = "parent"


@dataclass(frozen=True, slots=True)
class AccountLine:
    """`shares` None is `parent`."""

    name: str
    parent: str | None
    shares: int | None


@dataclass(frozen=True, slots=True)
class PersonLine:
    account: str
    name: str
    shares: int | None


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose usage: `person` None is the account itself, for people who are no longer listed."""

    account: str
    person: str | None


@dataclass(frozen=True, slots=True)
class UsageLine:
    """Instants are seconds since 1970; `end` None still runs."""

    owner: Owner
    units: Decimal
    start: float
    end: float | None


@dataclass(frozen=True, slots=True)
class DecayedLine:
    owner: Owner
    value: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`at_text` is the instant as written. Either `usage` or `decayed` is empty."""

    algorithm: Algorithm
    half_life: HalfLife | None
    at: float | None
    at_text: str | None
    accounts: tuple[AccountLine, ...]
    people: tuple[PersonLine, ...]
    usage: tuple[UsageLine, ...]
    decayed: tuple[DecayedLine, ...]


def read(document: bytes) -> Question:
    """Decode and check everything; nothing is computed from a document with a fault.

    Raises:
        Invalid: `whatif_invalid` with the place in `field`.
    """
    fields_ = fields.record(
        fields.decode(document),
        "",
        required=("accounts", "people"),
        optional=("algorithm", "half_life_days", "at", "usage", "decayed_usage"),
    )
    if "usage" in fields_ and "decayed_usage" in fields_:
        raise fields.refuse("decayed_usage", "stands in place of usage; give one of the two")
    accounts = _accounts(fields_["accounts"])
    people = _people(fields_["people"], {account.name for account in accounts})
    known = {account.name for account in accounts}
    listed = {(person.account, person.name) for person in people}
    for name in ("half_life_days", "at"):
        if "usage" in fields_ and name not in fields_:
            raise fields.refuse(name, "is required together with usage")
    return Question(
        algorithm=_algorithm(fields_.get("algorithm", ALGORITHMS[0])),
        half_life=_half_life(fields_["half_life_days"]) if "half_life_days" in fields_ else None,
        at=fields.instant(fields_["at"], "at") if "at" in fields_ else None,
        at_text=fields_.get("at"),
        accounts=accounts,
        people=people,
        usage=_usage(fields_.get("usage", []), known, listed),
        decayed=_decayed(fields_.get("decayed_usage", []), known, listed),
    )


def _algorithm(value: Any) -> Algorithm:
    if value not in ALGORITHMS:
        raise fields.refuse("algorithm", f"must be one of {', '.join(ALGORITHMS)}, not {value!r}")
    return value


def _half_life(value: Any) -> HalfLife:
    place = "half_life_days"
    try:
        return HalfLife.from_days(fields.amount(value, place, high=UNITS_MAX))
    except Invalid as error:
        raise fields.refuse(place, error.detail) from error


def _shares(value: Mapping[str, Any], place: str) -> int | None:
    shares = value.get("shares", SHARES_DEFAULT)
    if shares == PARENT:
        return None
    place = f"{place}.shares"
    if isinstance(shares, str):
        raise fields.refuse(place, f'must be a whole number or "{PARENT}", not {shares!r}')
    return fields.whole(shares, place, low=0, high=SHARES_MAX)


def _accounts(value: Any) -> tuple[AccountLine, ...]:
    lines: list[AccountLine] = []
    places: dict[str, str] = {}
    for place, entry in fields.entries(value, "accounts", count_max=ACCOUNTS_MAX):
        entry = fields.record(entry, place, required=("name",), optional=("parent", "shares"))
        name = fields.name(entry["name"], f"{place}.name")
        if name in places:
            raise fields.refuse(f"{place}.name", f"{name!r} is also the name of {places[name]}")
        parent = entry.get("parent")
        if parent is not None:
            parent = fields.name(parent, f"{place}.parent")
        places[name] = place
        lines.append(AccountLine(name, parent, _shares(entry, place)))
    fields.check_tree(
        {line.name: line.parent for line in lines}, places, noun="account", depth_max=DEPTH_MAX
    )
    return tuple(lines)


def _people(value: Any, accounts: set[str]) -> tuple[PersonLine, ...]:
    lines: list[PersonLine] = []
    places: dict[tuple[str, str], str] = {}
    for place, entry in fields.entries(value, "people", count_max=PEOPLE_MAX):
        entry = fields.record(entry, place, required=("account", "name"), optional=("shares",))
        account = _known_account(entry, place, accounts)
        name = fields.name(entry["name"], f"{place}.name")
        if (account, name) in places:
            other = places[account, name]
            raise fields.refuse(f"{place}.name", f"{name!r} is already under {account!r}: {other}")
        places[account, name] = place
        lines.append(PersonLine(account, name, _shares(entry, place)))
    return tuple(lines)


def _known_account(entry: Mapping[str, Any], place: str, accounts: set[str]) -> str:
    account = fields.name(entry["account"], f"{place}.account")
    if account not in accounts:
        raise fields.refuse(f"{place}.account", f"no account is named {account!r}")
    return account


def _owner(
    entry: Mapping[str, Any], place: str, accounts: set[str], people: set[tuple[str, str]]
) -> Owner:
    account = _known_account(entry, place, accounts)
    if entry.get("person") is None:
        return Owner(account, None)
    person = fields.name(entry["person"], f"{place}.person")
    if (account, person) not in people:
        raise fields.refuse(
            f"{place}.person",
            f"{person!r} is not among the people of {account!r}; list the person, or give null "
            "for usage of somebody who left, which counts for the account alone",
        )
    return Owner(account, person)


def _usage(value: Any, accounts: set[str], people: set[tuple[str, str]]) -> tuple[UsageLine, ...]:
    lines = []
    for place, entry in fields.entries(value, "usage", count_max=ENTRIES_MAX):
        entry = fields.record(
            entry, place, required=("account", "units", "start"), optional=("person", "end")
        )
        owner = _owner(entry, place, accounts, people)
        units = fields.amount(entry["units"], f"{place}.units", high=UNITS_MAX)
        start = fields.instant(entry["start"], f"{place}.start")
        end = entry.get("end")
        if end is not None:
            end = fields.instant(end, f"{place}.end")
            if end < start:
                raise fields.refuse(f"{place}.end", "is before the start")
        lines.append(UsageLine(owner, units, start, end))
    return tuple(lines)


def _decayed(
    value: Any, accounts: set[str], people: set[tuple[str, str]]
) -> tuple[DecayedLine, ...]:
    lines = []
    for place, entry in fields.entries(value, "decayed_usage", count_max=ENTRIES_MAX):
        entry = fields.record(entry, place, required=("account", "value"), optional=("person",))
        owner = _owner(entry, place, accounts, people)
        found = fields.amount(entry["value"], f"{place}.value", high=DECAYED_MAX)
        lines.append(DecayedLine(owner, found))
    return tuple(lines)
