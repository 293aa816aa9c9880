"""Instants inside sentences of the domain: written in UTC, read on an organization's clock. Pure.

A refusal does not know who reads it: programs read UTC, pages and mails the organization's zone.
"""

import re
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

_WRITTEN: Final = re.compile(r"\b(\d{4}-\d{2}-\d{2} \d{2}:\d{2}) UTC\b")


def written(at: datetime) -> str:
    """An instant as sentences of the domain hold it: `2026-12-01 10:00 UTC`."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def on_clock(text: str, zone: ZoneInfo) -> str:
    """A sentence of the domain with its instants in a zone; anything else stays as it is."""

    def local(found: re.Match[str]) -> str:
        try:
            at = datetime.strptime(found[1], "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
            return f"{at.astimezone(zone):%Y-%m-%d %H:%M}"
        except (ValueError, OverflowError):
            return found[0]

    return _WRITTEN.sub(local, text)
