"""The product's addresses and, for comparison, a view that answers a constant."""

from django.http import HttpResponse
from django.urls import path

from config.urls import handler400, handler403, handler404, handler500
from config.urls import urlpatterns as product

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]


def constant(request):
    """What the web stack costs when a view does nothing."""
    return HttpResponse(b'{"ok":true}', content_type="application/json")


urlpatterns = [path("bench/constant", constant), *product]
