"""Slurm's TRES strings: ``billing=40,cpu=8,gres/gpu=8,gres/gpu:h100=8,mem=16000M,node=1``. Pure.

``gres/gpu:h100`` and ``gres/gpu`` are the *same* devices, once by type and once in all: the typed
entries are taken, the plain one only where no typed one is there, and they are never added.
(Slurm manual, "Trackable RESources"; docs/design.md part 4.)
"""

import re
from dataclasses import dataclass

from accounting.importers.record import FieldError

_ENTRY = re.compile(r"(?P<name>[A-Za-z_]+(?:/[^=,]+)?)=(?P<amount>\d+(?:\.\d+)?)(?P<unit>[KMGTP]?)")
TRES_SHAPE = re.compile(r"(?:[A-Za-z_]+(?:/[^=,|]+)?=\d+(?:\.\d+)?[KMGTP]?(?:,|$))*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """Devices of a job: units by kind, kind None where Slurm did not say.

    ``untyped_left`` is how many of the plain total no typed entry accounts for. It is above 0
    where only some types are tracked; those devices cannot be told apart and are not counted.
    """

    units_by_kind: dict[str | None, int]
    untyped_left: int


def looks_like_tres(text: str) -> bool:
    """True for a TRES string and for none at all."""
    return bool(TRES_SHAPE.fullmatch(text))


def parse(text: str, *, field: str) -> dict[str, int]:
    """Amounts by full name, counts only: memory and other scaled sizes are left out.

    FieldError where the text is no TRES string or names one resource twice.
    """
    amounts: dict[str, int] = {}
    for entry in text.split(","):
        if not entry:
            continue
        match = _ENTRY.fullmatch(entry)
        if match is None:
            raise FieldError(field, "bad_tres", "TRES are written name=amount,name=amount.", text)
        if match["unit"] or "." in match["amount"]:
            if match["name"].startswith("gres/"):
                raise FieldError(
                    field,
                    "bad_tres",
                    f"{entry}: use sacct --noconvert for exact counts.",
                    text,
                )
            continue
        if match["name"] in amounts:
            raise FieldError(field, "bad_tres", f"{match['name']} is given twice.", text)
        amounts[match["name"]] = int(match["amount"])
    return amounts


def devices(amounts: dict[str, int], *, gres: tuple[str, ...]) -> Devices:
    """The devices of the named generic resources, typed before plain, zero amounts left out.

    The kind of ``gres/gpu:h100`` is ``h100``; of another resource such as ``gres/npu:910b`` it is
    ``npu:910b``, and of a plain ``gres/npu`` it is ``npu``, so kinds of two resources never meet.
    """
    found: dict[str | None, int] = {}
    left = 0
    for resource in gres:
        plain = amounts.get(f"gres/{resource}", 0)
        start = f"gres/{resource}:"
        prefix = "" if resource == "gpu" else f"{resource}:"
        typed = {
            prefix + name[len(start) :]: amount
            for name, amount in amounts.items()
            if amount > 0 and name.startswith(start)
        }
        if typed:
            found.update(typed)
            left += max(0, plain - sum(typed.values()))
        elif plain > 0:
            found[None if resource == "gpu" else resource] = plain
    return Devices(units_by_kind=found, untyped_left=left)
