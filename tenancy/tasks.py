"""Tasks of sign-in: harmless when late, doubled or lost."""

from importlib import import_module

from celery import shared_task
from django.conf import settings


@shared_task
def forget_sessions() -> None:
    """Remove sessions that have ended: nobody can use them any more, they only take space."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
