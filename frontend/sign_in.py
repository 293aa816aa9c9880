"""Which of allauth's addresses exist here.

Signing up is closed and addresses are the organization's to change, so the pages for managing
e-mail addresses and for signing in by code stay away; the closed sign-up page is what refers
people to their operator.
"""

from allauth.account import urls as account_urls
from allauth.socialaccount import urls as social_urls
from allauth.urls import build_provider_urlpatterns
from django.conf import settings
from django.urls import include, path
from django.urls.resolvers import URLPattern, URLResolver

_ACCOUNT = {
    "account_login",
    "account_logout",
    "account_inactive",
    "account_signup",
    "account_reauthenticate",
    "account_change_password",
    "account_set_password",
    "account_reset_password",
    "account_reset_password_done",
    "account_reset_password_from_key",
    "account_reset_password_from_key_done",
}
_SOCIAL = {
    "socialaccount_login_cancelled",
    "socialaccount_login_error",
    "socialaccount_signup",
    "socialaccount_connections",
}


def patterns(*, single_sign_on: bool) -> list[URLPattern | URLResolver]:
    """Addresses of sign-in, with or without those of the identity provider."""
    found: list[URLPattern | URLResolver] = [
        one for one in account_urls.urlpatterns if one.name in _ACCOUNT
    ]
    if single_sign_on:
        kept = [one for one in social_urls.urlpatterns if one.name in _SOCIAL]
        found += [path("3rdparty/", include(kept)), *build_provider_urlpatterns()]
    return found


urlpatterns = patterns(single_sign_on=settings.OIDC_ENABLED)
