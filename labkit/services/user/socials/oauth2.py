"""Client side of OAuth 2 for social login: the authorization code grant (RFC 6749, section 4.1)."""

from __future__ import annotations

from urllib.parse import urlencode

from labkit.services.user.socials.web import FORM, ProviderClient, is_token, with_query


def login_url(provider: ProviderClient, state: str) -> str:
    """Return the provider's URL where the user logs in (section 4.1.1)."""
    social = provider.social
    parameters = {
        "response_type": "code",
        "client_id": social.client_id,
        "redirect_uri": social.redirect,
        "scope": " ".join(social.scope),
        "state": state,
    }
    return with_query(provider.at.authorize, {name: value for name, value in parameters.items() if value})


async def access_token(provider: ProviderClient, code: str) -> str:
    """Exchange a code for an access token (section 4.1.3). Raises ServiceError."""
    social = provider.social
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": social.redirect,
        "client_id": social.client_id,
        "client_secret": social.client_secret,
    }
    fields = await provider.request_token_fields(provider.at.token, {"Content-Type": FORM}, urlencode(form))
    token = fields.get("access_token")
    if not is_token(token):
        raise provider.failed("answered without an access token")
    return token


async def user(provider: ProviderClient, token: str) -> str:
    """Return the user information as JSON text (RFC 6750, section 2.1). Raises ServiceError."""
    return await provider.user({"Authorization": f"Bearer {token}"})
