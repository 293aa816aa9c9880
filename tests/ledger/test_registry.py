"""Old payloads become today's events; unknown ones are said to be unknown."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

import msgspec
import pytest

from ledger import registry
from ledger.registry import UnknownEvent, event, upcaster
from ledger.types import Event


@event("test.measured", version=3)
@dataclass(frozen=True, slots=True, kw_only=True)
class Measured(Event):
    thing_id: UUID
    grams: Decimal
    at: datetime
    tags: tuple[str, ...]


@upcaster("test.measured", from_version=1)
def kilograms_to_grams(payload):
    return {
        "thing_id": payload["thing_id"],
        "grams": str(Decimal(payload["kg"]) * 1000),
        "at": payload["at"],
    }


@upcaster("test.measured", from_version=2)
def without_tags(payload):
    return payload | {"tags": []}


THING = UUID(int=5)
AT = "2026-11-29T12:00:00.000001Z"
NOW = datetime(2026, 11, 29, 12, 0, 0, 1, tzinfo=UTC)
WANT = Measured(thing_id=THING, grams=Decimal(1500), at=NOW, tags=())


@pytest.mark.parametrize(
    ("version", "payload"),
    [
        (1, {"thing_id": str(THING), "kg": "1.5", "at": AT}),
        (2, {"thing_id": str(THING), "grams": "1500", "at": AT}),
        (3, {"thing_id": str(THING), "grams": "1500", "at": AT, "tags": []}),
    ],
)
def test_every_version_ever_written_is_read_as_the_present_one(version, payload):
    assert registry.from_payload("test.measured", version, payload) == WANT


@pytest.mark.parametrize(
    ("name", "version"), [("test.unheard_of", 1), ("test.measured", 4), ("test.measured", 0)]
)
def test_a_name_or_version_this_release_does_not_know_is_an_error(name, version):
    with pytest.raises(UnknownEvent):
        registry.from_payload(name, version, {})


def test_a_payload_of_the_wrong_shape_is_an_error():
    with pytest.raises(msgspec.ValidationError):
        registry.from_payload("test.measured", 3, {"thing_id": "no"})


def test_payloads_survive_a_round_trip_to_the_microsecond_and_the_last_decimal():
    data = Measured(thing_id=THING, grams=Decimal("0.10"), at=NOW, tags=("a", "ä"))
    stored = msgspec.json.decode(msgspec.json.encode(registry.to_payload(data)))
    again = registry.from_payload("test.measured", 3, stored)
    assert again == data
    assert str(again.grams) == "0.10"


def test_a_name_stands_for_one_class():
    with pytest.raises(ValueError, match="already"):

        @event("test.measured")
        class Other(Event):
            pass


def test_subjects_are_all_ids_also_those_in_tuples():
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Sample(Event):
        one_id: UUID
        many_ids: tuple[UUID, ...]
        none_id: UUID | None = None

    assert Sample(one_id=UUID(int=1), many_ids=(UUID(int=2),)).subjects == {
        UUID(int=1),
        UUID(int=2),
    }
