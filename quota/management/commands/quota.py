"""`manage.py quota import FILE` and `quota export`: the plan of an organization's quotas as YAML.

    manage.py quota import quotas.yaml --dry-run
    manage.py quota export > quotas.yaml

Applied whole or not at all; doing it twice changes nothing the second time.
"""

import sys
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ledger import scope
from ledger.errors import DomainError
from ledger.execution import Context, execute
from ledger.types import SYSTEM
from quota.commands.plans import ApplyQuotaPlan, PlanApplied
from quota.importers import formats, native
from quota.importers.plan import PlanReading, QuotaPlan
from quota.queries.plans import as_plan
from tenancy.shell import organization_meant

STANDARD_INPUT = "-"
BYTES_MAX = 64 * 2**20
PROBLEMS_SHOWN_MAX = 50
SHOWN_MAX = 50


class Command(BaseCommand):
    """Exit 0 when everything is now (or would be) as the file says, 1 with nothing applied."""

    help = "Import or export flavors, pools, accounts and quotas as a plan in YAML."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        importing = actions.add_parser("import", help="apply a plan, ours or Kueue's")
        importing.add_argument("file", help="the file, or - for standard input")
        importing.add_argument("--dry-run", action="store_true", help="show what would change")
        importing.add_argument(
            "--prune", action="store_true", help="take away quotas the file does not name"
        )
        importing.add_argument(
            "--accept-over-promise",
            action="store_true",
            help="let a pool shrink below its guarantees",
        )
        importing.add_argument(
            "--cluster",
            default=formats.CLUSTER_DEFAULT,
            help="cluster of new pools from Kueue objects",
        )
        importing.add_argument("--reason", help="kept with every change; else the file's name")
        exporting = actions.add_parser("export", help="write the plan of what stands")
        for one in (importing, exporting):
            one.add_argument(
                "--organization", metavar="SLUG", help="needed where there are several"
            )

    def handle(self, *args: Any, **options: Any) -> None:
        now = datetime.now(UTC)
        try:
            organization_id = organization_meant(options["organization"]).id
            if options["action"] == "export":
                with scope.reading(organization_id):
                    self.stdout.write(native.write(as_plan(organization_id, now=now)), ending="")
                return
            file = options["file"]
            plan = self._plan(file, formats.read(_read(file), cluster=options["cluster"]))
            command = ApplyQuotaPlan(
                plan=plan,
                prune=options["prune"],
                accept_over_promise=options["accept_over_promise"],
            )
            context = Context(
                organization_id=organization_id,
                actor=SYSTEM,
                now=now,
                dry_run=options["dry_run"],
                reason=options["reason"] or f"import of {Path(file).name}",
            )
            answer = execute(command, context).result
        except DomainError as error:
            raise CommandError(f"{error.detail} Nothing was changed.") from error
        self._changes(answer, dry_run=options["dry_run"])

    def _plan(self, file: str, reading: PlanReading) -> QuotaPlan:
        problems = reading.problems
        for problem in problems[:PROBLEMS_SHOWN_MAX]:
            value = f" [{problem.value}]" if problem.value else ""
            self.stderr.write(
                f"{file}:{problem.line}: {problem.field}: {problem.detail}{value} ({problem.code})"
            )
        if len(problems) > PROBLEMS_SHOWN_MAX:
            self.stderr.write(f"... and {len(problems) - PROBLEMS_SHOWN_MAX} more.")
        if reading.plan is None:
            count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
            raise CommandError(f"{file} has {count}. Nothing was changed.")
        left_out: dict[str, list[str]] = defaultdict(list)
        for one in reading.skipped:
            left_out[one.reason].append(f"{one.detail} (line {one.line})")
        for reason, found in left_out.items():
            more = f" and {len(found) - 5} more" if len(found) > 5 else ""
            self.stdout.write(f"Skipped, {reason}: {', '.join(found[:5])}{more}")
        return reading.plan

    def _changes(self, answer: PlanApplied, *, dry_run: bool) -> None:
        if not answer.counts:
            self.stdout.write("Everything is so already; nothing to change.")
            return
        for change in answer.changes[:SHOWN_MAX]:
            self.stdout.write(f"  {change.kind}: {change.name}  {change.detail}".rstrip())
        total = sum(answer.counts.values())
        if total > SHOWN_MAX:
            self.stdout.write(f"  ... and {total - SHOWN_MAX} more.")
        self.stdout.write("Would change:" if dry_run else "Changed:")
        for kind, count in answer.counts.items():
            self.stdout.write(f"  {count:>7}  {kind}")
        if answer.affected:
            self.stdout.write("What accounts could get (available, potential):")
        for one in answer.affected[:SHOWN_MAX]:
            self.stdout.write(
                f"  {one.pool} {one.account}: "
                f"available {one.available_before} -> {one.available_after}, "
                f"potential {one.potential_before} -> {one.potential_after}"
            )
        if answer.affected_count > SHOWN_MAX:
            self.stdout.write(f"  ... and {answer.affected_count - SHOWN_MAX} more.")
        if dry_run:
            self.stdout.write("This was a dry run; nothing was changed.")


def _read(file: str) -> str:
    """The file's text. Bytes that are no UTF-8 become U+FFFD, which no name may hold."""
    try:
        if file == STANDARD_INPUT:
            content = sys.stdin.buffer.read(BYTES_MAX + 1)
        else:
            with Path(file).open("rb") as stream:
                content = stream.read(BYTES_MAX + 1)
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror or error}") from error
    if len(content) > BYTES_MAX:
        raise CommandError(f"{file}: more than {BYTES_MAX} bytes")
    return content.decode("utf-8-sig", errors="replace")
