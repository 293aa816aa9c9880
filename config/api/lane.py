"""A short way in for machines: none of the middleware that serves browsers.

A request with a bearer token has no session, no CSRF token, no messages and no htmx. Leading it
past them leaves a priority's answer mostly to the priority itself
(docs/decisions/0010-rest.md).
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.urls import resolve

PREFIX = "/api/v1/"


class MachineLane:
    """Middleware: hand API requests with a bearer token straight to their operation.

    Stands after the middleware whose work matters to machines too (request ids, TLS). What an
    operation raises is turned into an answer by Django's wrapper around this middleware.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        bearer = request.META.get("HTTP_AUTHORIZATION", "")[:7].lower() == "bearer "
        if not bearer or not request.path_info.startswith(PREFIX):
            return self.get_response(request)
        request.get_host()  # as CommonMiddleware does: forged hosts are refused
        match = resolve(request.path_info)
        request.resolver_match = match
        answer = match.func(request, *match.args, **match.kwargs)
        # Django's handler would do this: some answers are written only when they are rendered.
        render = getattr(answer, "render", None)
        return render() if callable(render) else answer
