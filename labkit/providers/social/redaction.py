"""Redaction of secrets in the stored requests of an identity provider."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import parse_qsl, quote, urlsplit

from labkit.core.redaction import without_issued, without_query_values

HIDDEN = "…"
# Parameters shown unchanged: registration data of a client, and values that the protocols enumerate.
PLAIN = frozenset(
    "access_type approval_prompt auth_type client_id code_challenge_method decision display fields force_login "
    "grant_type include_granted_scopes lang locale oauth_callback oauth_consumer_key oauth_nonce "
    "oauth_signature_method oauth_timestamp oauth_version person prompt realm redirect_uri response_mode "
    "response_type scope token_type authorization".split()
)
WORDS = {
    "grant_type": frozenset("authorization_code client_credentials implicit password refresh_token".split()),
    "response_type": frozenset("code id_token none token".split()),
}
SHOWN = frozenset({"error", "error_description"})


def shown(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return parameters by name, with possibly secret values and the query values of URLs redacted."""
    return {without_issued(name): _shown(name, value) for name, value in pairs}


def _shown(name: str, value: str) -> str:
    if not value:
        return value
    if name not in PLAIN or (name in WORDS and not WORDS[name].issuperset(value.split())):
        return HIDDEN
    return without_query_values(value, HIDDEN)


def shown_url(url: str) -> str:
    """Return a URL with all query values redacted but those of `error` and `error_description`."""
    parts = urlsplit(url)
    pairs = dict(parse_qsl(parts.query, keep_blank_values=True))
    query = "&".join(f"{name}={quote(value) if name in SHOWN else HIDDEN}" for name, value in pairs.items())
    return f"{parts.scheme}://{parts.netloc}{parts.path}" + (f"?{query}" if query else "")
