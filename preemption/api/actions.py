"""`/api/v1/preemption-actions` and `/api/v1/preemption-losses`: what was taken and what it cost."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from config.api import cursors, parameters
from config.api.schema import INSTANT, describe, paging, query
from ledger import scope
from ledger.errors import Invalid
from ledger.types import ActorKind
from preemption import losses, taken
from preemption import taken_wire as wire
from preemption.api import examples
from preemption.api.plans import LIMIT_DEFAULT, PreemptionOperation
from preemption.taken import Loss, Place, TakenRow, Which
from quota.api.reading import ACCOUNTS_MAX, fields_of
from tenancy import policy, queries
from tenancy.api.reading import account_named
from tenancy.domain.roles import READ

DAYS_DEFAULT = timedelta(days=30)
DAYS_MAX = timedelta(days=366)
ACCOUNT = query("account", "Taken from this one or those below it; absent: from any.")


class _TakenOperation(PreemptionOperation):
    def among(self, request: HttpRequest, caller) -> tuple[frozenset | None, frozenset | None]:
        """(accounts asked about, accounts whose names the caller may see); None: all. Runs inside
        `scope.reading`.

        Raises:
            NotFound: no such account. Denied: not this one.
        """
        seen = self.authorize_plans(caller)
        name = parameters.text(request, "account")
        if name is None:
            return seen, seen
        account = account_named(caller.organization_id, name)
        if caller.actor.kind == ActorKind.PERSON:
            policy.authorize(caller.actor, READ, account.id, caller.organization_id)
        below = queries.subtree_ids(caller.organization_id, (account.id,), limit=ACCOUNTS_MAX)
        return frozenset(below), seen


class ActionsOperation(_TakenOperation):
    """List what was taken."""

    parameters = frozenset({"account", "since", "until", "cursor", "limit"})

    @describe(
        "listPreemptionActions",
        tag="preemption",
        summary="What was taken from whom, by which rule and at what cost",
        gives=wire.PreemptionActions,
        parameters=(
            ACCOUNT,
            query("since", "Taken at this instant or later; absent: 30 days before.", **INSTANT),
            query("until", "Taken before this instant; absent: now.", **INSTANT),
            *paging(taken.LIST_MAX - 1, LIMIT_DEFAULT),
        ),
        problems=(404,),
        examples=(examples.ACTIONS,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """People see what was taken from accounts on which they have a role; machines need
        `preemption:write` or `export:read`. The latest first; a period lasts at most 366 days."""
        caller = self.caller(request)
        now = datetime.now(UTC)
        limit = parameters.integer(
            request, "limit", low=1, high=taken.LIST_MAX - 1, default=LIMIT_DEFAULT
        )
        since, until = _period(request, now)
        cursor = cursors.read(request, tuple[datetime, datetime, datetime, UUID, int])
        after = None
        if cursor is not None:
            # Later pages are of the same period as the first one, however late they are asked for.
            since, until, after = cursor[0], cursor[1], Place(*cursor[2:])
            if after.ordinal >= 2**31 or not all(one.tzinfo for one in cursor[:3]):
                raise _bad("cursor", "`cursor` is what `next` of the page before holds.")
        with scope.reading(caller.organization_id):
            among, seen = self.among(request, caller)
            which = Which(since=since, until=until, accounts=among, pool_ids=caller.actor.pool_ids)
            found = taken.actions(caller.organization_id, which, after=after, limit=limit + 1)
            total = taken.total(caller.organization_id, which)
            currency = queries.organization(caller.organization_id).currency
        following = None
        if len(found) > limit:
            following = cursors.next_address(request, (since, until, *found[limit - 1].place))
        return self.respond(
            wire.PreemptionActions(
                at=now,
                since=since,
                until=until,
                currency=currency,
                total=wire.PreemptionLoss(**fields_of(total, Loss.__dataclass_fields__)),
                actions=[_action(row, seen) for row in found[:limit]],
                next=following,
            )
        )


class LossesOperation(_TakenOperation):
    """What preemption costs."""

    parameters = frozenset({"account"})

    @describe(
        "readPreemptionLosses",
        tag="preemption",
        summary="What preemption costs, and how often jobs should save themselves",
        gives=wire.PreemptionLosses,
        parameters=(ACCOUNT,),
        problems=(404,),
        examples=(examples.LOSSES,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """The newest month first, in it the account that lost most; at most 500 rows. The ten jobs
        that lost most. Who may ask: as for actions."""
        caller = self.caller(request)
        now = datetime.now(UTC)
        here = caller.organization_id
        with scope.reading(here):
            among, _ = self.among(request, caller)
            organization = queries.organization(here)
            which = {"accounts": among, "pool_ids": caller.actor.pool_ids}
            months = losses.by_month(here, now=now, time_zone=organization.time_zone, **which)
            jobs = losses.losers(here, since=now - DAYS_DEFAULT, until=now, **which)
        return self.respond(
            wire.PreemptionLosses(
                at=now,
                currency=organization.currency,
                months=[
                    wire.PreemptionMonth(**fields_of(one, losses.MonthLoss.__dataclass_fields__))
                    for one in months
                ],
                jobs=[
                    wire.PreemptionLoser(
                        key=one.job,
                        account=one.account,
                        times=one.times,
                        cost=one.cost,
                        between_seconds=one.between_seconds,
                        checkpoint_seconds=one.checkpoint_seconds,
                        interval_seconds=one.interval_seconds,
                    )
                    for one in jobs
                ],
            )
        )


def _period(request: HttpRequest, now: datetime) -> tuple[datetime, datetime]:
    until = parameters.instant(request, "until") or now
    since = parameters.instant(request, "since") or until - DAYS_DEFAULT
    if not timedelta(0) < until - since <= DAYS_MAX:
        raise Invalid(
            "period_out_of_range",
            "The period is backwards or longer than 366 days.",
            field="since",
        )
    return since, until


def _bad(name: str, detail: str) -> Invalid:
    return Invalid("parameter_invalid", detail, field=name)


def _action(row: TakenRow, seen: frozenset[UUID] | None) -> wire.PreemptionTaken:
    sees_victim = seen is None or row.account_id in seen
    sees_asker = seen is None or row.by_account_id in seen
    return wire.PreemptionTaken(
        at=row.at,
        plan=str(row.plan_id),
        pool=row.pool,
        account=row.account if sees_victim else None,
        key=row.job if sees_victim else None,
        attempt=row.attempt,
        step=row.step,
        mode=row.mode,  # type: ignore[arg-type]
        units=row.units,
        left=row.left,
        tax=row.tax,
        tax_reported=row.tax_reported,
        late=row.late,
        by_account=row.by_account if sees_asker else None,
        by_key=row.by_job if sees_asker else None,
        by_class=row.by_class,  # type: ignore[arg-type]
        by_tier=row.by_tier,  # type: ignore[arg-type]
        made_by=row.made_by if sees_asker else None,
        made_at=row.made_at,
        returns_guarantee=row.returns_guarantee,
        pool_used=row.pool_used,
        pool_planned=row.pool_planned,
        pool_limit=row.pool_limit,
        override=row.override,
        reason=row.reason if sees_asker else None,
    )
