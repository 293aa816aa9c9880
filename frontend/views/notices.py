"""A person's notices: the list behind the bell, what is read, and which mails come.

The page that stops mails works without sign-in: the signed address is the right to it, and to
nothing else.
"""

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render as django_render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from frontend import pages, parameters
from frontend.pages import PageRequest, page, render
from ledger import scope
from ledger.errors import NotFound
from notices import preferences as choices
from notices import queries, reading_marks, registry
from notices.preferences import EVERYTHING, NOW, WAYS, Link
from notices.retention import KEPT_DAYS
from tenancy import queries as tenancy

PAGE_ROWS = 30


@require_safe
@page()
def notices(request: PageRequest) -> HttpResponse:
    """Notices, newest first, by kind or only unread ones."""
    here = request.page
    kind = parameters.choice(request.GET, "kind", ("", *registry.KINDS), "")
    only_unread = parameters.choice(request.GET, "unread", ("", "1"), "") == "1"
    given = parameters.text(request.GET, "before")
    before = parameters.ident(given, what="notice") if given else None
    found = queries.notices(
        here.id,
        here.actor.id,
        kinds=(kind,) if kind else (),
        only_unread=only_unread,
        before=before,
        limit=PAGE_ROWS,
    )
    following = None
    if found.next_before:
        query = request.GET.copy()
        query["before"] = str(found.next_before)
        following = f"{request.path}?{query.urlencode()}"
    return render(
        request,
        "notices/list.html",
        {
            "rows": [(row, registry.label_of(row.kind)) for row in found.rows],
            "newest": found.rows[0].id if found.rows and before is None else None,
            "kinds": [(one.name, one.label) for one in _by_label()],
            "kind": kind,
            "only_unread": only_unread,
            "filtered": bool(kind or only_unread),
            "back": request.get_full_path(),
            "kept_days": KEPT_DAYS,
            "first_page": before is None,
            "next": following,
            "partials": ("rows",),
        },
    )


@require_safe
@page(reads=False)
def open_notice(request: PageRequest, notice_id: str) -> HttpResponse:
    """Mark a notice read and lead to the page that settles it. What a browser fetches in advance
    marks nothing."""
    here = request.page
    wanted = parameters.ident(notice_id, what="notice")
    with scope.reading(here.id):
        found = queries.notice(here.id, here.actor.id, wanted)
    ahead = "prefetch" in request.headers.get("Sec-Purpose", "") or request.method == "HEAD"
    if found.read_at is None and not ahead:
        reading_marks.mark_read(here.id, here.actor.id, (found.id,), now=here.now)
    return HttpResponseRedirect(found.link)


@require_POST
@page(reads=False)
def read(request: PageRequest) -> HttpResponse:
    """Mark one notice read (`id`), or all up to the newest that was shown (`up_to`)."""
    here = request.page
    up_to = request.POST.get("up_to", "")
    if up_to:
        last = parameters.ident(up_to, what="notice")
        count = reading_marks.mark_all_read(here.id, here.actor.id, up_to=last, now=here.now)
        messages.success(request, f"{_count(count)} marked read.")
    else:
        wanted = parameters.ident(request.POST.get("id", ""), what="notice")
        reading_marks.mark_read(here.id, here.actor.id, (wanted,), now=here.now)
    back = request.POST.get("back", "")
    if not back.startswith("/") or not url_has_allowed_host_and_scheme(back, allowed_hosts=None):
        back = reverse("notices")
    return HttpResponseRedirect(back)


@require_http_methods(["GET", "HEAD", "POST"])
@page(reads=False)
def preferences(request: PageRequest) -> HttpResponse:
    """Show (GET) or set (POST) which mails come, and how."""
    here = request.page
    if request.method == "POST":
        wanted = frozenset(parameters.free(request.POST, "kind"))
        mail = parameters.choice(request.POST, "mail", tuple(WAYS), NOW)
        muted = frozenset(registry.KINDS) - wanted
        choices.choose(here.id, here.actor.id, mail=mail, muted=muted, now=here.now)
        messages.success(request, "Saved.")
        return HttpResponseRedirect(reverse("notice_settings"))
    with scope.reading(here.id):
        chosen = choices.preferences(here.id, here.actor.id)
        person = tenancy.person(here.id, here.actor.id)
    return render(
        request,
        "notices/settings.html",
        {
            "chosen": chosen,
            "email": person.email,
            "ways": WAYS.items(),
            "kinds": [(kind, kind.name not in chosen.muted) for kind in _by_label()],
        },
    )


@login_not_required
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def mute(request: HttpRequest, link: str) -> HttpResponse:
    """Ask (GET), then stop or resume the mails that a letter's link names (POST). Looking at the
    page changes nothing: programs that check the links in mails look at all of them. A mail
    program's own button posts without looking (RFC 8058)."""
    try:
        found = choices.read_link(link)
        with scope.reading(found.organization_id):
            organization = tenancy.organization(found.organization_id).name
    except NotFound as error:
        return _mute_page(request, {"title": "Mails", "unusable": error.detail}, status=404)
    if request.method == "POST":
        if request.POST.get("action") == "unmute":
            choices.unmute(found)
        else:
            choices.mute(found, now=pages.clock())
    with scope.reading(found.organization_id):
        muted = choices.is_muted(found)
    return _mute_page(
        request,
        {
            "title": "No more mails" if muted else "Stop these mails?",
            "organization": organization,
            "label": _label(found),
            "muted": muted,
        },
    )


def _mute_page(request: HttpRequest, context: dict, *, status: int = 200) -> HttpResponse:
    answer = django_render(request, "notices/mute.html", context, status=status)
    # The address is a right: no cache and no search engine keeps it.
    answer["Cache-Control"] = "no-store"
    answer["X-Robots-Tag"] = "noindex"
    answer["Referrer-Policy"] = "no-referrer"
    return answer


def _label(link: Link) -> str:
    return "" if link.kind == EVERYTHING else registry.label_of(link.kind)


def _by_label() -> list[registry.Kind]:
    return sorted(registry.KINDS.values(), key=lambda kind: kind.label)


def _count(count: int) -> str:
    return "1 notice" if count == 1 else f"{count:,} notices"
