"""The rows of ``sacct -P`` output, columns by name. Pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from accounting.importers import columns
from accounting.importers.record import FieldError, ImportProblem, Skipped

REQUIRED_COLUMNS: Final = ("Account", "User", "Submit", "Start", "End", "AllocTRES")
"""Besides JobIDRaw or JobID, and Cluster unless the caller names the cluster."""

_FACTS: Final = frozenset(
    [
        "jobidraw",
        "jobid",
        "sluid",
        "cluster",
        "account",
        "user",
        "partition",
        "qos",
        "state",
        "submit",
        "start",
        "end",
        "elapsedraw",
        "suspended",
        "restarts",
        "alloctres",
    ]
)
"""Columns that decide who pays what. A doubtful one is a problem; a doubtful label is left out."""

_JOB_ID = re.compile(r"\d+(?:_(?:\d+|\[[^\]]*\]))?(?:\+\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One job's row. ``values`` are by column name in lower case; a doubtful label is absent."""

    line: int
    job_id: str
    values: dict[str, str]

    def get(self, column: str) -> str:
        """The text of a column, blank where the file has no such column."""
        return self.values.get(column, "")


class Table:
    """Reads a header, then rows, from lines; ``line`` is the physical line last read."""

    def __init__(self, lines: Iterable[str], *, delimiter: str) -> None:
        self._lines = iter(lines)
        self._delimiter = delimiter
        self.line = 0

    def read_header(self, *, needs_cluster: bool) -> None:
        """Learn the columns from the first line that is not blank; FieldError when some lack."""
        if not self._delimiter or "\n" in self._delimiter:
            raise FieldError("delimiter", "bad_delimiter", "The delimiter cannot be blank.")
        header = ""
        while not header:
            self.line += 1
            line = next(self._lines, None)
            if line is None:
                raise FieldError("header", "empty_file", "The file holds no header line.")
            header = line.rstrip("\r\n").removeprefix("\ufeff").strip(" ")
        self._header = header
        # ``sacct -p`` ends each line with a delimiter, ``-P`` does not.
        self._trailing = header.endswith(self._delimiter)
        names = header.removesuffix(self._delimiter).split(self._delimiter)
        self._names = [name.strip().lower() for name in names]
        self._check_names(needs_cluster)
        self._shapes = [columns.shape_of(name) for name in self._names]
        free = [index for index, shape in enumerate(self._shapes) if shape is None]
        id_column = "jobidraw" if "jobidraw" in self._names else "jobid"
        self._id_index = self._names.index(id_column)
        # Left of any free text a column's place is certain, whatever the text holds.
        self._id_is_anchored = not free or self._id_index < free[0]

    def _check_names(self, needs_cluster: bool) -> None:
        twice = {name for name in self._names if self._names.count(name) > 1}
        if twice:
            raise FieldError("header", "repeated_column", f"The header names {min(twice)} twice.")
        required = [*REQUIRED_COLUMNS, *(["Cluster"] if needs_cluster else [])]
        missing = [name for name in required if name.lower() not in self._names]
        if not {"jobidraw", "jobid"} & set(self._names):
            missing.insert(0, "JobIDRaw")
        if missing:
            way_out = " (or name the cluster in the options)" if "Cluster" in missing else ""
            raise FieldError(
                "header",
                "missing_column",
                f"The header lacks {', '.join(missing)}: add to sacct --format{way_out}. "
                "Is the delimiter right?",
                self._header,
            )

    def rows(self) -> Iterator[Row | ImportProblem | Skipped]:
        """Job rows, with steps and blank lines skipped and unreadable lines as problems."""
        for line in self._lines:
            self.line += 1
            text = line.rstrip("\r\n")
            if not text.strip():
                yield self._skipped("blank", "The line is blank.")
            elif text.strip(" ") == self._header:
                # Dumps of several months put one after the other.
                yield self._skipped("header", "The header comes again.")
            else:
                try:
                    yield self._row(text)
                except FieldError as error:
                    yield error.problem(self.line)

    def _row(self, text: str) -> Row | Skipped:
        if self._trailing:
            text = text.removesuffix(self._delimiter)
        parts = text.split(self._delimiter)
        if len(parts) < len(self._names):
            raise FieldError(
                "line",
                "too_few_fields",
                f"The line has {len(parts)} fields, the header {len(self._names)}.",
                text,
            )
        if self._id_is_anchored and self._is_step(parts[self._id_index]):
            return self._step()
        if len(parts) == len(self._names):
            values = dict(zip(self._names, parts, strict=True))
        else:
            values = self._settled(parts, text)
        job_id = values[self._names[self._id_index]].strip()
        if self._is_step(job_id):
            return self._step()
        if not _JOB_ID.fullmatch(job_id):
            raise FieldError("JobID", "bad_job_id", "This is not a job id of Slurm.", job_id)
        return Row(line=self.line, job_id=job_id, values=values)

    def _settled(self, parts: list[str], text: str) -> dict[str, str]:
        settled = columns.settle(parts, self._shapes, delimiter=self._delimiter)
        if settled is None:
            raise FieldError(
                "line",
                "too_many_fields",
                f"The line has {len(parts)} fields, the header {len(self._names)}, and no way to "
                "join them fits: use sacct --delimiter.",
                text,
            )
        pairs = list(zip(self._names, settled, strict=True))
        doubtful = [name for name, value in pairs if value is None and name in _FACTS]
        if doubtful:
            raise FieldError(
                doubtful[0],
                "ambiguous_fields",
                f"The line has {len(parts)} fields, the header {len(self._names)}, and more than "
                "one way to join them fits: use sacct --delimiter.",
                text,
            )
        return {name: value for name, value in pairs if value is not None}

    @staticmethod
    def _is_step(job_id: str) -> bool:
        head, dot, _ = job_id.partition(".")
        return bool(dot) and _JOB_ID.fullmatch(head) is not None

    def _step(self) -> Skipped:
        return self._skipped("step", "A step is part of its job.")

    def _skipped(self, reason: str, detail: str) -> Skipped:
        return Skipped(line=self.line, reason=reason, detail=detail)
