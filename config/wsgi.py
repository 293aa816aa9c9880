"""The WSGI application: `granian --interface wsgi config.wsgi:application`."""

import os

from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_wsgi_application()

from django.conf import settings  # noqa: E402  # settings need the line above

if not settings.DATABASE_CONFIGURED:
    raise ImproperlyConfigured("No database: run `make demo`, or set DATABASE_URL.")
