"""Switching between the organizations of one login."""

from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from frontend.pages import PageRequest, page
from frontend.parameters import ident
from ledger.errors import NotFound
from tenancy.callers import SESSION_KEY


@require_POST
@page(reads=False)
def switch(request: PageRequest) -> HttpResponse:
    """Remember the chosen organization; only one of the login's own can be chosen."""
    wanted = ident(request.POST.get("organization", ""), what="organization")
    if wanted not in {choice.organization_id for choice in request.page.choices}:
        raise NotFound("organization_unknown", "There is no such organization.")
    request.session[SESSION_KEY] = str(wanted)
    # Where the person was may not exist in the other organization.
    return HttpResponseRedirect(reverse("overview"))
