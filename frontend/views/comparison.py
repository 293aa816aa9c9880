"""Teams beside each other, as far as the organization's policy lets a lead see; and the policy."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounting.commands.comparison import SetComparisonPolicy
from accounting.domain import statements
from accounting.domain.comparison import EVERYTHING, FIGURES, Comparison, shown_figures
from accounting.queries import comparison as queries
from accounting.queries import statements as closes
from frontend import parameters
from frontend.forms.fields import reason
from frontend.forms.sending import Sent, form_status, send
from frontend.pages import PageRequest, page, render
from frontend.reading import readable_accounts
from ledger import scope
from ledger.ids import new_id
from tenancy.domain.roles import POLICY_WRITE, READ, TEAM_COMPARE

NOBODY = "Teams are compared by leads, approvers, finance, operators and auditors."
ROWS_SHOWN = 200
FIGURE_WORDS = {
    "utilization": "Guarantee used",
    "idle_share": "Idle share of the costs",
    "productive_cost": "Cost per productive hour",
}
REACH_WORDS = {
    "off": "nobody: a lead sees the own teams alone",
    "department": "the teams of the own department",
    "organization": "every team",
}


@require_safe
@page()
def comparison(request: PageRequest) -> HttpResponse:
    """The own teams and those that the policy shows, by one of the figures."""
    here = request.page
    led = readable_accounts(here, TEAM_COMPARE, otherwise=NOBODY)
    root = here.organization.root_account_id
    everything = here.may(READ, root)
    policy = EVERYTHING if everything else queries.policy(here.id)
    figures = shown_figures(policy)
    first = _month(request)
    by: Any = parameters.choice(request.GET, "by", figures, figures[0])
    found = queries.comparison(
        here.id, root, first, allowed=policy, accounts=led, by=by, now=here.now
    )
    close = closes.close(here.id, first)
    is_closed = close is not None and close.state == "closed"
    return render(
        request,
        "showback/comparison.html",
        {
            "month": first,
            "is_closed": is_closed,
            "previous": statements.month_before(first),
            "next": None if first >= here.today.replace(day=1) else statements.month_after(first),
            "figures": [(name, FIGURE_WORDS[name]) for name in figures],
            "by": by,
            "found": found,
            "rows": _rows(found, figures),
            "rows_left": len(found.rows) - ROWS_SHOWN,
            "medians": [(name, found.medians.get(name)) for name in figures],
            "reach": REACH_WORDS[policy.reach],
            "everything": everything,
            "named": policy.named,
            "is_open": policy.reach != "off",
            "currency": here.organization.currency,
            "may_set": here.may(POLICY_WRITE, root),
        },
    )


def _month(request: PageRequest) -> Any:
    """The month in the address; without one, the last that is over."""
    if parameters.text(request.GET, "month"):
        return parameters.month(request.GET, today=request.page.today)
    return statements.month_before(request.page.today.replace(day=1))


def _rows(found: Comparison, figures: tuple[str, ...]) -> list[tuple[Any, list]]:
    return [
        (row, [(name, getattr(row.team, name)) for name in figures])
        for row in found.rows[:ROWS_SHOWN]
    ]


class ComparisonForm(forms.Form):
    """What leads may compare."""

    reach = forms.ChoiceField(
        choices=list(REACH_WORDS.items()),
        label="A lead compares the own teams with",
    )
    utilization = forms.BooleanField(required=False, label=FIGURE_WORDS["utilization"])
    idle_share = forms.BooleanField(required=False, label=FIGURE_WORDS["idle_share"])
    productive_cost = forms.BooleanField(required=False, label=FIGURE_WORDS["productive_cost"])
    named = forms.BooleanField(
        required=False,
        label="Other teams are named",
        help_text="Otherwise they are numbered, and not shown where they are fewer than three.",
    )
    reason = reason()

    def command(self) -> SetComparisonPolicy:
        """What the valid form asks for."""
        values = self.cleaned_data
        return SetComparisonPolicy(
            reach=values["reach"],
            figures=tuple(name for name in FIGURES if values[name]),
            named=values["named"],
        )


@page(reads=False)
def comparison_policy(request: PageRequest) -> HttpResponse:
    """The policy and its form (GET); set it (POST)."""
    here = request.page
    with scope.reading(here.id):
        here.require(POLICY_WRITE, here.organization.root_account_id)
        current = queries.policy(here.id)
    initial = {"reach": current.reach, "named": current.named}
    initial |= {name: name in current.figures for name in FIGURES}
    posted = request.method == "POST"
    form = ComparisonForm(request.POST if posted else None, initial=initial)
    sent = Sent(None, form_key=request.POST.get("key") or new_id())
    if posted and form.is_valid():
        sent = send(request, form, form.command(), field_of=_field_of)
        if sent.result is not None:
            said = "is set" if sent.result.changed else "is so already; nothing was changed"
            messages.success(request, f"The comparison {said}.")
            return HttpResponseRedirect(reverse("comparison_policy"))
    return render(
        request,
        "showback/comparison_policy.html",
        {
            "form": form,
            "form_key": sent.form_key,
            "notice": sent.notice,
            "reach": REACH_WORDS[current.reach],
            "figures": [FIGURE_WORDS[name] for name in current.figures],
            "named": current.named,
        },
        status=form_status(request, form, notice=sent.notice),
    )


def _field_of(name: str) -> str:
    return "utilization" if name == "figures" else name
