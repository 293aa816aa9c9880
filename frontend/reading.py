"""Of which account a page tells, for people who may read some of them."""

from collections.abc import Callable, Collection
from urllib.parse import urlencode
from uuid import UUID

from frontend import parameters
from frontend.pages import Page, PageRequest
from ledger.errors import Denied
from tenancy import policy
from tenancy import queries as tenancy
from tenancy.domain.roles import granting
from tenancy.queries import AccountRow


def readable_accounts(here: Page, permission: str, *, otherwise: str) -> tuple[UUID, ...]:
    """Where the person's view begins.

    Raises:
        Denied: `role_missing`, in the words of `otherwise`: nowhere.
    """
    found = policy.accounts_with(here.actor, permission, here.id)
    if not found:
        raise Denied(
            "role_missing",
            otherwise,
            facts={"permission": permission, "roles": list(granting(permission))},
        )
    return found


def account_of(request: PageRequest, permission: str, below: tuple[UUID, ...]) -> AccountRow:
    """The account in the address, if the person may read it; without one, the first of theirs."""
    here = request.page
    name = parameters.text(request.GET, "account")
    if not name:
        return tenancy.account(here.id, below[0])
    account = tenancy.account_by_name(here.id, name)
    here.require(permission, account.id)
    return account


def way_to(
    here: Page, account: AccountRow, below: Collection[UUID], address: Callable[[str], str]
) -> list[tuple[str, str]]:
    """The names from the root to an account, each with its address; none where the person may not
    look, so that no link leads to a refusal.

    Args:
        below: where the person's view begins.
    """
    if here.organization.root_account_id in below:
        return [(name, address(name)) for name in account.path]
    begins = set(tenancy.names_of(here.id, accounts=set(below)).values())
    way, inside = [], False
    for name in account.path:
        inside = inside or name in begins
        way.append((name, address(name) if inside else ""))
    return way


def by_account(page_address: str, **fixed: str) -> Callable[[str], str]:
    """Addresses of a page that tells of the account in `account`."""
    return lambda name: f"{page_address}?{urlencode({'account': name} | fixed)}"
