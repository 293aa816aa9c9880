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

urlpatterns = [one for one in account_urls.urlpatterns if one.name in _ACCOUNT]
if settings.OIDC_ENABLED:
    kept = [one for one in social_urls.urlpatterns if one.name in _SOCIAL]
    urlpatterns += [path("3rdparty/", include(kept)), *build_provider_urlpatterns()]
