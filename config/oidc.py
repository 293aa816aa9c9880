"""The one identity provider of single sign-on, as django-allauth wants it told."""

from typing import Any


def provider(
    *, identifier: str, name: str, client_id: str, secret: str, server_url: str, uid_field: str
) -> dict[str, Any]:
    """The value of `SOCIALACCOUNT_PROVIDERS["openid_connect"]`. PKCE is always used."""
    return {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": identifier,
                "name": name,
                "client_id": client_id,
                "secret": secret,
                "settings": {"server_url": server_url, "uid_field": uid_field},
            }
        ],
    }
