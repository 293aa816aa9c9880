#!/usr/bin/env python
"""Entry point of every command: `python manage.py help`."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError as error:
        raise SystemExit(
            f"{error}. The environment is missing: run `make install`, then .venv/bin/python."
        ) from error
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
