from django.apps import AppConfig
from django.core.checks import Tags, register


class ConfigConfig(AppConfig):
    """The project itself: holds the system checks that belong to no app."""

    name = "config"

    def ready(self) -> None:
        # Importing the Celery application makes it the one that tasks are sent through.
        from config import celery, wiring  # noqa: F401
        from config.database import check_server

        register(check_server, Tags.database)
        wiring.connect()
