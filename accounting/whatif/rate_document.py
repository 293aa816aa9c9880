"""The question of `manage.py whatif rate`: a validated document as values."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from accounting.domain import money, rate_cards
from accounting.domain.rate_cards import PRICE_MAX, TIERS, RateCard, RateLine, RateVersion
from accounting.domain.rating import Grades, Record
from accounting.domain.splitting import BUCKETS, Bucket
from ledger import document_fields as fields
from ledger.errors import DomainError, Invalid

VERSIONS_MAX = 1_000
RECORDS_MAX = 1_000_000
LABELS_MAX = 32
UNITS_MAX = 10**9
RECORD_DAYS_MAX = 3_660


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked. The id of a version is its place in the document."""

    currency: str
    zone: ZoneInfo
    bucket: Bucket
    card: RateCard
    grades: Grades
    labels: tuple[str, ...]
    records: tuple[Record, ...]


def read(document: bytes) -> Question:
    """Decode and check everything; nothing is computed from a document with a fault.

    Raises:
        Invalid: `whatif_invalid` with the place in `field`.
    """
    fields_ = fields.record(
        fields.decode(document),
        "",
        required=("currency", "time_zone", "rates", "records"),
        optional=("bucket", "grades", "labels"),
    )
    currency = _currency(fields_["currency"])
    bucket = fields_.get("bucket", "month")
    if bucket not in BUCKETS:
        raise fields.refuse("bucket", f"must be one of {', '.join(BUCKETS)}, not {bucket!r}")
    labels = tuple(
        fields.name(entry, place)
        for place, entry in fields.entries(
            fields_.get("labels", []), "labels", count_max=LABELS_MAX
        )
    )
    return Question(
        currency=currency,
        zone=_zone(fields_["time_zone"]),
        bucket=bucket,
        card=_card(fields_["rates"], currency),
        grades=_grades(fields_.get("grades", [])),
        labels=labels,
        records=_records(fields_["records"]),
    )


def _currency(value: Any) -> str:
    text = fields.name(value, "currency")
    try:
        money.minor_places(text)
    except Invalid as error:
        raise fields.refuse("currency", error.detail) from error
    return text


def _zone(value: Any) -> ZoneInfo:
    text = fields.name(value, "time_zone")
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        detail = f"{text!r} is not an IANA time zone such as Europe/Berlin"
        raise fields.refuse("time_zone", detail) from error


def _card(value: Any, currency: str) -> RateCard:
    versions = [
        _version(entry, place, at, currency)
        for at, (place, entry) in enumerate(fields.entries(value, "rates", count_max=VERSIONS_MAX))
    ]
    try:
        return rate_cards.rate_card(versions)
    except DomainError as error:
        place = (error.field or "").replace("versions", "rates", 1)
        raise fields.refuse(place, error.detail) from error


def _version(value: Any, place: str, at: int, currency: str) -> RateVersion:
    entry = fields.record(
        value,
        place,
        required=("effective_from", "lines"),
        optional=("effective_until", "memory_flavor", "currency"),
    )
    if entry.get("currency", currency) != currency:
        raise fields.refuse(
            f"{place}.currency",
            f"must be {currency}: amounts of two currencies cannot be added; convert the prices",
        )
    lines = tuple(
        _line(line, line_place)
        for line_place, line in fields.entries(
            entry["lines"], f"{place}.lines", count_max=rate_cards.LINES_MAX
        )
    )
    try:
        rate_cards.check_lines(lines)
    except Invalid as error:
        raise fields.refuse(f"{place}.{error.field}", error.detail) from error
    return RateVersion(
        id=at,
        effective_from=_instant(entry["effective_from"], f"{place}.effective_from"),
        effective_until=_optional(entry, "effective_until", place, _instant),
        memory_flavor=_optional(entry, "memory_flavor", place, fields.name),
        lines=lines,
    )


def _line(value: Any, place: str) -> RateLine:
    entry = fields.record(
        value,
        place,
        required=("flavor", "list_price"),
        optional=("tier", "grade", "contracted_price"),
    )

    def price(given: Any, where: str) -> Any:
        return fields.amount(given, where, high=int(PRICE_MAX))

    return RateLine(
        flavor=fields.name(entry["flavor"], f"{place}.flavor"),
        tier=_optional(entry, "tier", place, _tier),
        grade=_optional(entry, "grade", place, fields.name),
        list_price=price(entry["list_price"], f"{place}.list_price"),
        contracted_price=_optional(entry, "contracted_price", place, price),
    )


def _grades(value: Any) -> Grades:
    said: dict[str, dict[datetime, str | None]] = defaultdict(dict)
    for place, entry in fields.entries(value, "grades", count_max=RECORDS_MAX):
        entry = fields.record(entry, place, required=("account", "from", "grade"))
        account = fields.name(entry["account"], f"{place}.account")
        since = _instant(entry["from"], f"{place}.from")
        if since in said[account]:
            raise fields.refuse(f"{place}.from", f"{account!r} has a grade from then on already")
        said[account][since] = _optional(entry, "grade", place, fields.name)
    return {account: tuple(sorted(history.items())) for account, history in said.items()}


def _records(value: Any) -> tuple[Record, ...]:
    return tuple(
        _record(entry, place)
        for place, entry in fields.entries(value, "records", count_max=RECORDS_MAX)
    )


def _record(value: Any, place: str) -> Record:
    entry = fields.record(
        value,
        place,
        required=("account", "flavor", "units", "start", "end"),
        optional=("tier", "pool", "memory_gb", "labels"),
    )
    start = _instant(entry["start"], f"{place}.start")
    end = _instant(entry["end"], f"{place}.end")
    if end < start:
        raise fields.refuse(f"{place}.end", "is before the start")
    if (end - start).days > RECORD_DAYS_MAX:
        raise fields.refuse(f"{place}.end", f"is more than {RECORD_DAYS_MAX} days after the start")
    units = fields.amount(entry["units"], f"{place}.units", high=UNITS_MAX)
    return Record(
        account=fields.name(entry["account"], f"{place}.account"),
        pool=_optional(entry, "pool", place, fields.name),
        flavor=fields.name(entry["flavor"], f"{place}.flavor"),
        tier=_tier(entry.get("tier", TIERS[0]), f"{place}.tier"),
        units=int(units) if units == int(units) else units,
        start=start,
        end=end,
        memory_gb=_optional(
            entry, "memory_gb", place, lambda v, p: fields.amount(v, p, high=UNITS_MAX)
        ),
        labels=_labels(entry.get("labels"), f"{place}.labels"),
    )


def _labels(value: Any, place: str) -> dict[str, str] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise fields.refuse(place, f"must be an object, not {fields.kind(value)}")
    if len(value) > LABELS_MAX:
        raise fields.refuse(place, f"has {len(value)} labels; at most {LABELS_MAX} are taken")
    return {name: fields.name(text, f"{place}.{name}") for name, text in value.items()}


def _tier(value: Any, place: str) -> str:
    if value not in TIERS:
        raise fields.refuse(place, f"must be one of {', '.join(TIERS)}, not {value!r}")
    return value


def _instant(value: Any, place: str) -> datetime:
    fields.instant(value, place)
    return datetime.fromisoformat(value).astimezone(UTC)


def _optional(entry: Mapping[str, Any], name: str, place: str, read_: Any) -> Any:
    value = entry.get(name)
    return None if value is None else read_(value, f"{place}.{name}")
