"""How sign-in differs from allauth's defaults: nobody makes an account alone."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.contrib.auth import get_user_model
from django.http import HttpRequest


class AccountAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """People are invited or imported."""
        return False


class SocialAccountAdapter(DefaultSocialAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """The identity provider proves who somebody is, not that they belong here."""
        return False

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Connect a first sign-in to the known user with the same *verified* address.

        An unverified address is a claim: connecting on it would hand the user to whoever typed
        it into the identity provider.
        """
        if sociallogin.is_existing:
            return
        verified = [address.email for address in sociallogin.email_addresses if address.verified]
        users: Any = get_user_model().objects.filter(email__in=verified, is_active=True)
        if len(users) == 1:
            sociallogin.connect(request, users[0])
