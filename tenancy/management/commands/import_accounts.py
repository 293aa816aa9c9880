"""`manage.py import_accounts FILE`: make the tree of an organization like that of a file."""

import gzip
import io
import sys
import zlib
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ledger import scope
from ledger.errors import DomainError, Invalid, Refused
from ledger.execution import Context, execute
from ledger.ids import new_id
from ledger.types import SYSTEM
from tenancy import queries
from tenancy.commands.imports import CHANGES_LISTED_MAX, ImportTree, TreeImported, summarized
from tenancy.commands.organizations import CreateOrganization
from tenancy.importers import diff
from tenancy.importers.formats import FORMATS, guess
from tenancy.importers.tree import TreePlan, TreeReading, TreeSkipped
from tenancy.shell import organization_meant

STANDARD_INPUT = "-"
BYTES_MAX = 512 * 2**20
GZIP_MAGIC = b"\x1f\x8b"
PROBLEMS_SHOWN_MAX = 50
SKIPPED_SHOWN_MAX = 5


class Command(BaseCommand):
    """Exit 0 when the tree is now (or would be) as the file says, 1 with nothing applied."""

    help = (
        "Apply a sacctmgr dump, a YAML or a CSV file to an organization's accounts, people and "
        "shares. Running it again changes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="the file, gzip or not, or - for standard input")
        parser.add_argument("--organization", metavar="SLUG", help="needed where there are several")
        parser.add_argument("--format", choices=("auto", *FORMATS), default="auto")
        parser.add_argument("--dry-run", action="store_true", help="show what would change")
        parser.add_argument(
            "--archive-missing", action="store_true", help="archive accounts the file does not name"
        )
        parser.add_argument(
            "--end-missing", action="store_true", help="end people's places it does not name"
        )
        creating = parser.add_argument_group("a new organization")
        creating.add_argument(
            "--create-organization",
            action="store_true",
            help="make the organization if there is none of that slug",
        )
        creating.add_argument("--name", help="its name (the slug if left out)")
        creating.add_argument("--currency", help="such as EUR; cannot be changed later")
        creating.add_argument(
            "--time-zone", help="of its bills, such as Europe/Berlin; cannot be changed later"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        file, dry_run = options["file"], options["dry_run"]
        lines = _read(file)
        form = options["format"]
        if form == "auto":
            form = guess(file.removesuffix(".gz"), lines)
        reading = FORMATS[form](lines)
        if reading.plan is None:
            self._fail(file, reading)
        plan = reading.plan
        if not plan.accounts and (not plan.people or options["archive_missing"]):
            raise CommandError(f"{file} ({form}) names no account. Nothing was changed.")
        try:
            answer = self._apply(plan, options, reason=f"import of {Path(file).name}")
        except DomainError as error:
            raise CommandError(f"{error.detail} The tree was not changed.") from error
        self.stdout.write(
            f"{file} ({form}): {len(plan.accounts)} accounts, {len(plan.people)} people, "
            f"{len(plan.associations)} places."
        )
        self._skipped(reading.skipped)
        self._changes(answer, dry_run=dry_run)

    def _apply(self, plan: TreePlan, options: dict[str, Any], *, reason: str) -> TreeImported:
        dry_run = options["dry_run"]
        organization_id = self._organization(options, reason=reason)
        if organization_id is None:
            return summarized(diff.changes(current=TreePlan(), wanted=plan))
        command = ImportTree(
            wanted=plan,
            archive_missing=options["archive_missing"],
            end_missing=options["end_missing"],
        )
        context = Context(
            organization_id=organization_id, actor=SYSTEM, dry_run=dry_run, reason=reason
        )
        return execute(command, context).result

    def _organization(self, options: dict[str, Any], *, reason: str) -> UUID | None:
        """Which one, made if asked; None in a dry run that would make it."""
        slug = options["organization"]
        if not options["create_organization"]:
            return organization_meant(slug).id
        if not (slug and options["currency"] and options["time_zone"]):
            raise Invalid(
                "organization_facts",
                "A new organization needs --organization, --currency and --time-zone.",
            )
        known = queries.organization_id_by_slug(slug)
        if known is not None:
            _check_fixed(known, options)
            return known
        context = Context(
            organization_id=new_id(),
            actor=SYSTEM,
            now=datetime.now(UTC),
            dry_run=options["dry_run"],
            reason=reason,
        )
        execute(
            CreateOrganization(
                slug=slug,
                name=options["name"] or slug,
                currency=options["currency"],
                time_zone=options["time_zone"],
            ),
            context,
        )
        would = "Would create" if options["dry_run"] else "Created"
        self.stdout.write(f"{would} organization {slug}.")
        return None if options["dry_run"] else context.organization_id

    def _fail(self, file: str, reading: TreeReading) -> None:
        problems = reading.problems
        for problem in problems[:PROBLEMS_SHOWN_MAX]:
            value = f" [{problem.value}]" if problem.value else ""
            self.stderr.write(
                f"{file}:{problem.line}: {problem.field}: {problem.detail}{value} ({problem.code})"
            )
        more = len(problems) - PROBLEMS_SHOWN_MAX
        if more > 0:
            self.stderr.write(f"... and {more} more.")
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise CommandError(f"{file} has {count}. Nothing was changed.")

    def _skipped(self, skipped: tuple[TreeSkipped, ...]) -> None:
        by_reason: dict[str, list[TreeSkipped]] = defaultdict(list)
        for one in skipped:
            by_reason[one.reason].append(one)
        for reason, found in sorted(by_reason.items()):
            self.stdout.write(f"Skipped, {reason}: {len(found)}")
            for one in found[:SKIPPED_SHOWN_MAX]:
                self.stdout.write(f"  line {one.line}: {one.detail}")

    def _changes(self, answer: TreeImported, *, dry_run: bool) -> None:
        if not answer.counts:
            self.stdout.write("Everything is so already; nothing to change.")
            return
        for change in answer.changes:
            self.stdout.write(f"  {change.kind}: {change.name}  {change.detail}".rstrip())
        if answer.total > CHANGES_LISTED_MAX:
            self.stdout.write(f"  ... and {answer.total - CHANGES_LISTED_MAX} more.")
        self.stdout.write("Would change:" if dry_run else "Changed:")
        for kind, count in answer.counts.items():
            self.stdout.write(f"  {count:>7}  {kind}")
        if dry_run:
            self.stdout.write("This was a dry run; nothing was changed.")


def _check_fixed(organization_id: UUID, options: dict[str, Any]) -> None:
    """What statements stand on never changes: amounts of two currencies could not be added, and
    months of two time zones would overlap.

    Raises:
        Refused: `currency_fixed`, `time_zone_fixed`.
    """
    with scope.reading(organization_id):
        facts = queries.organization(organization_id)
    for name, words in (("currency", "currency"), ("time_zone", "time zone")):
        have = getattr(facts, name)
        if options[name] != have:
            raise Refused(
                f"{name}_fixed",
                f"The {words} of {facts.slug} is {have} for good. Leave it as it is, or create "
                "another organization.",
                field=name,
                facts={name: have},
            )


def _read(file: str) -> list[str]:
    """The lines, of a gzip file too. Bytes that are no UTF-8 become U+FFFD: no name may hold it."""
    try:
        if file == STANDARD_INPUT:
            content = sys.stdin.buffer.read(BYTES_MAX + 1)
        else:
            with Path(file).open("rb") as stream:
                content = stream.read(BYTES_MAX + 1)
        if content.startswith(GZIP_MAGIC):
            with gzip.open(io.BytesIO(content)) as stream:
                content = stream.read(BYTES_MAX + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise CommandError(f"{file}: {getattr(error, 'strerror', None) or error}") from error
    if len(content) > BYTES_MAX:
        raise CommandError(f"{file}: more than {BYTES_MAX} bytes")
    text = content.decode("utf-8-sig", errors="replace")
    return text.replace("\r\n", "\n").split("\n")
