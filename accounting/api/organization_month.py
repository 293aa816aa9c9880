"""`GET /api/v1/showback/organization`: a month of the whole organization, for finance."""

from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse

from accounting import wire_showback as wire
from accounting.api.money_reading import MONTH, MoneyOperation, month_text, plain
from accounting.domain import statements
from accounting.queries import organization_month as months
from accounting.queries import showback as queries
from accounting.queries import statements as closes
from config.api import parameters
from config.api.schema import describe
from ledger import scope
from quota.api.reading import fields_of
from tenancy import queries as tenancy

DEPARTMENTS_MAX = 1_000


class OrganizationMonthOperation(MoneyOperation):
    """Read a month of the organization."""

    parameters = frozenset({"month"})

    @describe(
        "readOrganizationMonth",
        tag="money",
        summary="A month of the whole organization",
        gives=wire.OrganizationMonthFacts,
        parameters=(MONTH,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """Departments and accounts against the month before, and what of the capacity is charged.
        For whoever reads the root account."""
        caller = self.caller(request)
        here = caller.organization_id
        with scope.reading(here):
            asked = self.asked(
                request, caller, month=parameters.text(request, "month"), account=None
            )
            root = asked.account.id
            found = months.month_of(here, root, asked.first, now=asked.now, tell=True)
            first = statements.month_before(asked.first)
            before = months.month_of(here, root, first, now=asked.now, tell=False)
            names = queries.names_of(here, people=False)
            month = months.organization_month(found, before)
            zone = ZoneInfo(tenancy.organization(here).time_zone)
            today = asked.now.astimezone(zone).date()
            turn = closes.turn(closes.closes(here, limit=1), this_month=today.replace(day=1))
        shown = month.departments[:DEPARTMENTS_MAX]
        return self.respond(
            wire.OrganizationMonthFacts(
                month=found.month.name,
                state=found.state,
                currency=found.ground.currency,
                amount=found.total.amount,
                before=before.total.amount,
                untagged=month.untagged,
                unrated=found.unrated_count,
                as_of=found.as_of,
                turn=month_text(turn),
                departments=[
                    wire.DepartmentFacts(
                        account=names[one.account],
                        **fields_of(one, ("before", "amount", "idle", "untagged")),
                    )
                    for one in shown
                ],
                departments_left=len(month.departments) - len(shown),
                movers=[
                    wire.Moved(account=names[one.account], before=one.before, amount=one.amount)
                    for one in month.movers
                ],
                pools=[
                    wire.Recovery(
                        pool=names[one.pool],
                        capacity=plain(one.capacity),
                        allocated=_share(one.allocated),
                        worth=one.worth,
                        charged=one.charged,
                        recovered=_share(one.recovered),
                    )
                    for one in month.pools
                ],
            )
        )


def _share(value) -> float | None:
    return None if value is None else round(float(value), 6)
