"""Words that notices of several kinds use."""

from typing import Final

QUOTED_MAX: Final = 300


def units(number: int) -> str:
    """`1 unit`, `1,200 units`."""
    return "1 unit" if number == 1 else f"{number:,} units"


def quoted(text: str) -> str:
    """What somebody wrote, shortened; nothing for nothing."""
    line = " ".join(text.split())
    if not line:
        return ""
    return f"“{line if len(line) <= QUOTED_MAX else line[: QUOTED_MAX - 1] + '…'}”"
