"""`manage.py import_usage --format sacct FILE`: usage records of a file, each counted once."""

import gzip
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounting.importers.formats import FORMATS, Format, text_lines
from accounting.importers.options import ImportOptions
from accounting.importers.pools import PoolMap
from accounting.importers.record import TIERS, FieldError
from accounting.importing import (
    BATCH_DEFAULT,
    Finding,
    ImportReport,
    UsageImport,
    pool_resolver,
)
from ledger import scope
from ledger.errors import DomainError
from ledger.types import SYSTEM
from quota.queries import pools_with_weights
from tenancy.shell import organization_meant

STANDARD_INPUT = "-"
NAMES_SHOWN_MAX = 30
T = TypeVar("T")


class Command(BaseCommand):
    """Exit 0 when all was read and counted, now or before; 1 when a record was left out."""

    help = (
        "Import usage records from the accounting of a scheduler. Running it again counts "
        "nothing twice."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="the file, gzip or not, or - for standard input")
        parser.add_argument("--format", required=True, choices=sorted(FORMATS))
        parser.add_argument("--organization", metavar="SLUG", help="needed where there are several")
        parser.add_argument(
            "--source",
            metavar="NAME",
            help="the namespace of the records' keys; the format's name if left out. Give each "
            "file of one system the same",
        )
        parser.add_argument(
            "--map",
            action="append",
            metavar="ENTRY",
            default=[],
            help="kind:CLUSTER/KIND=POOL, kind:KIND=POOL or partition:NAME=POOL; repeat it. "
            "Without one, a pool is found by the kind of device",
        )
        parser.add_argument("--timezone", metavar="ZONE", help="of times without one (UTC)")
        parser.add_argument("--tier", choices=TIERS, help="of records that name none (guaranteed)")
        parser.add_argument(
            "--create-accounts",
            action="store_true",
            help="open unknown accounts under the root, add unknown people and put them there",
        )
        parser.add_argument("--dry-run", action="store_true", help="count, and store nothing")
        parser.add_argument(
            "--batch",
            type=int,
            default=BATCH_DEFAULT,
            metavar="RECORDS",
            help=f"records stored at a time ({BATCH_DEFAULT})",
        )
        _add_format_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        form = FORMATS[options["format"]]
        try:
            organization = organization_meant(options["organization"])
            with scope.reading(organization.id):
                resolve = pool_resolver(pools_with_weights(organization.id))
            read_options = _options(form, options) | {"resolve_pool": resolve}
            work = UsageImport(
                organization_id=organization.id,
                actor=SYSTEM,
                source=options["source"] or form.name,
                clock=lambda: datetime.now(UTC),
                batch_size=options["batch"],
                create_accounts=options["create_accounts"],
                dry_run=options["dry_run"],
                reason=f"import of {Path(options['file']).name}",
            )
            broken = self._run(work, form, read_options, options["file"])
        except DomainError as error:
            raise CommandError(error.detail) from error
        self._report(work.report, file=options["file"], dry_run=options["dry_run"])
        if broken:
            raise CommandError(f"{options['file']} cannot be read further: {broken}")
        if not work.report.is_clean:
            raise CommandError("Not everything was counted; see above.")

    def _run(
        self, work: UsageImport, form: Format, read_options: dict[str, Any], file: str
    ) -> str | None:
        """Import; the reason why the file ended early, if it did."""
        started = time.monotonic()

        def progress(report: ImportReport) -> None:
            seconds = max(time.monotonic() - started, 1e-9)
            rate = report.records / seconds
            self.stderr.write(
                f"{report.records:>12,} records in {seconds:.1f} s, {rate:,.0f} a second"
            )

        try:
            with _opened(file) as stream:
                lines = text_lines(stream)
                work.run(form.items(lines, **read_options), progress=progress)
        except (EOFError, gzip.BadGzipFile) as error:
            return str(error)
        except OSError as error:
            if error.filename is None:
                return str(error)
            raise CommandError(f"{file}: {error.strerror}") from error
        return None

    # ------------------------------------------------------------------ report

    def _report(self, report: ImportReport, *, file: str, dry_run: bool) -> None:
        write = self.stdout.write
        rejected = sum(finding.count for finding in report.rejected.values())
        conflicts = sum(finding.count for finding in report.conflicts.values())
        if dry_run:
            write("This was a dry run; nothing was stored.")
        write(
            f"{file}: {report.accepted:,} accepted, {report.duplicates:,} duplicates, "
            f"{conflicts:,} conflicts, {rejected:,} rejected, {report.skipped.total():,} skipped."
        )
        if report.accounts_opened or report.people_added or report.places_given:
            write(
                f"{'Would create' if dry_run else 'Created'}: {report.accounts_opened:,} accounts, "
                f"{report.people_added:,} people, {report.places_given:,} places."
            )
        self._findings("Conflict", report.conflicts)
        self._findings("Rejected", report.rejected)
        for what, names in (
            ("accounts", report.unknown_accounts),
            ("people", report.unknown_people),
            ("pools", report.unknown_pools),
        ):
            self._names(f"Unknown {what} (records)", names)
        self._names("Skipped (lines)", report.skipped)

    def _findings(self, title: str, findings: dict[str, Finding]) -> None:
        for code, finding in sorted(findings.items(), key=lambda pair: -pair[1].count):
            self.stdout.write(f"{title}, {code}: {finding.count:,}")
            for example in finding.examples:
                value = f" [{example.value}]" if example.value else ""
                where = f"{example.field}: " if example.field else ""
                self.stdout.write(f"  line {example.line}: {where}{example.detail}{value}")
            if finding.count > len(finding.examples):
                self.stdout.write("  ...")

    def _names(self, title: str, names: Counter[str]) -> None:
        if not names:
            return
        shown = [f"{name} ({count:,})" for name, count in names.most_common(NAMES_SHOWN_MAX)]
        more = len(names) - NAMES_SHOWN_MAX
        self.stdout.write(f"{title}: {', '.join(shown)}{f' and {more:,} more' if more > 0 else ''}")


def _add_format_arguments(parser: CommandParser) -> None:
    group = parser.add_argument_group("one format's own", "refused with another format")
    group.add_argument("--cluster", help="sacct: where there is no Cluster column; swf: its name")
    group.add_argument("--delimiter", help="sacct and csv: what separates fields")
    group.add_argument(
        "--gres", action="append", metavar="NAME", help="sacct: resources that count (gpu); repeat"
    )
    group.add_argument(
        "--qos-tiers", action="append", metavar="QOS=TIER", help="sacct: tier by QOS; repeat"
    )
    group.add_argument(
        "--subtract-suspended",
        action="store_const",
        const=True,
        help="sacct: suspended jobs give their devices back",
    )
    group.add_argument(
        "--identity", choices=("auto", "job"), help="sacct: job ignores SLUID in keys"
    )
    group.add_argument(
        "--columns", action="append", metavar="FIELD=COLUMN", help="csv: our field by its column"
    )
    group.add_argument(
        "--constants", action="append", metavar="FIELD=VALUE", help="csv: the same in every row"
    )
    group.add_argument("--unix-start", type=int, metavar="SECONDS", help="swf: when the log begins")
    group.add_argument("--account-format", metavar="TEXT", help="swf: name by group, as group{}")
    group.add_argument("--person-format", metavar="TEXT", help="swf: name by user, as user{}")
    group.add_argument(
        "--types", action="append", metavar="TYPE", help="cloudevents: the types that are usage"
    )


_READERS = {
    "gres": tuple,
    "types": frozenset,
    "qos_tiers": lambda pairs: _pairs(pairs, "--qos-tiers", values=TIERS),
    "columns": lambda pairs: _pairs(pairs, "--columns"),
    "constants": lambda pairs: _pairs(pairs, "--constants"),
    "delimiter": lambda text: text.encode().decode("unicode_escape"),
}
_COMMON = ("timezone", "tier")
_OWN = (
    "cluster",
    "delimiter",
    "gres",
    "qos_tiers",
    "subtract_suspended",
    "identity",
    "columns",
    "constants",
    "unix_start",
    "account_format",
    "person_format",
    "types",
)


def _options(form: Format, options: dict[str, Any]) -> dict[str, Any]:
    """What was said, as options of the format's reader."""
    try:
        chosen: dict[str, Any] = {"pools": PoolMap.parse(options["map"])}
    except FieldError as error:
        raise CommandError(f"--map {error.value}: {error.detail}") from error
    known = {field.name for field in fields(form.options)}
    assert {field.name for field in fields(ImportOptions)} <= known
    for name in (*_COMMON, *_OWN):
        value = options[name]
        if value is None:
            continue
        if name not in known:
            flag = name.replace("_", "-")
            raise CommandError(f"--{flag} means nothing for the format {form.name}.")
        chosen[name] = _READERS.get(name, _same)(value)
    return chosen


def _same(value: T) -> T:
    return value


def _pairs(entries: Iterable[str], flag: str, *, values: tuple[str, ...] = ()) -> dict[str, str]:
    found = {}
    for entry in entries:
        left, equals, right = entry.partition("=")
        if not (left and equals and right) or (values and right not in values):
            wanted = f"NAME={'|'.join(values)}" if values else "NAME=VALUE"
            raise CommandError(f"{flag} {entry}: write {wanted}.")
        found[left] = right
    return found


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == STANDARD_INPUT:
        yield sys.stdin.buffer
        return
    with Path(file).open("rb") as stream:
        yield stream
