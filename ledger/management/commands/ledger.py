"""`manage.py ledger verify | rebuild | export | tail | events`: docs/operator/ledger.md."""

import json
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from ledger import catalogue, export, queries, rebuild, scope, verification
from ledger.registry import UnknownEvent
from ledger.sql import server_cursor
from ledger.verification import Finding, Report

PROGRESS_SECONDS = 0.5


class Command(BaseCommand):
    """Look after the ledger: prove it, rebuild what is made from it, hand it out, read it."""

    help = __doc__
    # Nothing here depends on pages or settings that a check looks at.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """One sub-command each, with its own options."""
        commands = parser.add_subparsers(dest="what", required=True, metavar="WHAT")

        def add(name: str, text: str) -> ArgumentParser:
            made = commands.add_parser(name, help=text, description=text)
            if name != "events":
                made.add_argument("--organization", metavar="SLUG", help="only this one, or its id")
            return made

        verify = add("verify", "Check chains, usage digests and projections; exit 1 on any fault.")
        verify.add_argument("--json", action="store_true", help="machine-readable, one object")
        again = add("rebuild", "Recreate all projections from events and swap in what differs.")
        again.add_argument("--dry-run", action="store_true", help="only tell what would change")
        again.add_argument(
            "--unverified",
            action="store_true",
            help="rebuild even from chains that do not hold",
        )
        out = add("export", "Write events as NDJSON that anybody can verify.")
        out.add_argument("--since", type=int, default=0, metavar="POSITION", help="only later ones")
        out.add_argument("--output", type=Path, metavar="FILE", help="instead of standard output")
        tail = add("tail", "Show the last events, newest last.")
        tail.add_argument("-n", type=int, default=20, help="how many (default 20, at most 200)")
        add("events", "Print the catalogue of events: docs/events.md.")

    def handle(self, *, what: str, **options: Any) -> None:
        """Run the sub-command."""
        getattr(self, f"_{what}")(**options)

    def _verify(self, *, organization: str | None, json: bool, **_: Any) -> None:
        reports = []
        for organization_id in self._organizations(organization):
            with self._progress() as progress:
                report = verification.verify(organization_id, progress=progress)
            reports.append(report)
            if not json:
                self._show(report)
        clean = all(report.clean for report in reports)
        if json:
            self._json({"clean": clean, "organizations": [asdict(report) for report in reports]})
        elif not reports:
            self.stdout.write("There is no organization yet.")
        if not clean:
            sys.exit(1)

    def _rebuild(
        self, *, organization: str | None, dry_run: bool, unverified: bool, **_: Any
    ) -> None:
        for organization_id in self._organizations(organization):
            if not (unverified or dry_run):
                self._refuse_broken(organization_id)
            started = time.monotonic()
            try:
                with self._progress() as progress:
                    done = _rebuilt(organization_id, dry_run, progress)
            except UnknownEvent as error:
                raise CommandError(
                    f"{_title(organization_id)}: the event {error} is unknown to this release. "
                    "Nothing was changed."
                ) from error
            seconds = time.monotonic() - started
            self.stdout.write(f"{_title(organization_id)}: {done.events} events in {seconds:.1f} s")
            verb = "would change" if dry_run else "changed"
            for found in done.differences:
                self.stdout.write(
                    f"  {found.table}: {verb} {found.total} rows ({found.missing} missing, "
                    f"{found.surplus} too many, {found.different} different)"
                )
            if not done.differences:
                self.stdout.write("  every projection was as the events say")

    def _refuse_broken(self, organization_id: UUID) -> None:
        report = verification.verify_chains(organization_id)
        if not report.clean:
            self._show(report)
            raise CommandError(
                "Projections are not rebuilt from a broken chain. Restore the events first, or "
                "add --unverified."
            )

    def _export(
        self, *, organization: str | None, since: int, output: Path | None, **_: Any
    ) -> None:
        organization_ids = self._organizations(organization)
        if output is None:
            for organization_id in organization_ids:
                for line in export.lines(organization_id, since=since):
                    self.stdout.write(line.decode(), ending="")
            return
        try:
            count = _write(output, organization_ids, since)
        except OSError as error:
            raise CommandError(f"{output}: {error.strerror or error}") from error
        self.stderr.write(f"{count} lines in {output}")

    def _tail(self, *, organization: str | None, n: int, **_: Any) -> None:
        for organization_id in self._organizations(organization):
            with scope.reading(organization_id):
                page = queries.history(organization_id, limit=n)
            for row in reversed(page.rows):
                reason = f"  ({row.reason})" if row.reason else ""
                self.stdout.write(
                    f"{row.position:>10}  {row.recorded_at:%Y-%m-%d %H:%M:%S}  "
                    f"{row.type:<26} {row.stream}  by {row.actor_label}{reason}"
                )

    def _events(self, **_: Any) -> None:
        self.stdout.write(catalogue.markdown(), ending="")

    def _organizations(self, name: str | None) -> list[UUID]:
        if name is None:
            return verification.organization_ids()
        organization_id = scope.named(name)
        if organization_id is None or organization_id not in verification.organization_ids():
            raise CommandError(f"There is no organization {name}.")
        return [organization_id]

    def _show(self, report: Report) -> None:
        lanes = "1 lane" if report.lanes == 1 else f"{report.lanes} lanes"
        counts = f"{_title(report.organization_id)}: {report.events} events in {lanes}"
        if report.clean:
            checks = ", ".join(report.checks)
            self.stdout.write(f"{counts}; {checks}: all right")
            return
        self.stdout.write(f"{counts}; NOT all right")
        for finding in report.findings:
            self.stdout.write(f"  {finding.check}: {_place(finding)}{finding.problem}")

    def _json(self, value: Any) -> None:
        self.stdout.write(json.dumps(value, indent=2, default=str))

    @contextmanager
    def _progress(self) -> Iterator[Callable[[str, int, int], None] | None]:
        """A line on standard error that is written over, when somebody looks at it."""
        stream: TextIO = self.stderr._out  # type: ignore[attr-defined]
        if not stream.isatty():
            yield None
            return
        next_at = 0.0

        def show(what: str, done: int, total: int) -> None:
            nonlocal next_at
            if (now := time.monotonic()) >= next_at:
                next_at = now + PROGRESS_SECONDS
                stream.write(f"\r{what}: {done:,} of {total:,} ({100 * done // max(total, 1)} %)")
                stream.flush()

        try:
            yield show
        finally:
            stream.write("\r\033[K")


def _write(output: Path, organization_ids: list[UUID], since: int) -> int:
    """Export into a file; returns the number of lines."""
    # Under another name until it is whole: half an export must not look like one.
    part = output.with_name(output.name + ".part")
    count = 0
    with part.open("wb") as file:
        for organization_id in organization_ids:
            for line in export.lines(organization_id, since=since):
                file.write(line)
                count += 1
    part.replace(output)
    return count


def _title(organization_id: UUID) -> str:
    """The slug as far as it is known: the row may be what is wrong. The id tells for certain."""
    with scope.reading(organization_id), server_cursor() as cursor:
        row = cursor.execute(
            "SELECT slug::text FROM tenancy_organization WHERE id = %b", (organization_id,)
        ).fetchone()
    return f"{row[0]} ({organization_id})" if row else str(organization_id)


def _rebuilt(
    organization_id: UUID, dry_run: bool, progress: Callable[[str, int, int], None] | None
) -> rebuild.Rebuilt:
    def replaying(done: int, total: int) -> None:
        if progress is not None:
            progress("replay", done, total)

    if not dry_run:
        return rebuild.rebuild(organization_id, progress=replaying)
    with scope.snapshot(organization_id):
        return rebuild.compare(organization_id, progress=replaying)


def _place(finding: Finding) -> str:
    if finding.lane_seq is None:
        return ""
    place = f"lane {finding.lane} seq {finding.lane_seq}"
    if finding.event_id is not None:
        place += f", position {finding.position}, {finding.event_type} {finding.event_id}"
    return f"{place}: "
