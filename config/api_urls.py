"""Addresses under /api/v1/."""

from django.urls import path
from drf_spectacular.views import SpectacularAPIView

from accounting.api.fairshare import FairshareOperation
from accounting.api.priorities import PrioritiesOperation
from accounting.api.usage import RecordUsageOperation
from ledger.api import EventOperation, EventsOperation

urlpatterns = [
    path("fairshare", FairshareOperation.as_view(), name="fairshare"),
    path("ledger/events", EventsOperation.as_view(), name="ledger-events"),
    path("ledger/events/<uuid:event_id>", EventOperation.as_view(), name="ledger-event"),
    path("priorities", PrioritiesOperation.as_view(), name="priorities"),
    path(
        "schema",
        SpectacularAPIView.as_view(api_version="v1", versioning_class=None),
        name="schema",
    ),
    path("usage", RecordUsageOperation.as_view(), name="usage"),
]
