"""API tokens: issue (the secret shown once), rotate, revoke. For operators."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from frontend import parameters
from frontend.pages import Page, PageRequest, page, render
from ledger import scope
from ledger.errors import Conflict, Invalid, NotFound
from ledger.execution import Context, execute
from ledger.ids import new_id
from quota.queries import PoolRow, pools_with_weights
from tenancy import queries
from tenancy import tokens as strings
from tenancy.commands.tokens import (
    EXPIRY_DAYS_DEFAULT,
    EXPIRY_DAYS_MAX,
    NAME_LENGTH_MAX,
    OVERLAP_HOURS_MAX,
    IssueToken,
    RevokeToken,
    RotateToken,
)
from tenancy.domain.roles import TOKEN_WRITE, Scope
from tenancy.queries import TokenRow

OVERLAP_HOURS_DEFAULT = 24
SCOPES_ABOUT = {
    Scope.PRIORITY_READ: "ask for priorities and fair-share",
    Scope.USAGE_WRITE: "record usage",
    Scope.ADMISSION_WRITE: "admit, start and release work",
    Scope.PREEMPTION_WRITE: "plan and carry out preemption",
    Scope.EXPORT_READ: "read exports",
}


class IssueForm(forms.Form):
    """What a new token is for."""

    name = forms.CharField(max_length=NAME_LENGTH_MAX, label="Name")
    scopes = forms.MultipleChoiceField(
        choices=[(scope.value, f"{scope.value}: {about}") for scope, about in SCOPES_ABOUT.items()],
        widget=forms.CheckboxSelectMultiple,
        label="What it may do",
    )
    pools = forms.MultipleChoiceField(required=False, label="Only for these pools")
    days = forms.IntegerField(
        min_value=1,
        max_value=EXPIRY_DAYS_MAX,
        initial=EXPIRY_DAYS_DEFAULT,
        label="Days until it expires",
    )

    def __init__(self, *args: Any, pools: list[PoolRow], **kwargs: Any) -> None:
        """`pools` are those the organization has."""
        super().__init__(*args, **kwargs)
        self.fields["pools"].choices = [(pool.name, pool.name) for pool in pools]
        self._pool_ids = {pool.name: pool.id for pool in pools}

    def pool_ids(self) -> tuple[UUID, ...] | None:
        """Ids of the chosen pools; None for all pools, those to come included."""
        return tuple(self._pool_ids[name] for name in self.cleaned_data["pools"]) or None


class RotateForm(forms.Form):
    """How long the old secret stays good beside the new one."""

    overlap_hours = forms.IntegerField(
        min_value=0,
        max_value=OVERLAP_HOURS_MAX,
        initial=OVERLAP_HOURS_DEFAULT,
        label="Hours the old secret stays good",
        help_text=f"0 to {OVERLAP_HOURS_MAX}; 0 ends it at once.",
    )
    days = forms.IntegerField(
        min_value=1,
        max_value=EXPIRY_DAYS_MAX,
        initial=EXPIRY_DAYS_DEFAULT,
        label="Days until the new one expires",
    )


@require_safe
@page()
def tokens(request: PageRequest) -> HttpResponse:
    """All tokens, and the form for a new one."""
    request.page.require(TOKEN_WRITE)
    return _show(request, None)


@require_POST
@page(reads=False)
def issue(request: PageRequest) -> HttpResponse:
    """Issue a token and show its secret, this once."""
    here = request.page
    with scope.reading(here.id):
        form = IssueForm(request.POST, pools=pools_with_weights(here.id))
    if not form.is_valid():
        with scope.reading(here.id):
            here.require(TOKEN_WRITE)
            return _show(request, form, status=400)
    secret = strings.new_secret()
    try:
        made = _execute(
            request,
            IssueToken(
                name=form.cleaned_data["name"],
                secret_hash=strings.hash_secret(secret),
                scopes=tuple(form.cleaned_data["scopes"]),
                pool_ids=form.pool_ids(),
                expires_at=here.now + timedelta(days=form.cleaned_data["days"]),
            ),
        )
    except Invalid as error:
        form.add_error(error.field if error.field in form.fields else None, error.detail)
        with scope.reading(here.id):
            return _show(request, form, status=400)
    shown = strings.render(made.token_id, secret)
    with scope.reading(here.id):
        return _show(request, None, secret=shown, secret_of=form.cleaned_data["name"])


@page(reads=False)
def rotate(request: PageRequest, token_id: str) -> HttpResponse:
    """Ask for how long (GET); then a new secret (POST), beside which the old one stays good."""
    here = request.page
    with scope.reading(here.id):
        here.require(TOKEN_WRITE)
        row = _token(here, token_id)
    form = RotateForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return render(
            request,
            "token_rotate.html",
            {"token": row, "form": form, "form_key": new_id()},
            status=400 if form.is_bound else 200,
        )
    secret = strings.new_secret()
    _execute(
        request,
        RotateToken(
            token_id=row.id,
            secret_hash=strings.hash_secret(secret),
            overlap_hours=form.cleaned_data["overlap_hours"],
            expires_at=here.now + timedelta(days=form.cleaned_data["days"]),
        ),
    )
    with scope.reading(here.id):
        return _show(request, None, secret=strings.render(row.id, secret), secret_of=row.name)


@page(reads=False)
def revoke(request: PageRequest, token_id: str) -> HttpResponse:
    """Ask for the token's name (GET), then end it (POST): what uses it stops at once."""
    here = request.page
    with scope.reading(here.id):
        here.require(TOKEN_WRITE)
        row = _token(here, token_id)
    problem = ""
    if request.method == "POST":
        if request.POST.get("confirm", "").strip() == row.name:
            _execute(request, RevokeToken(token_id=row.id))
            messages.success(request, f"The token {row.name} is good for nothing from now on.")
            return HttpResponseRedirect(reverse("tokens"))
        problem = "Type the name exactly as it is shown."
    return render(
        request,
        "token_revoke.html",
        {"token": row, "problem": problem},
        status=400 if problem else 200,
    )


def _token(here: Page, token_id: str) -> TokenRow:
    wanted = parameters.ident(token_id, what="token")
    for row in queries.tokens(here.id):
        if row.id == wanted:
            return row
    raise NotFound("token_unknown", "There is no such token.", field="token")


def _execute(request: PageRequest, command) -> object:
    here = request.page
    key = request.POST.get("key", "")
    context = Context(
        organization_id=here.id,
        actor=here.actor,
        now=here.now,
        # Sent twice, a form acts once. But a secret differs each time, so a repeated issue is
        # a conflict and says so, instead of showing a secret that is good for nothing.
        idempotency_key=f"form/{key}" if key and key.isprintable() else None,
    )
    try:
        return execute(command, context).result
    except Conflict as error:
        if error.code != "idempotency_key_reused":
            raise
        raise Conflict(
            error.code,
            "This form was sent already: its token stands under API tokens, and the secret was "
            "shown once. Where it is lost, rotate the token.",
        ) from None


def _show(
    request: PageRequest, form: IssueForm | None, *, status: int = 200, **shown
) -> HttpResponse:
    """The page, with a fresh form where none came back."""
    here = request.page
    pools = pools_with_weights(here.id)
    names = {pool.id: pool.name for pool in pools}
    form = form or IssueForm(pools=pools)
    return render(
        request,
        "tokens.html",
        {
            "tokens": [
                (token, ", ".join(sorted(names[one] for one in token.pool_ids or ())))
                for token in queries.tokens(here.id)
            ],
            "pools": pools,
            "chosen_pools": form["pools"].value() or [],
            "form": form,
            "chosen_scopes": form["scopes"].value() or [],
            "scopes": SCOPES_ABOUT.items(),
            "form_key": new_id(),
            **shown,
        },
        status=status,
    )
