"""How sign-in differs from allauth's defaults: nobody makes an account alone."""

from datetime import UTC, datetime

from allauth.account.adapter import DefaultAccountAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.http import HttpRequest

from tenancy import logins


class AccountAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """People are invited or imported."""
        return False


class SocialAccountAdapter(DefaultSocialAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """The identity provider proves who somebody is, not that they belong here."""
        return False

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Connect a first sign-in to whom the same *verified* address is known.

        That is a login there is, or one made now for people that an organization has imported or
        added with the address. An unverified address is a claim: connecting on it would hand
        somebody's place to whoever typed it into the identity provider.
        """
        verified = [address.email for address in sociallogin.email_addresses if address.verified]
        if not sociallogin.is_existing:
            user = logins.login_of(verified)
            if user is None:
                return
            sociallogin.connect(request, user)
        if sociallogin.user.is_active:
            logins.let_in(sociallogin.user, verified, now=datetime.now(UTC))
