"""Who stands in for whom while reviewers are away."""

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from frontend import parameters
from frontend.forms.reviews import AbsenceForm
from frontend.forms.sending import Sent, form_status, key_of, send
from frontend.pages import PageRequest, page, render
from ledger import scope
from ledger.errors import Conflict, NotFound
from ledger.execution import Context, execute
from ledger.ids import new_id
from quota.commands.request_policy import EndDelegate, SetDelegate
from quota.queries.request_decisions import delegations
from tenancy import queries
from tenancy.domain.roles import PEOPLE_WRITE


@require_http_methods(["GET", "HEAD", "POST"])
@page(reads=False)
def absence(request: PageRequest) -> HttpResponse:
    """Delegations that run or are to come (GET); set one, or end one (POST)."""
    here = request.page
    with scope.reading(here.id):
        others = here.may(PEOPLE_WRITE, here.organization.root_account_id)
    posted = request.method == "POST"
    if posted and request.POST.get("action") == "end":
        return _end(request)
    form = AbsenceForm(request.POST if posted else None, zone=here.zone, others=others)
    sent = Sent(None, form_key=new_id())
    if posted and form.is_valid():
        command = _command(request, form)
        if command is not None:
            sent = send(request, form, command)
        if sent.result is not None:
            messages.success(request, f"{form.cleaned_data['delegate']} stands in.")
            return HttpResponseRedirect(reverse("review_absence"))
    with scope.reading(here.id):
        rows = delegations(here.id, now=here.now, person_id=None if others else here.actor.id)
    return render(
        request,
        "reviews/absence.html",
        {
            "form": form,
            "form_key": sent.form_key,
            "notice": sent.notice,
            "rows": rows,
            "others": others,
        },
        status=form_status(request, form, notice=sent.notice),
    )


def _command(request: PageRequest, form: AbsenceForm) -> SetDelegate | None:
    """What the valid form asks for; None: a name is nobody's, which then stands at its field."""
    here, values, ids = request.page, form.cleaned_data, {}
    with scope.reading(here.id):
        for field in ("person", "delegate"):
            if not values.get(field):
                continue
            try:
                ids[field] = queries.person_by_name(here.id, values[field]).id
            except NotFound as error:
                form.add_error(field, error.detail)
    if form.errors:
        return None
    return SetDelegate(
        delegate_id=ids["delegate"],
        person_id=ids.get("person"),
        starts_at=values["starts_at"] or here.now,
        ends_at=values["ends_at"],
    )


def _end(request: PageRequest) -> HttpResponse:
    here = request.page
    wanted = parameters.ident(request.POST.get("delegation", ""), what="delegation")
    context = Context(
        organization_id=here.id, actor=here.actor, now=here.now, idempotency_key=key_of(request)
    )
    try:
        execute(EndDelegate(delegation_id=wanted), context)
    except Conflict as error:
        messages.error(request, error.detail)
    else:
        messages.success(request, "It has ended: nobody stands in any more.")
    return HttpResponseRedirect(reverse("review_absence"))
