#!/usr/bin/env python
"""Entry point of every command: `python manage.py help`."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
        from django.db import OperationalError
    except ImportError as error:
        raise SystemExit(
            f"{error}. The environment is missing: run `make install`, then .venv/bin/python."
        ) from error
    try:
        execute_from_command_line(sys.argv)
    except (ImproperlyConfigured, OperationalError) as error:
        if "--traceback" in sys.argv:
            raise
        raise SystemExit(_in_words(error)) from None
    except BrokenPipeError:
        # Whoever read our output has seen enough (`| head`). Python would complain once more when
        # it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _in_words(error: Exception) -> str:
    """What an operator can do about settings that cannot be used or a database that is away."""
    from django.db import OperationalError

    if not isinstance(error, OperationalError):
        return str(error)
    said = str(error).strip().splitlines()
    return (
        f"The database cannot be used: {said[0] if said else 'it does not answer'}\n"
        "Start it, or point DATABASE_URL at one that runs. --traceback shows where it happened."
    )


if __name__ == "__main__":
    main()
