from django.apps import AppConfig


class LedgerConfig(AppConfig):
    """The event store. Knows organizations only by their id."""

    name = "ledger"
