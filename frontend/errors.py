"""Refusals of the domain as pages say them: their instants on the organization's clock."""

from zoneinfo import ZoneInfo

from ledger.errors import DomainError
from ledger.instants import on_clock


def said(error: DomainError, zone: ZoneInfo) -> str:
    """The sentence of a refusal, with its way out."""
    return on_clock(error.detail, zone)
