"""Who sees which review cycles over REST, and how they are told."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.http import HttpRequest

from ledger import scope
from ledger.errors import Denied
from ledger.types import ActorKind
from quota.api import cycles_wire as wire
from quota.api.reading import fields_of
from quota.api.requests_reading import RequestOperation
from quota.loading import cycles as loading
from quota.queries.cycle_entries import EntryRow
from quota.queries.cycles import CycleRow, Viewer, cycle, viewer
from quota.queries.short_names import short_names
from tenancy.domain.roles import LEDGER_READ, granting

_CYCLE = ("id", "account", "name", "state", "deadline", "window_days", "quota_count", "decided")
_CYCLE += ("asked", "answered", "reason", "opened_at", "ended_at", "end_reason", "changed", "kept")
_CYCLE += ("undecided", "impossible", "may_close")
_QUOTA = ("account", "pool", "listed", "guaranteed", "ends_at", "state", "version", "decision")
_QUOTA += ("units", "reason", "moved_at", "question", "answer", "answer_units", "outcome", "before")
_QUOTA += ("after", "detail", "may_decide", "may_answer")


class CycleOperation(RequestOperation):
    """What operations on review cycles share. Helpers run inside `scope.reading` unless they say
    so."""

    def viewer(self, caller) -> Viewer:
        """What the caller sees and does. A machine with `export:read` sees everything and decides
        nothing.

        Raises:
            Denied: nothing at all.
        """
        actor = caller.actor
        if actor.kind == ActorKind.TOKEN:
            self.authorize_reading(caller, None)
            root, _ = loading.root_and_zone(caller.organization_id)
            return Viewer(sees=(root,), reviews=(), leads=())
        who = viewer(caller.organization_id, actor)
        if not who.sees:
            raise Denied(
                "role_missing",
                "Reviews of quotas are shown to those who lead, review or audit some account.",
                facts={"permission": LEDGER_READ, "roles": list(granting(LEDGER_READ))},
            )
        return who

    def pool_ids(self, caller) -> frozenset[UUID] | None:
        """Pools that a token is bound to; None: all."""
        bound = caller.actor.pool_ids
        return None if bound is None else frozenset(bound)

    def visible(self, caller, cycle_id: UUID) -> tuple[CycleRow, Viewer]:
        """A cycle and what the caller may see of it.

        Raises:
            NotFound: there is none, or not for them. Denied: they see none at all.
        """
        who = self.viewer(caller)
        return cycle(caller.organization_id, cycle_id, who), who

    def acting(self, request: HttpRequest, cycle_id: UUID):
        """The caller, a person who sees the cycle; opens transactions of its own.

        Raises:
            Denied: a machine. NotFound: as `visible`.
        """
        caller = self.caller(request)
        self.person(caller)
        with scope.reading(caller.organization_id):
            self.visible(caller, cycle_id)
        return caller


def summaries(organization_id: UUID, rows: Sequence[CycleRow]) -> list[wire.CycleSummary]:
    """Cycles as they are told."""
    people = [one for row in rows for one in (row.opened_by_id, row.ended_by_id)]
    names = short_names(organization_id, people)
    return [
        wire.CycleSummary(
            **fields_of(row, _CYCLE),
            opened_by=names.get(row.opened_by_id) if row.opened_by_id else None,
            ended_by=names.get(row.ended_by_id) if row.ended_by_id else None,
        )
        for row in rows
    ]


def quotas(organization_id: UUID, rows: Sequence[EntryRow]) -> list[wire.CycleQuota]:
    """Quotas of a cycle as they are told."""
    people = [one for row in rows for one in (row.reviewer_id, row.answered_by_id)]
    names = short_names(organization_id, people)
    told: list[wire.CycleQuota] = []
    for row in rows:
        values: dict[str, Any] = fields_of(row, _QUOTA)
        told.append(
            wire.CycleQuota(
                **values,
                stale=row.is_stale,
                reviewer=names.get(row.reviewer_id) if row.reviewer_id else None,
                answered_by=names.get(row.answered_by_id) if row.answered_by_id else None,
                use=row.figures,
            )
        )
    return told
