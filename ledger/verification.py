"""Proof that chains, projections and events agree, one organization at a time.

Everything of an organization is read in one snapshot while commands go on. Apps add checks of
their own (usage rows against their digests) through `register`; the ledger knows none of them.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from uuid import UUID

import msgspec
import psycopg
from django.db import connection

from ledger import chain, rebuild, scope, store
from ledger.errors import DomainError
from ledger.events import LaneHeadsRecorded
from ledger.sql import server_cursor

FINDINGS_MAX = 20
"""Findings kept of one check; the first is what matters."""

UNREADABLE = (
    psycopg.DataError,
    psycopg.IntegrityError,
    msgspec.MsgspecError,
    DomainError,
    LookupError,
    ValueError,
    ArithmeticError,
    TypeError,
)
"""What reading or projecting raises on rows that no append of ours can have written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong. `check` is chain, projections, or the name of an app's check."""

    check: str
    problem: str
    lane: UUID | None = None
    lane_seq: int | None = None
    position: int | None = None
    event_id: UUID | None = None
    event_type: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)


Verifier = Callable[[UUID], Iterable[Finding]]
Progress = Callable[[str, int, int], None]


@dataclass(slots=True, kw_only=True)
class Report:
    """What a verification of one organization looked at, and what it found."""

    organization_id: UUID
    events: int = 0
    lanes: int = 0
    checks: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings


_verifiers: dict[str, Verifier] = {}


def register(name: str, verifier: Verifier) -> None:
    """Add an app's check. It runs in the organization's snapshot and yields findings. Called by
    `config/wiring.py` only."""
    _verifiers[name] = verifier


def organization_ids() -> list[UUID]:
    """Every organization that has left a trace: in its own table, a lane or an event. More than
    `scope.organization_ids`, which would overlook one whose rows somebody removed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM ledger_traced_organization_ids() AS id ORDER BY id")
        return [row[0] for row in cursor.fetchall()]


def verify(organization_id: UUID, *, progress: Progress | None = None) -> Report:
    """Check everything about one organization, in one snapshot."""
    report = Report(organization_id=organization_id)
    checks: dict[str, Verifier] = {
        "chain": lambda _: _chains(report, progress),
        **_verifiers,
        "projections": lambda _: _projections(organization_id, progress),
    }
    with scope.snapshot(organization_id):
        for name, check in checks.items():
            report.checks.append(name)
            report.findings.extend(_guarded(name, check, organization_id))
    return report


def verify_chains(organization_id: UUID) -> Report:
    """Check only the chains: what a rebuild must be able to trust."""
    report = Report(organization_id=organization_id, checks=["chain"])
    with scope.snapshot(organization_id):
        report.findings.extend(_guarded("chain", lambda _: _chains(report, None), organization_id))
    return report


def _guarded(name: str, check: Verifier, organization_id: UUID) -> list[Finding]:
    """Findings of one check. A check that stumbles over what it reads is a finding as well, and
    keeps none of the others from running."""
    found: list[Finding] = []
    try:
        with _savepoint():
            found.extend(islice(check(organization_id), FINDINGS_MAX))
    except UNREADABLE as error:
        problem = f"the check stopped at something it cannot read: {_short(error)}"
        found.append(Finding(check=name, problem=problem))
    return found


@contextmanager
def _savepoint() -> Iterator[None]:
    """Undo what an interrupted check leaves behind, temporary tables say."""
    with server_cursor() as cursor:
        cursor.execute("SAVEPOINT ledger_check")
        try:
            yield
        except BaseException:
            cursor.execute("ROLLBACK TO SAVEPOINT ledger_check")
            raise
        cursor.execute("RELEASE SAVEPOINT ledger_check")


def _chains(report: Report, progress: Progress | None) -> Iterator[Finding]:
    """Every lane against its hashes, its head, and the heads that the main lane has recorded."""
    organization_id = report.organization_id
    heads = store.heads(organization_id)
    total = sum(seq for seq, _ in heads.values())
    for lane, head in heads.items():
        report.lanes += 1
        finding = _lane(report, lane, head, total, progress)
        if finding is not None:
            yield finding
    if organization_id not in heads:
        yield Finding(check="chain", problem="the main lane is gone", lane=organization_id)
    yield from _strays(organization_id)
    yield from _recorded_heads(organization_id)


def _lane(
    report: Report, lane: UUID, head: tuple[int, bytes], total: int, progress: Progress | None
) -> Finding | None:
    reached = 0

    def counted() -> Iterator[tuple[chain.Link, bytes, bytes]]:
        nonlocal reached
        for link in store.stored_links(report.organization_id, lane):
            reached = link[0].lane_seq
            report.events += 1
            if progress is not None:
                progress("chain", report.events, total)
            yield link

    try:
        broken = chain.first_break(lane, counted(), head=head)
    except UNREADABLE as error:
        problem = f"the event cannot be read: {_short(error)}"
        return _at(report.organization_id, lane, reached + 1, problem)
    if broken is None:
        return None
    return _at(report.organization_id, lane, broken.lane_seq, broken.problem)


def _at(organization_id: UUID, lane: UUID, lane_seq: int, problem: str) -> Finding:
    """A finding with what the event at that place (or the next one there is) says of itself."""
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT position, id, type FROM ledger_event WHERE organization_id = %b "
            "AND lane = %b AND lane_seq >= %b ORDER BY lane_seq LIMIT 1",
            (organization_id, lane, lane_seq),
        ).fetchone()
    position, event_id, event_type = row or (None, None, None)
    return Finding(
        check="chain",
        problem=problem,
        lane=lane,
        lane_seq=lane_seq,
        position=position,
        event_id=event_id,
        event_type=event_type,
    )


def _strays(organization_id: UUID) -> Iterator[Finding]:
    """Events in lanes that have no head: nothing else would ever look at them."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT e.lane, min(e.lane_seq), count(*) FROM ledger_event e "
            "LEFT JOIN ledger_lane l ON l.organization_id = e.organization_id AND l.lane = e.lane "
            "WHERE e.organization_id = %b AND l.lane IS NULL GROUP BY e.lane ORDER BY 1 LIMIT %b",
            (organization_id, FINDINGS_MAX),
        ).fetchall()
    for lane, first, count in rows:
        problem = f"{count} events are in a lane that has no head"
        yield _at(organization_id, lane, first, problem)


def _recorded_heads(organization_id: UUID) -> Iterator[Finding]:
    """What the main lane says of other lanes' heads against the events there. A lane that was cut
    off or written anew from its start, head included, fails here."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT e.position, e.id, e.type, e.lane_seq, (h->>'lane')::uuid, h->>'seq', "
            "  x.id IS NULL "
            "FROM ledger_event e CROSS JOIN LATERAL jsonb_array_elements(e.payload->'heads') h "
            "LEFT JOIN ledger_event x ON x.organization_id = e.organization_id "
            "  AND x.lane = (h->>'lane')::uuid AND x.lane_seq = (h->>'seq')::bigint "
            "WHERE e.organization_id = %b AND e.type = %b "
            "  AND encode(x.hash, 'hex') IS DISTINCT FROM h->>'hash' "
            "ORDER BY e.position LIMIT %b",
            (organization_id, LaneHeadsRecorded.event_type, FINDINGS_MAX),
        ).fetchall()
    for position, event_id, event_type, lane_seq, lane, seq, gone in rows:
        what = "is gone" if gone else "has another hash"
        yield Finding(
            check="chain",
            problem=f"event {seq} of lane {lane} {what}, other than recorded here",
            lane=organization_id,
            lane_seq=lane_seq,
            position=position,
            event_id=event_id,
            event_type=event_type,
        )


def _projections(organization_id: UUID, progress: Progress | None) -> Iterator[Finding]:
    def replaying(done: int, total: int) -> None:
        if progress is not None:
            progress("projections", done, total)

    for found in rebuild.compare(organization_id, progress=replaying).differences:
        where = f", in {', '.join(found.columns)}" if found.columns else ""
        yield Finding(
            check="projections",
            problem=(
                f"{found.table} is not what the events say: {found.missing} rows missing, "
                f"{found.surplus} too many, {found.different} different{where}; "
                f"for example {found.example}"
            ),
            facts={
                "table": found.table,
                "missing": found.missing,
                "surplus": found.surplus,
                "different": found.different,
                "columns": list(found.columns),
                "example": found.example,
            },
        )


def _short(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
