"""`GET /api/v1/fairshare`: the tree as `sshare -l -a` shows it, as JSON or parsable text."""

import math
import time
from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse

from accounting.api import examples
from accounting.api.instants import standing_at
from accounting.fairshare_state import State, current
from accounting.queries.fairshare import NodeRow, tree_rows
from accounting.wire_answers import FairsharePage, node
from config.api import cursors, parameters
from config.api.operation import JSON, Operation
from config.api.schema import INSTANT, describe, paging, query
from ledger.errors import Conflict, NotFound
from tenancy.domain.roles import Scope

TEXT = "text/plain"
LIMIT_DEFAULT = 1_000
LIMIT_MAX = 10_000
COLUMNS = "Account|User|RawShares|NormShares|RawUsage|NormUsage|EffectvUsage|FairShare|LevelFS"


class FairshareOperation(Operation):
    """Read everybody's standing."""

    parameters = frozenset({"account", "at", "cursor", "limit"})
    offers = (JSON, TEXT)

    @describe(
        "readFairshare",
        tag="fairshare",
        summary="The fair-share tree, as sshare shows it",
        gives=FairsharePage,
        also_gives={TEXT: "Lines like those of `sshare -l -a -P`, the whole tree at once."},
        parameters=(
            query("account", "Only this account and what is below it."),
            query("at", "The instant to tell it for; now if absent.", **INSTANT),
            *paging(LIMIT_MAX, LIMIT_DEFAULT, entries="Nodes"),
        ),
        problems=(404, 409),
        examples=(examples.FAIRSHARE, examples.SSHARE),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """Shares, usage, level and factor of every account and person, depth first."""
        caller = self.caller(request)
        account = parameters.text(request, "account")
        at = parameters.instant(request, "at")
        # Before anything that costs: an instant in the past is worked out from all records.
        self._check_may(caller, current(caller.organization_id), account)
        at, state, standing = standing_at(caller.organization_id, at, now=int(time.time()))
        if request.get_preferred_type(self.offers) == TEXT:
            body = sshare(tree_rows(state, standing, account=account))
            return self.respond_bytes(body.encode(), content_type=f"{TEXT}; charset=utf-8")
        limit = parameters.integer(request, "limit", low=1, high=LIMIT_MAX, default=LIMIT_DEFAULT)
        first = _first(request, state)
        rows = tree_rows(state, standing, account=account, first=first, limit=limit + 1)
        more = len(rows) > limit
        following = [first + limit, state.versions.tree]
        return self.respond(
            FairsharePage(
                at=datetime.fromtimestamp(at, UTC),
                algorithm=state.algorithm,
                half_life_days=state.half_life.days,
                versions=state.versions,
                nodes=[node(row) for row in rows[:limit]],
                next=cursors.next_address(request, following) if more else None,
            )
        )

    def _check_may(self, caller, state: State, account: str | None) -> None:
        """A machine sees the whole tree; a person what a role covers."""
        if account is None:
            self.require(caller, Scope.PRIORITY_READ)
            return
        index = state.names.account_by_name.get(account)
        if index is None:
            self.require(caller, Scope.PRIORITY_READ)
            raise NotFound(
                "account_unknown", f"There is no open account {account}.", field="account"
            )
        self.require(caller, Scope.PRIORITY_READ, state.names.account_ids[index])


def _first(request: HttpRequest, state: State) -> int:
    """Where the page begins. Places move when the tree changes, so a cursor ends with it."""
    found = cursors.read(request, list[int], length=2)
    if found is None:
        return 0
    first, tree_version = found
    if tree_version != state.versions.tree:
        raise Conflict(
            "tree_changed",
            "The tree has changed since the first page. Start again without cursor.",
            field="cursor",
        )
    return first


def sshare(rows: list[NodeRow]) -> str:
    """As `sshare -l -a -P` prints: accounts indented by depth, empty where there is no value.

    Usage is in decayed unit-seconds. Slurm shows no factor for an account, nor do we.
    """
    lines = [COLUMNS]
    lines += [
        "|".join(
            (
                " " * (row.depth - bool(row.person)) + row.account,
                row.person,
                "parent" if row.shares is None else str(row.shares),
                f"{row.norm_shares:.6f}",
                f"{row.usage:.0f}",
                f"{row.norm_usage:.6f}",
                f"{row.effective_usage:.6f}",
                f"{row.fairshare:.6f}" if row.person else "",
                "" if math.isnan(row.level_fs) else f"{row.level_fs:.6f}",
            )
        )
        for row in rows
    ]
    return "\n".join(lines) + "\n"
