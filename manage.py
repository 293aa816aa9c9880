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
    try:
        execute_from_command_line(sys.argv)
    except BrokenPipeError:
        # Whoever read our output has seen enough (`| head`). Python would complain once more when
        # it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


if __name__ == "__main__":
    main()
