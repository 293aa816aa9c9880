"""One guarantee under use-it-or-lose-it: its timeline, the reason it may stay idle, and what its
people and reviewers can do about it."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from frontend import parameters, reclaim_charts, reclaim_words
from frontend.forms.quota import ReasonForm
from frontend.forms.reclaim import WordForm
from frontend.forms.sending import TRIED, Sent, form_status, send
from frontend.history import names_for, sentence
from frontend.pages import Page, PageRequest, page, render
from frontend.reclaim_charts import Mark
from frontend.views.capacity import pool_named, readable
from frontend.views.reclaim import account_seen, lines_of
from ledger import scope
from ledger.errors import Denied, DomainError, NotFound
from ledger.execution import Context, execute
from ledger.ids import new_id
from ledger.queries import EventRow
from ledger.queries import history as ledger_history
from preemption import reclaim_board as board
from preemption import reclaim_loading as loading
from preemption import reclaim_timeline
from preemption.commands.reclaim import RestoreQuota, ReturnQuota
from preemption.reclaim_board import BoardRow
from preemption.reclaim_timeline import Timeline
from quota.domain.requests import OPEN, Kind, State
from quota.queries import PoolRow
from quota.queries.requests import RequestRow, requests
from tenancy.domain.roles import LEDGER_READ, REQUEST_REVIEW, REQUEST_WRITE
from tenancy.queries import AccountRow

EVENTS_SHOWN: Final = 25
MARKS_MAX: Final = 200
Word = Literal["restore", "return"]


@dataclass(frozen=True, slots=True)
class Happened:
    """Something that happened to the guarantee, in words."""

    event: EventRow
    sentence: str


@require_safe
@page()
def reclaim_quota(request: PageRequest, account: str, pool: str) -> HttpResponse:
    """One guarantee: where it stands, use against it, every event. `days` is how far back."""
    here = request.page
    row, of = _place(here, account, pool)
    days = parameters.days(request.GET)
    rule = loading.rule(here.id, of.id)
    stands = next(iter(board.of_accounts(here.id, [row.id], pool_id=of.id)), None)
    found = reclaim_timeline.timeline(
        here.id,
        row.id,
        of.id,
        rule,
        start=parameters.start_of(here.today - timedelta(days=days - 1), here.zone),
        now=here.now,
        step_hours=reclaim_charts.SPANS[days],
    )
    before = parameters.whole(request.GET, "before")
    stream = f"reclaim:{row.id}:{of.id}"
    events = ledger_history(here.id, stream=stream, before_position=before, limit=EVENTS_SHOWN)
    marks = ledger_history(here.id, stream=stream, limit=MARKS_MAX).rows
    names = names_for(here.id, events.rows)
    reasons = _justifications(here, row, of)
    in_force = next((one for one in reasons if _holds(one, here)), None)
    return render(
        request,
        "reclaim/quota.html",
        {
            "account": row,
            "pool": of,
            "rule": rule,
            "rule_lines": reclaim_words.lines_of(rule),
            "threshold": reclaim_words.share(rule.rule.threshold),
            "line": lines_of(here, [stands], {of.id: rule})[0] if stands else None,
            "about": reclaim_words.STAGES[stands.state] if stands else None,
            "found": found,
            "left_alone": reclaim_words.LEFT_ALONE.get(found.left_alone or ""),
            "chart": reclaim_charts.use_against(found, _marks(marks), rule.rule, zone=here.zone),
            "days": days,
            "days_choices": parameters.DAYS_CHOICES,
            "reasons": reasons,
            "in_force": in_force,
            "events": [Happened(one, sentence(one, names, here.zone)) for one in events.rows],
            "sees_event": LEDGER_READ in here.held,
            "currency": here.organization.currency,
            "first_page": before is None,
            "next": events.next_before
            and f"{request.path}?{urlencode({'days': days, 'before': events.next_before})}",
            "partials": ("use", "events"),
            **_choices(here, row, stands, found, in_force=in_force),
        },
    )


@require_http_methods(["GET", "HEAD", "POST"])
@page(reads=False)
def reclaim_decide(request: PageRequest, account: str, pool: str, word: Word) -> HttpResponse:
    """Ask for confirmation, or say why it cannot be (GET); restore or return units (POST)."""
    here = request.page
    command: Any
    with scope.reading(here.id):
        row, of = _place(here, account, pool)
        here.require(REQUEST_WRITE if word == "restore" else REQUEST_REVIEW, row.id)
        stands = next(iter(board.of_accounts(here.id, [row.id], pool_id=of.id)), None)
        may_ask = here.may(REQUEST_WRITE, row.id)
    where = reverse("reclaim_quota", args=[row.name, of.name])
    if word == "restore":
        command, form_type = RestoreQuota(account_id=row.id, pool_id=of.id), WordForm
    else:
        command, form_type = ReturnQuota(account_id=row.id, pool_id=of.id), ReasonForm
    form = form_type(request.POST if request.method == "POST" else None)
    sent, refused, would_be = Sent(None, form_key=request.POST.get("key") or new_id()), None, None
    if request.method == "POST" and form.is_valid():
        sent = send(request, form, command)
        if sent.result is not None:
            messages.success(request, _said(word, row, of, sent.result))
            return HttpResponseRedirect(where)
    if request.method != "POST":
        would_be, refused = _tried(here, command)
    return render(
        request,
        "reclaim/decide.html",
        {
            "account": row,
            "pool": of,
            "word": word,
            "stands": stands,
            "form": form,
            "form_key": sent.form_key,
            "notice": sent.notice,
            "would_be": would_be,
            "refused": refused,
            "back": where,
            "may_ask": may_ask,
        },
        status=form_status(request, form, notice=sent.notice),
    )


def _place(here: Page, account: str, pool: str) -> tuple[AccountRow, PoolRow]:
    """An account that the viewer may see, and a pool.

    Raises:
        NotFound: there is none of that name, or not for this viewer.
    """
    readable(here)
    return account_seen(here, account), pool_named(here, pool)


def _choices(
    here: Page,
    row: AccountRow,
    stands: BoardRow | None,
    found: Timeline,
    *,
    in_force: RequestRow | None,
) -> dict[str, Any]:
    """What this viewer can do about it now."""
    is_demoted = stands is not None and stands.state == "demoted"
    is_open = is_demoted and stands.until is not None and here.now < stands.until
    asks = row.archived_at is None and here.may(REQUEST_WRITE, row.id)
    return {
        "may_ask": asks,
        "may_justify": asks and in_force is None and bool(found.promised_now),
        "may_restore": asks and is_open,
        "may_return": is_demoted and here.may(REQUEST_REVIEW, row.id),
        "too_late": is_demoted and not is_open,
    }


def _justifications(here: Page, row: AccountRow, of: PoolRow) -> list[RequestRow]:
    """Reasons asked for and approved, the newest first."""
    return list(
        requests(
            here.id,
            now=here.now,
            account_ids=[row.id],
            pool_id=of.id,
            kinds=(Kind.JUSTIFICATION,),
            states=(*OPEN, State.PROVISIONED, State.EXPIRED, State.REJECTED),
            limit=10,
        ).rows
    )


def _holds(one: RequestRow, here: Page) -> bool:
    ends_at = one.request.terms.ends_at
    return one.state == State.PROVISIONED and (ends_at is None or here.now < ends_at)


def _marks(events: tuple[EventRow, ...]) -> list[Mark]:
    """Stages as the chart marks them, oldest first."""
    found = []
    for event in reversed(events):
        state = event.type.split(".")[1]
        if state in reclaim_words.STAGES:
            title = reclaim_words.STAGES[state][0]
            found.append(Mark(event.occurred_at, state, title, event.payload["guarantee"]))
    return found


def _tried(here: Page, command: Any) -> tuple[int | None, DomainError | None]:
    """The guarantee that would follow, or why it cannot be."""
    context = Context(
        organization_id=here.id, actor=here.actor, now=here.now, reason=TRIED, dry_run=True
    )
    try:
        return execute(command, context).result.guarantee, None
    except (Denied, NotFound):
        raise
    except DomainError as error:
        return None, error


def _said(word: Word, row: AccountRow, of: PoolRow, result: Any) -> str:
    if not result.changed:
        return "That was decided so before; nothing was changed."
    if word == "restore":
        return f"Restored: {row.name} has {result.guarantee:,} units guaranteed in {of.name}."
    return f"The units do not come back: {row.name} keeps {result.guarantee:,} in {of.name}."
