"""The formats of account trees, by the name a person types, and how to tell them apart. Pure."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Final

from tenancy.importers import csv_tree, sacctmgr, yaml_tree
from tenancy.importers.tree import TreeReading

FORMATS: Final[Mapping[str, Callable[[Iterable[str]], TreeReading]]] = {
    "sacctmgr": sacctmgr.read,
    "yaml": yaml_tree.read,
    "csv": csv_tree.read,
}
_BY_SUFFIX: Final = {".cfg": "sacctmgr", ".yaml": "yaml", ".yml": "yaml", ".csv": "csv"}
_SACCTMGR_LINE: Final = re.compile(r"\s*(cluster|parent|account|user)\s+-\s+", re.IGNORECASE)
_LINES_LOOKED_AT: Final = 200


def guess(name: str, lines: Sequence[str]) -> str:
    """The format by the ending of the file's name, else by its first line that says something."""
    by_suffix = _BY_SUFFIX.get(PurePath(name).suffix.lower())
    if by_suffix is not None:
        return by_suffix
    for line in lines[:_LINES_LOOKED_AT]:
        text = line.removeprefix("\ufeff").strip()
        if not text or text.startswith("#"):
            continue
        if _SACCTMGR_LINE.match(text):
            return "sacctmgr"
        columns = {cell.strip().strip('"').lower() for cell in text.split(",")}
        return "csv" if columns & {"account", "person"} else "yaml"
    return "yaml"
