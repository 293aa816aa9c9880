"""`/api/docs`: the OpenAPI document to read and try, from files of our own."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe


@require_safe
@ensure_csrf_cookie
def page(request: HttpRequest) -> HttpResponse:
    """Swagger UI. Whoever is signed in can try operations with the session: hence the cookie."""
    return render(request, "api_docs.html")
