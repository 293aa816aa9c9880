"""Requests follow the quotas they became: what falls due, ends or is replaced is said of them, too.

Called with every change of a pool that is recorded (`quota.recording.record`), in the same
transaction, so a request never says something else than its quota.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from uuid import UUID

from ledger.execution import Unit
from quota import events
from quota import request_events as ev
from quota.domain.request_state import Request, apply
from quota.domain.requests import State
from quota.loading import requests as loading

_MEMO = "quota.requests.followed"

Said = events.QuotaSet | events.QuotaEnded | events.QuotaLapsed


def follow(unit: Unit, pool_id: UUID, changes: Iterable[tuple[Said, datetime]]) -> None:
    """Record what changes of a pool's quotas mean for the requests behind them.

    One question for all accounts that changed; none where nothing can concern a request.
    """
    changes = [one for one in changes if _matters(one[0])]
    if not changes:
        return
    known: dict[UUID, Request] = unit.memo.setdefault(_MEMO, {})
    accounts = {data.account_id for data, _ in changes}
    for request in loading.standing_of(unit.organization_id, pool_id, accounts):
        known.setdefault(request.id, request)
    by_account: dict[UUID, list[UUID]] = {}
    for request in known.values():
        if request.pool_id == pool_id:
            by_account.setdefault(request.account_id, []).append(request.id)
    for data, at in changes:
        for request_id in by_account.get(data.account_id, ()):
            request = known[request_id]
            for event_type, fields in _means(request, data, unit):
                said = event_type(
                    request_id=request.id,
                    account_id=request.account_id,
                    pool_id=pool_id,
                    **fields,
                )
                unit.record(said, occurred_at=at)
                known[request_id] = apply(known[request_id], said, at) or request


def _matters(data: Said) -> bool:
    """A lender's side of another account's change means nothing for its own requests."""
    return not (isinstance(data, events.QuotaSet) and data.borrower_id is not None)


def _means(request: Request, data: Said, unit: Unit) -> Iterator[tuple[type[ev._OfRequest], dict]]:
    change_id = getattr(data, "change_id", None)
    if change_id is not None:
        if request.state != State.APPROVED or request.change_id != change_id:
            if not isinstance(data, events.QuotaLapsed):
                yield from _replaced(request, data)
            return
        if isinstance(data, events.QuotaLapsed):
            hours = loading.policy(unit.organization_id).decide_hours
            due_at = unit.now + timedelta(hours=hours)
            yield ev.RequestReopened, {"code": data.code, "detail": data.detail, "due_at": due_at}
        else:
            terms = request.terms
            yield ev.RequestProvisioned, {"units": terms.units, "ends_at": terms.ends_at}
        return
    if isinstance(data, events.QuotaSet):
        yield from _replaced(request, data)
    elif _is_temporary(request):
        early = isinstance(data, events.QuotaEnded) and data.early
        yield ev.RequestExpired, {"early": early}


def _replaced(request: Request, data: Said) -> Iterator[tuple[type[ev._OfRequest], dict]]:
    """Another quota, for good, ends what was granted for a while."""
    if _is_temporary(request) and getattr(data, "ends_at", None) is None:
        yield ev.RequestExpired, {"early": True}


def _is_temporary(request: Request) -> bool:
    return (
        request.state == State.PROVISIONED
        and request.terms.ends_at is not None
        and request.terms.kind != "justification"
    )
