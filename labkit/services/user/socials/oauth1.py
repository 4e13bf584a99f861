"""Client side of OAuth 1.0a for social login (RFC 5849); oauthlib signs the requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from labkit.services.user.socials.records import Oauth1Token
from labkit.services.user.socials.web import ProviderClient, is_token, with_query


@dataclass(frozen=True, slots=True)
class Stamp:
    """Nonce and timestamp of a signed request, which make it unique (section 3.3). seconds: lab time."""

    nonce: str
    seconds: int


async def request_token(provider: ProviderClient, stamp: Stamp) -> Oauth1Token:
    """Request temporary credentials (section 2.1). Raises ServiceError."""
    headers = signed_headers(
        provider, "POST", provider.at.request_token, stamp, callback=provider.social.redirect
    )
    fields = await provider.request_token_fields(provider.at.request_token, headers)
    if fields.get("oauth_callback_confirmed") not in ("true", True):
        raise provider.failed("did not confirm the callback")
    return _token(provider, fields)


def login_url(provider: ProviderClient, token: Oauth1Token) -> str:
    """Return the provider's URL where the user logs in (section 2.2)."""
    return with_query(provider.at.authorize, {"oauth_token": token.token})


async def access_token(
    provider: ProviderClient, token: Oauth1Token, verifier: str, stamp: Stamp
) -> Oauth1Token:
    """Exchange temporary credentials for token credentials (section 2.3). Raises ServiceError."""
    headers = signed_headers(provider, "POST", provider.at.token, stamp, token, verifier=verifier)
    return _token(provider, await provider.request_token_fields(provider.at.token, headers))


async def user(provider: ProviderClient, token: Oauth1Token, stamp: Stamp) -> str:
    """Return the user information as JSON text. Raises ServiceError."""
    return await provider.user(signed_headers(provider, "GET", provider.at.userinfo, stamp, token))


def _token(provider: ProviderClient, fields: dict[str, object]) -> Oauth1Token:
    token, secret = fields.get("oauth_token"), fields.get("oauth_token_secret")
    if not is_token(token) or not isinstance(secret, str) or not secret.isprintable():
        raise provider.failed("answered without a token")
    return Oauth1Token(token, secret)


def signed_headers(
    provider: ProviderClient,
    method: Literal["GET", "POST"],
    url: str,
    stamp: Stamp,
    token: Oauth1Token | None = None,
    callback: str | None = None,
    verifier: str | None = None,
) -> dict[str, str]:
    """Return the headers of a signed request (HMAC-SHA1, section 3.4.2)."""
    from oauthlib.oauth1 import Client  # at its first use, since it takes long to import

    signer = Client(
        provider.social.client_id,
        provider.social.client_secret,
        token.token if token else None,
        token.secret if token else None,
        callback_uri=callback,
        verifier=verifier,
        nonce=stamp.nonce,
        timestamp=str(stamp.seconds),
    )
    headers: dict[str, str] = signer.sign(url, method)[1]
    return headers
