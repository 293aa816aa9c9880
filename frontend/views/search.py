"""Search of accounts and people."""

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from frontend import parameters
from frontend.pages import PageRequest, page, render
from frontend.standing import associations_of
from ledger.errors import Denied
from tenancy import policy, queries
from tenancy.domain.roles import READ

FOUND_MAX = 25


@require_safe
@page()
def search(request: PageRequest) -> HttpResponse:
    """Accounts and people whose name begins with the text, each with where to go from there."""
    query = parameters.text(request.GET, "q")
    if READ not in request.page.held:
        raise Denied("role_missing", "Search needs a role on some account.")
    here = request.page
    readable = policy.accounts_permitting(here.actor, READ, here.id)
    accounts, people = [], []
    if query:
        seen_by = None if readable is None else here.actor.id
        accounts, people = queries.search(here.id, query, seen_by=seen_by, limit=FOUND_MAX)
    places = {
        person: [name for name in names if readable is None or name in readable]
        for person, names in associations_of(here.id, [one.id for one in people]).items()
    }
    return render(
        request,
        "search.html",
        {
            "query": query,
            "accounts": accounts,
            "people": [(one, places.get(one.id, ())) for one in people],
            "shown_max": FOUND_MAX,
        },
    )
