"""`manage.py export --organization acme --month 2026-10 --what focus --format csv`: a file of a
month, made here, for scripts of operators. Recorded like any other export."""

import shutil
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounting.commands.exports import RequestExport
from accounting.domain import money
from accounting.domain.exports import FOCUS_VERSIONS, Format, What
from accounting.exports import files, making
from accounting.queries import exports as queries
from ledger import scope
from ledger.errors import DomainError
from ledger.execution import Context, execute
from ledger.types import SYSTEM
from tenancy import queries as tenancy
from tenancy.shell import organization_meant

STANDARD_OUTPUT = "-"


class Command(BaseCommand):
    """Exit 0 when the file is whole; 1 with a sentence when it is not."""

    help = "Export a month of an account and all below it to a file."

    def add_arguments(self, parser: CommandParser) -> None:
        """The month, what, how and where to."""
        parser.add_argument("--organization", help="slug; needed where there are several")
        parser.add_argument("--account", help="name; the root if absent")
        parser.add_argument("--month", required=True, help="as 2026-10")
        parser.add_argument("--what", choices=[one.value for one in What], default="lines")
        parser.add_argument("--format", choices=[one.value for one in Format], default="csv")
        parser.add_argument("--focus-version", choices=FOCUS_VERSIONS, default="")
        parser.add_argument(
            "--output", default="", help="a path, or - for standard output; else named after it"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Ask for the export, make it, copy the file out."""
        now = datetime.now(UTC)
        try:
            organization = organization_meant(options["organization"])
            with scope.reading(organization.id):
                name = options["account"]
                account_id = organization.root_account_id
                if name:
                    account_id = tenancy.account_by_name(organization.id, name).id
            command = RequestExport(
                account_id=account_id,
                month=_month(options["month"]),
                what=options["what"],
                format=options["format"],
                focus_version=options["focus_version"],
            )
            context = Context(
                organization_id=organization.id, actor=SYSTEM, now=now, reason="command line"
            )
            export_id = execute(command, context).result.export_id
        except DomainError as error:
            raise CommandError(error.detail) from None
        making.make(organization.id, export_id)
        with scope.reading(organization.id):
            row = queries.export(organization.id, export_id)
        if row.state != "ready" or row.digest is None:
            raise CommandError(row.problem_detail or "Another process makes this export.")
        path = options["output"] or row.file_name
        try:
            _copy(files.name_of(organization.id, export_id, row.digest), path)
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}.") from None
        places = money.minor_places(organization.currency)
        self.stderr.write(
            f"{row.rows} rows, {row.size} bytes, {row.month_state} month"
            + (f", total {row.total:.{places}f}" if row.total is not None else "")
            + f"\nsha256 {row.digest}"
        )


def _month(text: str) -> date:
    try:
        return date.fromisoformat(f"{text}-01")
    except ValueError:
        raise CommandError("A month is given as 2026-10.") from None


def _copy(name: str, path: str) -> None:
    with files.opened(name) as source:
        if path == STANDARD_OUTPUT:
            shutil.copyfileobj(source, sys.stdout.buffer)
            return
        whole = Path(path)
        half = whole.with_name(f"{whole.name}{files.PARTIAL}")
        with half.open("wb") as out:
            shutil.copyfileobj(source, out)
        half.replace(whole)
