"""`manage.py whatif QUESTION FILE.json`: compute without database or services."""

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.whatif import QUESTIONS
from ledger.errors import Invalid

STANDARD_INPUT = "-"
EXIT_BAD_INPUT = 2
DOCUMENT_BYTES_MAX = 512 * 1024 * 1024


class Command(BaseCommand):
    """Reads one JSON document, writes one JSON object.

    Exit 0 with the answer, 2 when the document or its path is at fault, named on standard error.
    """

    help = "Answer a question about values in a file, with the code that answers over REST."
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "question",
            choices=sorted(QUESTIONS),
            help="; ".join(f"{name}: {QUESTIONS[name].help}" for name in sorted(QUESTIONS)),
        )
        parser.add_argument("file", help="JSON document, or - for standard input")

    def handle(self, *args: Any, question: str, file: str, **options: Any) -> None:
        document = self._read(file)
        try:
            answer = QUESTIONS[question].answer(document)
        except Invalid as error:
            place = f"{error.field}: " if error.field else ""
            raise CommandError(f"{place}{error.detail}", returncode=EXIT_BAD_INPUT) from error
        self.stdout.write(json.dumps(answer, indent=2, ensure_ascii=False, allow_nan=False))

    def _read(self, file: str) -> bytes:
        try:
            if file == STANDARD_INPUT:
                document = sys.stdin.buffer.read(DOCUMENT_BYTES_MAX + 1)
            else:
                with Path(file).open("rb") as stream:
                    document = stream.read(DOCUMENT_BYTES_MAX + 1)
        except OSError as error:
            reason = error.strerror or str(error)
            raise CommandError(f"{file}: {reason}", returncode=EXIT_BAD_INPUT) from error
        if len(document) > DOCUMENT_BYTES_MAX:
            raise CommandError(
                f"{file}: more than {DOCUMENT_BYTES_MAX} bytes", returncode=EXIT_BAD_INPUT
            )
        return document
