"""Of which account a page tells, for people who may read some of them."""

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
