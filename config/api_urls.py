"""Addresses under /api/v1/."""

from django.urls import path

from accounting.api.fairshare import FairshareOperation
from accounting.api.priorities import PrioritiesOperation
from accounting.api.usage import RecordUsageOperation

urlpatterns = [
    path("fairshare", FairshareOperation.as_view(), name="fairshare"),
    path("priorities", PrioritiesOperation.as_view(), name="priorities"),
    path("usage", RecordUsageOperation.as_view(), name="usage"),
]
