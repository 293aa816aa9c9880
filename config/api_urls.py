"""Addresses under /api/v1/."""

from django.urls import path

from accounting.api.priorities import PrioritiesOperation
from accounting.api.usage import RecordUsageOperation

urlpatterns = [
    path("priorities", PrioritiesOperation.as_view(), name="priorities"),
    path("usage", RecordUsageOperation.as_view(), name="usage"),
]
