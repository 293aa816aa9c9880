"""Sessions live in the database, and end."""

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from tenancy.tasks import forget_sessions


@pytest.mark.django_db
def test_sessions_that_ended_are_forgotten_and_others_kept(client: Client) -> None:
    kept, gone = client.session, Client().session
    for session in (kept, gone):
        session["who"] = "x"
        session.save()
    Session.objects.filter(pk=gone.session_key).update(
        expire_date=timezone.now() - timedelta(seconds=1)
    )
    forget_sessions()
    assert list(Session.objects.values_list("pk", flat=True)) == [kept.session_key]
