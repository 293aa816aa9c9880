"""The addresses with single sign-on, which settings leave out while no provider is named."""

from django.urls import include, path

from config import urls
from frontend import sign_in

handler403, handler404, handler500 = urls.handler403, urls.handler404, urls.handler500
urlpatterns = [
    path("accounts/", include(sign_in.patterns(single_sign_on=True))),
    *urls.urlpatterns,
]
