"""Admission of a request to a route: the credentials and the rate that the solution asks for.

A request needs credentials of one of the kinds that the route, or else the solution, names: `--#SECURITY basic bearer`.
Only their form is checked; whether they are right is for the script to judge. A rate is counted for each route and
client in a minute of lab time; a client is known by its credentials, else by its address.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
from collections.abc import Mapping
from typing import Any

from labkit.http.error import HttpError
from labkit.solutions.web.routes import Route
from labkit.solutions.web.web_settings import OPEN, WebSettings

MINUTE = 60.0  # seconds of lab time
MOST_CLIENTS = 10_000  # above this number the clients whose minute is over are forgotten
KEY = 24  # hexadecimal digits: of a digest, so that credentials are not stored
CHALLENGES = {"basic": "Basic", "bearer": "Bearer", "apiKey": "ApiKey"}


class RateLimits:
    """Requests of each client to each limited route of a solution, in a minute that its first request begins.

    counts: by the digest of route and client, the lab time at which the minute began, and the number of requests; all
    of the solution in a second have such a count, too.
    """

    def __init__(self) -> None:
        self.counts: dict[str, tuple[float, int]] = {}

    def wait(self, route: str, client: str, limit: int, now: float, span: float = MINUTE) -> int:
        """Count a request, and return 0; or do not count it, and return the seconds until the client's span ends."""
        key = hashlib.sha256(f"{route}\0{client}".encode(errors="surrogateescape")).hexdigest()[:KEY]
        began, count = self.counts.get(key, (now, 0))
        if not began <= now < began + span:
            began, count = now, 0
        if count >= limit:
            return max(1, math.ceil(began + span - now))
        if len(self.counts) >= MOST_CLIENTS:
            self._forget(now)
        self.counts[key] = began, count + 1
        return 0

    def _forget(self, now: float) -> None:
        self.counts = {key: each for key, each in self.counts.items() if now < each[0] + MINUTE}


def admit(
    route: Route,
    settings: WebSettings,
    rates: RateLimits,
    headers: Mapping[str, str],
    query: Mapping[str, Any],
    address: str,
    now: float,
) -> None:
    """Raise HttpError 401 without the credentials that a route asks for, 429 above its rate.

    headers, query: of the request; address: of the client; now: lab time in seconds. A refused request is not counted.
    """
    kinds = settings.kinds if route.tags.security is None else route.tags.security
    limit = settings.rate_limit if route.tags.rate_limit is None else route.tags.rate_limit
    if not kinds and not limit:
        return
    found = credentials(headers, query, settings)
    if kinds and OPEN not in kinds and not any(kind in found for kind in kinds):
        offered = ", ".join(f'{CHALLENGES[kind]} realm="solution"' for kind in dict.fromkeys(kinds))
        raise HttpError(401, f"expected credentials: {' or '.join(kinds)}", {"WWW-Authenticate": offered})
    if limit:
        client = next((f"{kind} {text}" for kind, text in found.items()), f"address {address}")
        if seconds := rates.wait(f"{route.method} {route.path}", client, limit, now):
            reason = f"more than {limit} requests in a minute, expected the next one in {seconds} s"
            raise HttpError(429, reason, {"Retry-After": str(seconds)})


def credentials(
    headers: Mapping[str, str], query: Mapping[str, Any], settings: WebSettings
) -> dict[str, str]:
    """Return the credentials of a request by their kind, if they have the form of that kind."""
    found: dict[str, str] = {}
    scheme, _, text = headers.get("Authorization", "").strip().partition(" ")
    text = text.strip()
    if scheme.lower() == "bearer" and text:
        found["bearer"] = text
    elif scheme.lower() == "basic" and _is_basic(text):
        found["basic"] = text
    place = settings.api_key
    key = query.get(place.name) if place.in_query else headers.get(place.name)
    if key:
        found["apiKey"] = str(key)
    return found


def _is_basic(text: str) -> bool:
    """Return whether a text has the form of RFC 7617: base64 of a name, a colon and a password."""
    try:
        return b":" in base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
