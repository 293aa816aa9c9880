"""People and roles of an account: who may do what here, and from where they have it."""

from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from accounting import fairshare_state
from frontend import parameters
from frontend.pages import PageRequest, page, render
from frontend.reading import by_account, way_to
from frontend.standing import accounts_below
from ledger import scope
from ledger.errors import Denied, DomainError
from ledger.execution import Context, execute
from tenancy import policy, queries
from tenancy.commands.people import GrantRole, RevokeRole
from tenancy.domain.roles import READ, TREE_WRITE, Role, granting

PEOPLE_SHOWN = 100
ACCOUNT_CHOICES_MAX = 300
ROLES_ABOUT = {
    Role.MEMBER: "sees the account",
    Role.LEAD: "requests, justifies, manages people",
    Role.APPROVER: "reviews requests",
    Role.FINANCE: "rates, statements, close",
    Role.OPERATOR: "pools, tokens, the tree",
    Role.AUDITOR: "reads everything",
}


@require_safe
@page()
def people(request: PageRequest) -> HttpResponse:
    """Roles that count on one account, its people, and for operators the forms to change roles."""
    here = request.page
    readable = policy.accounts_with(here.actor, READ, here.id)
    if not readable:
        raise Denied(
            "role_missing",
            "People and roles are shown to those with a role on some account.",
            facts={"permission": READ, "roles": list(granting(READ))},
        )
    name = parameters.text(request.GET, "account")
    account = (
        queries.account_by_name(here.id, name) if name else queries.account(here.id, readable[0])
    )
    here.require(READ, account.id)
    after = parameters.text(request.GET, "after")
    found = queries.people_of(here.id, account.id, after_name=after, limit=PEOPLE_SHOWN + 1)
    return render(
        request,
        "people.html",
        {
            "account": account,
            "way": way_to(here, account, readable, by_account(reverse("people"))),
            "account_choices": accounts_below(
                fairshare_state.current(here.id), readable, limit=ACCOUNT_CHOICES_MAX
            ),
            "roles": queries.roles_on(here.id, account.id),
            "people": found[:PEOPLE_SHOWN],
            "next_after": found[PEOPLE_SHOWN - 1].name if len(found) > PEOPLE_SHOWN else None,
            "may_change": here.may(TREE_WRITE, account.id),
            "role_choices": ROLES_ABOUT.items(),
        },
    )


@require_POST
@page(reads=False)
def grant(request: PageRequest) -> HttpResponse:
    """Give a person, named by the short name, a role on an account."""
    here = request.page
    account_id, account = _account(request)
    name = parameters.text(request.POST, "person")
    role = parameters.text(request.POST, "role")
    try:
        with scope.reading(here.id):
            here.require(TREE_WRITE, account_id)
            person = queries.person_by_name(here.id, name)
        _execute(request, GrantRole(account_id=account_id, person_id=person.id, role=role))
    except DomainError as error:
        if error.status == 403:
            raise
        messages.error(request, f"{name}: {error.detail}" if name else "Say who: a short name.")
    else:
        messages.success(request, f"{person.display_name or name} is {role} on {account} now.")
    return _back(account)


@require_POST
@page(reads=False)
def revoke(request: PageRequest) -> HttpResponse:
    """Take a role away; granting it again undoes that."""
    here = request.page
    account_id, account = _account(request)
    person_id = parameters.ident(request.POST.get("person_id", ""), what="person")
    role = parameters.text(request.POST, "role")
    with scope.reading(here.id):
        here.require(TREE_WRITE, account_id)
        person = queries.person(here.id, person_id)
    _execute(request, RevokeRole(account_id=account_id, person_id=person_id, role=role))
    messages.success(
        request, f"{person.display_name or person.name} is no longer {role} on {account}."
    )
    return _back(account)


def _account(request: PageRequest) -> tuple[UUID, str]:
    here = request.page
    name = parameters.text(request.POST, "account")
    with scope.reading(here.id):
        row = queries.account_by_name(here.id, name)
    return row.id, row.name


def _execute(request: PageRequest, command: GrantRole | RevokeRole) -> None:
    here = request.page
    execute(command, Context(organization_id=here.id, actor=here.actor, now=here.now))


def _back(account: str) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse('people')}?{urlencode({'account': account})}")
