"""The WSGI application: `granian --interface wsgi config.wsgi:application`."""

import os

from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_wsgi_application()

from django.conf import settings  # noqa: E402  # settings need the line above
from django.urls import get_resolver  # noqa: E402  # likewise

from config.collector import leave_loaded  # noqa: E402  # likewise

if not settings.DATABASE_CONFIGURED:
    raise ImproperlyConfigured("No database: run `make demo`, or set DATABASE_URL.")

# All views now: not in somebody's first request, and a broken one stops the start.
get_resolver().url_patterns  # noqa: B018  # read for its effect

leave_loaded()
