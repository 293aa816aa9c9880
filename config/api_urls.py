"""Addresses under /api/v1/."""

from django.urls import path

from accounting.api.usage import RecordUsageOperation

urlpatterns = [
    path("usage", RecordUsageOperation.as_view(), name="usage"),
]
