"""What the form of a request starts from: accounts and pools, the draft, the address, the usual."""

from collections.abc import Mapping
from typing import Any, Final

from frontend import parameters
from frontend.forms.requests import GOOD, UNTIL, Ground, initial_of, usual_end
from frontend.pages import Page, PageRequest
from frontend.views.requests.one import extendable, visible
from ledger.errors import Denied, Invalid, NotFound
from quota.commands.requests import extension_of
from quota.domain.requests import Kind, State, Workload
from quota.queries import pools_with_weights
from quota.queries.quotas import QuotaRow, quotas_of_account
from quota.queries.requests import RequestRow, requests
from tenancy import policy, queries
from tenancy.domain.roles import REQUEST_WRITE, granting
from tenancy.queries import AccountRow

SELECT_MAX: Final = 100
"""Beyond so many accounts one types a name rather than scrolls."""


def filled(data: Any) -> Any:
    """What was sent, with the nearest request that would pass where its button was pressed."""
    start, _, end = data.get("take_start", "").partition("|")
    units = data.get("take_units", "")
    if not start and not units:
        return data
    data = data.copy()
    if units:
        data["units"] = units
    if start:
        data["starts_at"] = start
        data["lasts"], data["ends_at"] = (UNTIL, end) if end else (GOOD, "")
    return data


def ground_of(here: Page, row: RequestRow | None, wanted: str) -> Ground:
    """Accounts that one may ask for, and pools.

    Raises:
        Denied: for none.
    """
    tops = policy.accounts_with(here.actor, REQUEST_WRITE, here.id)
    if not tops and row is None:
        raise Denied(
            "role_missing",
            "Quota is asked for by those who lead an account. Ask the lead of yours.",
            facts={"permission": REQUEST_WRITE, "roles": list(granting(REQUEST_WRITE))},
        )
    found = queries.accounts(here.id, under=tops, limit=SELECT_MAX + 1) if tops else []
    first = queries.names_of(here.id, accounts=tops[:1])
    names = {name: ident for ident, name in first.items()} | {one.name: one.id for one in found}
    if row is not None:
        names.setdefault(row.account, row.request.account_id)
    if wanted and wanted not in names:
        other = _other_account(here, wanted)
        if other is not None:
            names[other.name] = other.id
    pools = {one.name: one.id for one in pools_with_weights(here.id)}
    submitted = row is not None and row.request.state != State.DRAFT
    return Ground(
        accounts=names,
        pools=pools,
        zone=here.zone,
        now=here.now,
        fixed=row.request.terms if submitted else None,
    )


def _other_account(here: Page, name: str) -> AccountRow | None:
    """One that is not among the first by name, if it may be asked for."""
    if not name.isprintable():
        return None
    try:
        row = queries.account_by_name(here.id, name)
    except NotFound:
        return None
    allowed = row.archived_at is None and here.may(REQUEST_WRITE, row.id)
    return row if allowed else None


def initial_of_page(request: PageRequest, row: RequestRow | None, ground: Ground) -> dict[str, Any]:
    """What the form says before anybody typed: the draft, the address, or what is usual."""
    here = request.page
    if row is not None:
        terms = row.request.terms
        return initial_of(terms, account=row.account, pool=row.pool, to_account=row.to_account)
    if request.method == "POST":
        return {}
    extended = parameters.text(request.GET, "extend")
    if extended:
        return _extension(here, visible(here, parameters.ident(extended, what="request")))
    account = parameters.text(request.GET, "account")
    if account not in ground.accounts:
        if account:
            raise NotFound(
                "account_unknown", "There is no such account for you to ask for.", field="account"
            )
        account = next(iter(ground.accounts))
    quotas = {
        one.pool: one for one in quotas_of_account(here.id, ground.accounts[account], now=here.now)
    }
    pool = parameters.choice(request.GET, "pool", ("", *ground.pools), "")
    pool = pool or _usual_pool(ground, quotas)
    held = quotas.get(pool)
    usual = Kind.BOOST if held and held.quota.guaranteed else Kind.NEW
    kind = parameters.choice(request.GET, "kind", ("", *Kind), usual) or usual
    end = usual_end(here.now, here.zone)
    purpose = ""
    if kind == Kind.EXTENSION and held and held.ends_at:
        end = usual_end(held.ends_at, here.zone)
        purpose = _purpose_of_last(here, ground, account, pool)
    elif held and held.ends_at:
        # What is added to a temporary quota ends with it.
        end = held.ends_at.astimezone(here.zone)
    return {
        "account": account,
        "pool": pool,
        "kind": str(kind),
        "units": parameters.whole(request.GET, "units"),
        "lasts": UNTIL,
        "ends_at": end,
        "workload": str(Workload.TRAINING),
        "tier": "guaranteed",
        "purpose": purpose,
    }


def _usual_pool(ground: Ground, quotas: Mapping[str, QuotaRow]) -> str:
    """Where the account has most; where it has nothing, the first one."""
    most = max(quotas.values(), key=lambda one: one.quota.guaranteed, default=None)
    return most.pool if most and most.quota.guaranteed else next(iter(ground.pools), "")


def _extension(here: Page, row: RequestRow) -> dict[str, Any]:
    """The form of a later end of what a request was granted."""
    if not extendable(row):
        raise Invalid("not_extendable", "This has no end that could be put off.", field="extend")
    later = extension_of(row.request, ends_at=usual_end(row.request.terms.ends_at, here.zone))
    return initial_of(later, account=row.account, pool=row.pool, to_account=None)


def _purpose_of_last(here: Page, ground: Ground, account: str, pool: str) -> str:
    """What the quota that runs was asked for, if it was asked for."""
    found = requests(
        here.id,
        now=here.now,
        account_ids=[ground.accounts[account]],
        pool_id=ground.pools[pool],
        states=(State.PROVISIONED,),
        limit=1,
    ).rows
    return found[0].request.terms.purpose if found else ""
