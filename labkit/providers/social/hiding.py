"""What may be shown of a request to an identity provider."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import parse_qsl, quote, urlsplit

from labkit.core.hiding import without_query_values

HIDDEN = "…"
SECRET = frozenset(
    "access_token client_secret code code_challenge code_verifier denied form id_token oauth_signature oauth_token "
    "oauth_token_secret oauth_verifier password refresh_token state token".split()
)
SHOWN = frozenset({"error", "error_description"})


def shown(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Parameters without the values of those that are secret, or of the queries of URLs."""
    return {
        name: HIDDEN if name in SECRET and value else without_query_values(value, HIDDEN)
        for name, value in pairs
    }


def shown_url(url: str) -> str:
    """A URL of whose parameters those alone are told that say what went wrong."""
    parts = urlsplit(url)
    pairs = dict(parse_qsl(parts.query, keep_blank_values=True))
    query = "&".join(f"{name}={quote(value) if name in SHOWN else HIDDEN}" for name, value in pairs.items())
    return f"{parts.scheme}://{parts.netloc}{parts.path}" + (f"?{query}" if query else "")
