"""Rules of use-it-or-lose-it: the organization's and each pool's own, with what they would have
done on past use before they are saved, and who set them when."""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from itertools import zip_longest
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from frontend import parameters, reclaim_words
from frontend.forms.reclaim import RuleForm, WhyForm, initial_of
from frontend.forms.sending import (
    Sent,
    changed_meanwhile,
    form_status,
    saving,
    send,
    version_of,
    version_seen,
)
from frontend.history import names_for, sentence
from frontend.pages import Page, PageRequest, page, render
from frontend.views.capacity import pool_named, readable, seen_by
from ledger import scope
from ledger.errors import NotFound, Refused
from ledger.ids import new_id
from ledger.queries import EventRow
from ledger.queries import history as ledger_history
from preemption import reclaim_loading as loading
from preemption import reclaim_queries as queries
from preemption.commands.reclaim_rules import DropReclaimRule, SetReclaimRule, rule_of
from preemption.reclaim_events import ReclaimRuleDropped
from preemption.reclaim_loading import PoolRule
from preemption.reclaim_queries import WouldHave
from quota.queries import PoolRow, pools_with_weights
from tenancy import queries as tenancy
from tenancy.domain.roles import LEDGER_READ, POOL_WRITE

HISTORY_SHOWN: Final = 20
TRIED_SHOWN: Final = 50
EXEMPT_SHOWN: Final = 50
_FIELDS: Final = {"exempt_ids": "exempt", "watch_part": "watch_seconds"}
_UNSET: Final = "(not set)"
_DROPPED: Final = ReclaimRuleDropped.event_type


@dataclass(frozen=True, slots=True)
class Tried:
    """What a rule would have done, all together and one by one.

    Attributes:
        watched, demoted, left: guarantees that would have been; `left`: left alone.
        worth: of all units that would have left, a month; None: some are unrated.
    """

    days: int
    rows: tuple[WouldHave, ...]
    count: int
    watched: int
    demoted: int
    left: int
    units: int
    worth: Decimal | None

    @property
    def more(self) -> int:
        """Guarantees that are not shown."""
        return self.count - len(self.rows)


@dataclass(frozen=True, slots=True)
class Version:
    """A change of the rule, in words. `changes`: terms with before and after."""

    event: EventRow
    sentence: str
    changes: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Of:
    """Whose rule it is: a pool's own, or, without a pool, the organization's."""

    organization_id: UUID
    pool: PoolRow | None

    @property
    def stream(self) -> str:
        """Of the rule's events."""
        of = self.organization_id if self.pool is None else self.pool.id
        return f"reclaim_rule:{of}"

    @property
    def address(self) -> str:
        """Of its page."""
        if self.pool is None:
            return reverse("reclaim_default")
        return reverse("reclaim_rule", args=[self.pool.name])

    def stands(self) -> PoolRule:
        """The rule that holds. Inside `scope.reading`."""
        if self.pool is None:
            return loading.default_rule(self.organization_id)
        return loading.rule(self.organization_id, self.pool.id)

    def pools(self) -> dict[UUID, str]:
        """Names of the pools in which a rule set here would hold. Inside `scope.reading`."""
        if self.pool is None:
            return queries.followers(self.organization_id)
        return {self.pool.id: self.pool.name}


@require_safe
@page()
def reclaim_rules(request: PageRequest) -> HttpResponse:
    """The organization's rule, and every pool with its own or that one."""
    here = request.page
    readable(here)
    found = loading.rules(here.id)
    default = loading.default_rule(here.id)
    return render(
        request,
        "reclaim/rules.html",
        {
            "default": default,
            "default_window": _maintenance(here, default),
            "lines": [
                (one, found.get(one.id), _maintenance(here, found.get(one.id)))
                for one in pools_with_weights(here.id)
            ],
            "may_change": _may_change(here),
        },
    )


@require_http_methods(["GET", "HEAD", "POST"])
@page(reads=False)
def reclaim_default(request: PageRequest) -> HttpResponse:
    """The organization's rule, tried on all pools that follow it, and its history."""
    return _rule_page(request, None)


@require_http_methods(["GET", "HEAD", "POST"])
@page(reads=False)
def reclaim_rule(request: PageRequest, pool: str) -> HttpResponse:
    """A pool's rule and its history; for operators its form: tried as it is typed, saved once."""
    return _rule_page(request, pool)


@require_POST
@page(reads=False)
def reclaim_follow(request: PageRequest, pool: str) -> HttpResponse:
    """A pool gives its own rule up and follows the organization's."""
    here = request.page
    with scope.reading(here.id):
        readable(here)
        here.require(POOL_WRITE, here.organization.root_account_id)
        of = pool_named(here, pool)
    form = WhyForm(request.POST)
    if not form.is_valid():
        messages.error(request, f"{of.name} keeps its own rule: say why it should not.")
        return HttpResponseRedirect(reverse("reclaim_rule", args=[of.name]))
    command = DropReclaimRule(pool_id=of.id, expected_version=version_seen(request))
    sent = send(request, form, command)
    if sent.notice:
        messages.error(request, f"{of.name} keeps its own rule: somebody changed it meanwhile.")
    elif sent.result is not None and sent.result.changed:
        messages.success(request, f"{of.name} follows the organization's rule from now on.")
    else:
        messages.info(request, f"{of.name} follows the organization's rule already.")
    return HttpResponseRedirect(reverse("reclaim_rule", args=[of.name]))


def _rule_page(request: PageRequest, pool: str | None) -> HttpResponse:
    here = request.page
    posted, save = request.method == "POST", saving(request)
    with scope.reading(here.id):
        seen = seen_by(here, readable(here))
        if posted:
            here.require(POOL_WRITE, here.organization.root_account_id)
        of = Of(here.id, None if pool is None else pool_named(here, pool))
        stands = of.stands()
        version = version_of(here, of.stream)
        names = queries.names(here.id, list(stands.exempt_ids))
        may_change = _may_change(here)
        initial = {} if posted or not may_change else initial_of(stands, names, zone=here.zone)
    form = RuleForm(request.POST if posted else None, zone=here.zone, saving=save, initial=initial)
    sent, tried, notice = Sent(None, form_key=request.POST.get("key") or new_id()), None, ""
    command = _command(here, of, form, request) if posted and form.is_valid() else None
    if command is not None:
        with scope.reading(here.id):
            notice = changed_meanwhile(here, of.stream, version_seen(request))
        if not (save and notice):
            sent = send(request, form, command, field_of=lambda name: _FIELDS.get(name, name))
        if sent.result is not None and save:
            _say(request, of, form, changed=sent.result.changed)
            return HttpResponseRedirect(of.address)
        if not form.errors:
            tried = _try(here, of, form, rule_of(command))
    with scope.reading(here.id):
        before = parameters.whole(request.GET, "before")
        history = ledger_history(
            here.id, stream=of.stream, before_position=before, limit=HISTORY_SHOWN + 1
        )
        versions = _versions(here, history.rows)
    return render(
        request,
        "reclaim/rule.html",
        {
            "pool": of.pool,
            "subject": "the organization" if of.pool is None else of.pool.name,
            "rule": stands,
            "rule_lines": reclaim_words.lines_of(stands),
            "exempt": _exempt(stands, names, seen),
            "may_change": may_change,
            "form": form,
            "form_key": sent.form_key,
            "version": version,
            "notice": notice or sent.notice,
            "preview": tried,
            "unchanged": sent.result is not None and not sent.result.changed,
            "currency": here.organization.currency,
            "versions": versions[:HISTORY_SHOWN],
            "sees_event": LEDGER_READ in here.held,
            "first_page": before is None,
            "next": len(history.rows) > HISTORY_SHOWN
            and f"{request.path}?before={history.rows[HISTORY_SHOWN - 1].position}",
            "address": of.address,
            "back": reverse("reclaim_rules"),
            "partials": ("preview", "history"),
        },
        status=form_status(request, form, notice=(notice or sent.notice) if save else ""),
    )


def _may_change(here: Page) -> bool:
    return here.may(POOL_WRITE, here.organization.root_account_id)


def _maintenance(here: Page, rule: PoolRule | None) -> tuple[Any, Any] | None:
    """The window that runs or comes next."""
    windows = () if rule is None else rule.maintenance
    return next(((low, high) for low, high in windows if here.now < high), None)


def _exempt(rule: PoolRule, names: dict[UUID, str], seen: Any) -> tuple[list[str], int]:
    """Exempt accounts that the viewer may see by name, and how many others there are."""
    shown = sorted(names[one] for one in rule.exempt_ids if one in names and seen(one))
    return shown[:EXEMPT_SHOWN], len(rule.exempt_ids) - len(shown[:EXEMPT_SHOWN])


def _command(here: Page, of: Of, form: RuleForm, request: PageRequest) -> SetReclaimRule | None:
    """What the valid form asks for; None: an account that it names is not there."""
    found = []
    with scope.reading(here.id):
        for name in form.names():
            try:
                found.append(tenancy.account_by_name(here.id, name).id)
            except NotFound:
                form.add_error("exempt", f"There is no account {name}. Take it out, or correct it.")
    if form.errors:
        return None
    pool_id = None if of.pool is None else of.pool.id
    return form.command(pool_id, found, version=version_seen(request) if saving(request) else None)


def _say(request: PageRequest, of: Of, form: RuleForm, *, changed: bool) -> None:
    if not changed:
        messages.info(request, "The rule is so already; nothing was changed.")
        return
    on = "is on from the next run on" if form.cleaned_data["enabled"] else "is kept, and off"
    name = "the organization" if of.pool is None else of.pool.name
    messages.success(request, f"The rule of {name} {on}.")


def _try(here: Page, of: Of, form: RuleForm, rule: PoolRule) -> Tried | None:
    """What a rule would have done; None: it is too much to be tried, which the form then says."""
    days = form.cleaned_data["days"]
    start = here.now - timedelta(days=days)
    with scope.reading(here.id):
        try:
            found = queries.dry_run(here.id, of.pools(), rule, start=start, now=here.now)
        except Refused as refused:
            form.add_error("days", refused.detail)
            return None
    demoted = [one for one in found if one.units]
    worth = [one.worth_a_month for one in demoted]
    known = [price.amount for price in worth if price is not None]
    return Tried(
        days=days,
        rows=tuple(sorted(found, key=_first)[:TRIED_SHOWN]),
        count=len(found),
        watched=sum(any(stage.name == "watch" for stage in one.stages) for one in found),
        demoted=len(demoted),
        left=sum(one.left_alone is not None for one in found),
        units=sum(one.units for one in demoted),
        worth=sum(known, Decimal(0)) if len(known) == len(worth) else None,
    )


def _first(one: WouldHave) -> tuple[int, bool, str]:
    """Those who would lose most, then those who would be told, then the others."""
    return -one.units, not one.stages, one.account


def _versions(here: Page, events: tuple[EventRow, ...]) -> list[Version]:
    names = names_for(here.id, events)
    return [
        Version(one, sentence(one, names, here.zone), _changes(one, before))
        for one, before in zip_longest(events, events[1:])
    ]


def _changes(one: EventRow, before: EventRow | None) -> tuple[tuple[str, str, str], ...]:
    """What a version set otherwise than the one before it."""
    if before is None or _DROPPED in (before.type, one.type):
        return ()
    words = {
        "enabled": ("On", lambda value: "yes" if value else "no"),
        "exempt_ids": ("Exempt accounts", lambda value: str(len(value))),
        "maintenance": ("Maintenance windows", lambda value: str(len(value))),
    }
    terms = {
        "threshold": "Threshold",
        "clear_margin": "Margin",
        "window_seconds": "Window",
        "watch_seconds": "Watched after",
        "cooldown_seconds": "Cooldown",
        "gap_seconds_max": "Gaps bridged",
        "unknown_seconds_max": "Unknown time",
    }
    for name, title in terms.items():
        shown = reclaim_words.length if name.endswith(("seconds", "max")) else reclaim_words.share
        words[name] = (title, shown)
    return tuple(
        (title, say(before.payload[name]), say(one.payload[name]))
        for name, (title, say) in words.items()
        if before.payload.get(name, _UNSET) != one.payload.get(name, _UNSET)
    )
