"""The WSGI application of the benchmark's server."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from django.conf import settings

settings.ROOT_URLCONF = "bench.urls"

from config.wsgi import application  # noqa: E402  # the settings must be changed first

__all__ = ["application"]
