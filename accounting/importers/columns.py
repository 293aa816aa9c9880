"""Splitting a line whose free text holds the delimiter itself. Pure.

``sacct -P`` writes a job name ``eval|pipe name`` as it is, so the line has more fields than the
header. Most columns have a shape (times, states, counts, TRES, job ids) or cannot hold a
delimiter (accounts, users, partitions); only free text can. All ways to hand the fields out
to the columns are weighed at once, column by column: a column is *settled* when every way in
which the whole line fits gives it the same text.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from accounting.importers.times import looks_like_time
from accounting.importers.tres import looks_like_tres

Shape = Callable[[str], bool]

EXTRA_FIELDS_MAX: Final = 64

STATES: Final = (
    "BOOT_FAIL",
    "CANCELLED",
    "COMPLETED",
    "COMPLETING",
    "CONFIGURING",
    "DEADLINE",
    "EXPEDITING",
    "FAILED",
    "LAUNCH_FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PENDING",
    "POWER_UP_NODE",
    "PREEMPTED",
    "RECONFIG_FAIL",
    "REQUEUED",
    "REQUEUE_FED",
    "REQUEUE_HOLD",
    "RESIZING",
    "RESV_DEL_HOLD",
    "REVOKED",
    "RUNNING",
    "SIGNALING",
    "SPECIAL_EXIT",
    "STAGE_OUT",
    "STOPPED",
    "SUSPENDED",
    "TIMEOUT",
    "UPDATE_DB",
)

_JOB_ID = re.compile(r"\d+(?:_(?:\d+|\[[^\]]*\]))?(?:\+\d+)?(?:\.[A-Za-z0-9_+]+)?", re.ASCII)
_IDENTIFIER = re.compile(r"[^\s|,;'\"]*")
_NAME_LIST = re.compile(r"[^\s|;'\"]*")
_COUNT = re.compile(r"\d*", re.ASCII)
_SIZE = re.compile(r"(?:\d+(?:\.\d+)?[KMGTPkmgtp]?[cn]?)?", re.ASCII)
_DURATION = re.compile(
    r"(?:(?:\d+-)?\d+(?::\d\d){0,2}(?:\.\d+)?|UNLIMITED|Partition_Limit|INVALID|Unknown|None)?",
    re.ASCII,
)
_EXIT_CODE = re.compile(r"(?:\d+:\d+)?", re.ASCII)


def base_state(text: str) -> str | None:
    """COMPLETED of ``COMPLETED``, ``CANCELLED`` of ``CANCELLED by 1001`` and ``CANCELLED+``.

    A text cut short (``OUT_OF_ME+``) is completed where just one state begins so. None for what
    is no state known here.
    """
    word = text.split(" ", 1)[0].split(",", 1)[0]
    if word in STATES:
        return word
    if word.endswith("+"):
        if word[:-1] in STATES:
            return word[:-1]
        fitting = [state for state in STATES if state.startswith(word[:-1])]
        return fitting[0] if len(fitting) == 1 else None
    return None


def _is_state(text: str) -> bool:
    state = base_state(text)
    # Only a cancelled job says by whom; other words after a state make it free text.
    return state is not None and (" " not in text or state == "CANCELLED")


def _full(pattern: re.Pattern[str]) -> Shape:
    return lambda text: pattern.fullmatch(text) is not None


_SHAPES: Final[Mapping[str, Shape]] = {
    **dict.fromkeys(("jobid", "jobidraw", "hetjobid"), _full(_JOB_ID)),
    **dict.fromkeys(("submit", "eligible", "start", "end", "planned"), looks_like_time),
    "state": _is_state,
    **dict.fromkeys(
        ("cluster", "account", "user", "group", "qos", "qosraw", "associd", "sluid", "uid", "gid"),
        _full(_IDENTIFIER),
    ),
    "partition": _full(_NAME_LIST),
    **dict.fromkeys(
        (
            "elapsedraw",
            "nnodes",
            "ncpus",
            "alloccpus",
            "allocnodes",
            "reqcpus",
            "reqnodes",
            "ntasks",
            "restarts",
            "timelimitraw",
            "priority",
            "cputimeraw",
            "reservationid",
        ),
        _full(_COUNT),
    ),
    **dict.fromkeys(
        ("elapsed", "suspended", "timelimit", "cputime", "totalcpu", "usercpu", "systemcpu"),
        _full(_DURATION),
    ),
    **dict.fromkeys(("alloctres", "reqtres"), looks_like_tres),
    **dict.fromkeys(("exitcode", "derivedexitcode"), _full(_EXIT_CODE)),
    **dict.fromkeys(("reqmem", "maxrss", "averss", "maxvmsize", "avevmsize"), _full(_SIZE)),
}


def shape_of(column: str) -> Shape | None:
    """The shape of a column (name in lower case), or None for free text."""
    return _SHAPES.get(column)


def settle(
    fields: Sequence[str], shapes: Sequence[Shape | None], *, delimiter: str
) -> list[str | None] | None:
    """The text of each column, None where more than one is possible.

    None for the whole when no way fits, or when there are more extra fields than
    EXTRA_FIELDS_MAX. Work is bounded by columns x extra fields squared.
    """
    extra = len(fields) - len(shapes)
    if not 0 <= extra <= EXTRA_FIELDS_MAX:
        return None
    # forward[i]: where column i can begin, counted in extra fields taken before it.
    forward: list[set[int]] = [{0}]
    for index, shape in enumerate(shapes):
        reached: set[int] = set()
        for taken in forward[index]:
            if shape is None:
                reached.update(range(taken, extra + 1))
            elif shape(fields[index + taken]):
                reached.add(taken)
        forward.append(reached)
    if extra not in forward[-1]:
        return None
    settled: list[str | None] = []
    alive = {extra}
    for index in range(len(shapes) - 1, -1, -1):
        shape = shapes[index]
        spans = {
            (begin, end)
            for end in alive
            for begin in forward[index]
            if (begin <= end if shape is None else begin == end and shape(fields[index + begin]))
        }
        texts = {delimiter.join(fields[index + begin : index + end + 1]) for begin, end in spans}
        settled.append(texts.pop() if len(texts) == 1 else None)
        alive = {begin for begin, _ in spans}
    settled.reverse()
    return settled
