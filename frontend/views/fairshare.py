"""The fair-share explorer, and the explanation of one person's number down to the records.

Whoever has a role or works under an account sees the accounts: a place in the tree means nothing
without the others. People are seen with a role on their account or above it, and everybody sees
themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from urllib.parse import urlencode

from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounting.domain.fairshare import NO_PARENT, Fairshare
from accounting.fairshare_state import State
from accounting.queries import fairshare
from accounting.queries.fairshare import NodeRow
from accounting.queries.usage import DAYS_MAX
from frontend import explanations, parameters
from frontend.pages import Page, PageRequest, page, render
from frontend.standing import path_to, scale_of
from ledger.errors import Denied, NotFound
from tenancy import policy
from tenancy.domain.roles import LEDGER_READ, READ, granting

OPEN_MAX = 40
CHILDREN_SHOWN_MAX = 200
WEIGHING_HALF_LIVES = 10
SORTS = ("name", "place", "use")


@dataclass(frozen=True, slots=True)
class TreeLine:
    """A row of the explorer. `toggle` opens or closes an account; `records` lists what its use came
    from, for those who may see that; `hidden` counts what is not shown: people the viewer may not
    see, or rows beyond the bound."""

    row: NodeRow
    scale: float
    is_open: bool = False
    toggle: str = ""
    is_me: bool = False
    hidden: int = 0
    hidden_why: str = ""
    records: str = ""


@require_safe
@page()
def explorer(request: PageRequest) -> HttpResponse:
    """The tree: share against use, level, factor and rank; at any instant (`at`)."""
    here = request.page
    at, chosen_at = _instant(request)
    sort = parameters.choice(request.GET, "sort", SORTS, "name")
    state, result = fairshare.standing(here.id, at=at, now=here.now)
    _require_a_part(here, state)
    opened = _opened(request, state)
    tree = _Tree(here, state, result, opened, sort=sort, at=chosen_at, until=at)
    return render(
        request,
        "fairshare.html",
        {
            "lines": tree.lines(),
            "state": state,
            "at": at,
            "chosen_at": chosen_at,
            "at_field": f"{at.astimezone(here.zone):%Y-%m-%dT%H:%M}" if chosen_at else "",
            "sort": sort,
            "sorts": [(name, tree.address(opened, sort=name)) for name in SORTS],
            "opened": sorted(opened),
            "people_count": state.tree.person_count,
            "algorithm": explanations.ALGORITHM_NAMES[state.algorithm],
            "partials": ("tree",),
        },
    )


@require_safe
@page()
def explanation(request: PageRequest, account: str, person: str) -> HttpResponse:
    """Why a person stands where they stand."""
    here = request.page
    at, chosen_at = _instant(request)
    state, result = fairshare.standing(here.id, at=at, now=here.now)
    index = state.names.account_by_name.get(account)
    if index is None:
        raise NotFound("account_unknown", f"There is no open account {account}.")
    number = state.names.person_by_name.get((account, person))
    me = number is not None and state.names.person_ids[number] == here.actor.id
    if not me:
        here.require(READ, state.names.account_ids[index])
    found = fairshare.explain_person(here.id, state, result, account=account, person=person, at=at)
    steps = explanations.steps(found, at=chosen_at)
    return render(
        request,
        "explanation.html",
        {
            "found": found,
            "account_id": state.names.account_ids[index],
            "steps": steps,
            "last": found.steps[-1][1],
            "usage": found.steps[-1][1].usage,
            "algorithm": explanations.ALGORITHM_NAMES[found.algorithm],
            "policy_terms": explanations.priority_terms(state.policy, found.steps[-1][1].fairshare),
            "records": found.records,
            "sees_event": LEDGER_READ in here.held,
            "at": at,
            "chosen_at": chosen_at,
        },
    )


def _instant(request: PageRequest) -> tuple[datetime, str]:
    """The instant asked for and how links name it; the present without one."""
    given = parameters.moment(request.GET, "at", request.page.zone)
    if given is None:
        return request.page.now, ""
    return given, given.isoformat().replace("+00:00", "Z")


def _require_a_part(here: Page, state: State) -> None:
    if READ not in here.held and here.actor.id not in state.names.person_ids:
        roles = granting(READ)
        raise Denied(
            "role_missing",
            "The fair-share tree is for people with a role or a place on some account.",
            facts={"permission": READ, "roles": list(roles)},
        )


def _opened(request: PageRequest, state: State) -> frozenset[str]:
    """Accounts to open: those named with all above them; at first the top and the way to mine."""
    names = state.names
    wanted = [name for name in request.GET.getlist("open")[:OPEN_MAX] if name]
    unknown = [name for name in wanted if name not in names.account_by_name]
    if unknown:
        raise NotFound("account_unknown", f"There is no open account {unknown[0][:80]}.")
    opened: set[int] = set()
    for name in wanted:
        opened.update(path_to(state, names.account_by_name[name]))
    if "open" not in request.GET:
        opened.update(
            index for index, above in enumerate(names.account_parents) if above == NO_PARENT
        )
        me = request.page.actor.id
        mine = [
            names.person_accounts[index] for index, one in enumerate(names.person_ids) if one == me
        ]
        for account in mine[:OPEN_MAX]:
            opened.update(path_to(state, account))
    return frozenset(names.account_names[index] for index in opened)


class _Tree:
    """Walks the open part of the tree, depth first, siblings compared on one scale."""

    def __init__(
        self,
        here: Page,
        state: State,
        result: Fairshare,
        opened: frozenset[str],
        *,
        sort: str,
        at: str,
        until: datetime,
    ) -> None:
        self.here, self.state, self.result = here, state, result
        self.until = until
        self.opened, self.sort, self.at = opened, sort, at

    @cached_property
    def seen_with_people(self) -> frozenset:
        """Accounts whose people the viewer may see, with all below."""
        return frozenset(policy.accounts_with(self.here.actor, READ, self.here.id))

    def address(self, opened: Sequence[str] | frozenset[str], *, sort: str | None = None) -> str:
        """The explorer with these accounts open."""
        pairs = [("open", name) for name in sorted(opened)] or [("open", "")]
        pairs += [("sort", sort or self.sort)] if (sort or self.sort) != "name" else []
        pairs += [("at", self.at)] if self.at else []
        return f"{reverse('fairshare')}?{urlencode(pairs)}"

    def lines(self) -> list[TreeLine]:
        """Rows in the order of the page."""
        rows = fairshare.account_rows(self.state, self.result, NO_PARENT)
        return self._level(rows, may_see_people=False)

    def _level(self, rows: list[NodeRow], *, may_see_people: bool) -> list[TreeLine]:
        scale = scale_of(rows)
        accounts = self._sorted([row for row in rows if row.person_id is None])
        people = self._sorted([row for row in rows if row.person_id is not None])
        me = self.here.actor.id
        seen = people if may_see_people else [row for row in people if row.person_id == me]
        lines = [
            TreeLine(
                row,
                scale,
                is_me=row.person_id == me,
                records=self._records(row) if may_see_people else "",
            )
            for row in seen[:CHILDREN_SHOWN_MAX]
        ]
        for row in accounts[:CHILDREN_SHOWN_MAX]:
            lines += self._account(row, scale, may_see_people=may_see_people)
        if lines and len(people) > len(seen):
            lines.append(self._rest(rows[-1], len(people) - len(seen), "not shown to you"))
        beyond = max(len(seen) - CHILDREN_SHOWN_MAX, 0) + max(len(accounts) - CHILDREN_SHOWN_MAX, 0)
        if beyond:
            lines.append(self._rest(rows[-1], beyond, "more; search finds them"))
        return lines

    def _account(self, row: NodeRow, scale: float, *, may_see_people: bool) -> list[TreeLine]:
        is_open = row.account in self.opened
        may_see = may_see_people or row.account_id in self.seen_with_people
        line = TreeLine(
            row,
            scale,
            is_open=is_open,
            toggle=self._toggle(row, is_open=is_open),
            records=self._records(row) if may_see else "",
        )
        if not is_open or not row.has_children:
            return [line]
        index = self.state.names.account_by_name[row.account]
        below = fairshare.account_rows(self.state, self.result, index)
        inner = self._level(below, may_see_people=may_see)
        if not inner and below:
            inner = [self._rest(below[0], len(below), "not shown to you")]
        return [line, *inner]

    def _records(self, row: NodeRow) -> str:
        """Records of the days that still weigh anything worth telling."""
        days = min(self.state.half_life.days * WEIGHING_HALF_LIVES, DAYS_MAX - 1)
        until = self.until.astimezone(self.here.zone).date()
        values = {"account": row.account, "person": row.person or ""}
        values |= {"since": str(until - timedelta(days=int(days))), "until": str(until)}
        given = {name: value for name, value in values.items() if value}
        return f"{reverse('usage_records')}?{urlencode(given)}"

    def _toggle(self, row: NodeRow, *, is_open: bool) -> str:
        if not is_open:
            return self.address(self.opened | {row.account})
        inside = {
            name
            for name in self.opened
            if self.state.names.account_by_name[row.account]
            in path_to(self.state, self.state.names.account_by_name[name])
        }
        return self.address(self.opened - inside)

    def _sorted(self, rows: list[NodeRow]) -> list[NodeRow]:
        if self.sort == "place":
            return sorted(rows, key=lambda row: (-row.rank, row.account, row.person))
        if self.sort == "use":
            return sorted(rows, key=lambda row: (-row.usage, row.account, row.person))
        return sorted(rows, key=lambda row: (row.account, row.person))

    @staticmethod
    def _rest(row: NodeRow, count: int, why: str) -> TreeLine:
        return TreeLine(row, 1.0, hidden=count, hidden_why=why)
