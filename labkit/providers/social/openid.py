"""OpenID Connect 1.0 of an identity provider: its signing key, ID tokens and discovery document."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from labkit.providers.social.faults import Step
from labkit.providers.social.issued import Oauth2Token
from labkit.providers.social.kinds import ProviderKind

ALGORITHM = "RS256"  # the one that every provider has to have
KEY_ID = "1"
PATHS: dict[Step, str] = {
    "discovery": "/.well-known/openid-configuration",
    "certs": "/certs",
    "revoke": "/revoke",
}
BITS = 2048


class OpenId:
    """Issuer of ID tokens. url: returns the URL of a path at the provider; now: returns lab time."""

    def __init__(self, kind: ProviderKind, url: Callable[[str], str], now: Callable[[], float]) -> None:
        self._kind = kind
        self._url = url
        self._now = now
        self._keys: list[rsa.RSAPrivateKey] = []  # the first one counts

    async def prepare(self) -> None:
        """Create the key unless it is there, in a thread, since that is slow."""
        if not self._keys:
            self._keys.append(await asyncio.to_thread(_generate))

    def snapshot(self) -> str:
        """Return the key in PEM; empty before its first use."""
        if not self._keys:
            return ""
        form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        return self._keys[0].private_bytes(serialization.Encoding.PEM, *form).decode()

    def restore(self, pem: str) -> None:
        """Take over the key of a snapshot."""
        self._keys.clear()
        if pem:
            key = serialization.load_pem_private_key(pem.encode(), None)
            assert isinstance(key, rsa.RSAPrivateKey)
            self._keys.append(key)

    def _private(self) -> rsa.RSAPrivateKey:
        if not self._keys:
            self._keys.append(_generate())
        return self._keys[0]

    def id_token(self, token: Oauth2Token) -> str:
        """Return the ID token that goes with an access token (Core, section 2)."""
        now = int(self._now())
        claims = {
            **self._kind.user_info(token.person, frozenset(token.scopes), frozenset()),
            "iss": self._url(""),
            "sub": token.person.id,
            "aud": token.client_id,
            "iat": now,
            "exp": now + self._kind.lifetime,
        }
        if token.code.nonce is not None:
            claims["nonce"] = token.code.nonce
        return jwt.encode(claims, self._private(), ALGORITHM, {"kid": KEY_ID})

    def keys(self) -> dict[str, object]:
        """Return the JSON Web Key Set (RFC 7517) that verifies the ID tokens."""
        key = RSAAlgorithm.to_jwk(self._private().public_key(), as_dict=True)
        return {"keys": [{**key, "kid": KEY_ID, "use": "sig", "alg": ALGORITHM}]}

    def configuration(self) -> dict[str, object]:
        """Return the discovery document (Discovery, section 3)."""
        kind = self._kind
        refresh = ["refresh_token"] if "refresh_token" in kind.token_fields else []
        return {
            "issuer": self._url(""),
            "authorization_endpoint": self._url(kind.authorize),
            "token_endpoint": self._url(kind.token),
            "userinfo_endpoint": self._url(kind.userinfo),
            "jwks_uri": self._url(PATHS["certs"]),
            "revocation_endpoint": self._url(PATHS["revoke"]),
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", *refresh],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [ALGORITHM],
            "scopes_supported": ["openid", "profile", "email"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
            "code_challenge_methods_supported": ["S256", "plain"],
        }


def _generate() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, BITS)
