"""Faults of access to routes that no row can express."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from labkit.conformance.breaking import change_arguments, change_result
from labkit.conformance.mutant import patch
from labkit.http.error import HttpError
from labkit.solutions.web.web_settings import ApiKeyPlace, WebSettings

ADMIT = "labkit.solutions.site:admit"
CREDENTIALS = "labkit.solutions.web.admission:credentials"
WAIT = "labkit.solutions.web.admission:RateLimits.wait"
SETTINGS = "labkit.solutions.web.web_settings:WebSettings"

any_credentials = patch("SOL-SEC-1 SOL-SEC-3", CREDENTIALS, "credentials of any kind suffice")(
    change_result(lambda found: dict.fromkeys(("basic", "bearer", "apiKey"), "x") if found else found)
)
nothing_asked = patch("SOL-SEC-1 SOL-SEC-2", ADMIT, "no route asks for credentials")(lambda *_: None)
open_by_default = patch("SOL-SEC-3", ADMIT, "the security of a solution has no effect")(
    change_arguments(settings=lambda settings: settings.model_copy(update={"security": ()}))
)
usual_place = patch("SOL-SEC-3", f"{SETTINGS}.api_key", "an API key is always in the header X-API-Key")(
    lambda original, self: ApiKeyPlace()
)
one_minute_for_all = patch("SOL-RATE-2", WAIT, "all clients share one count")(
    change_arguments(client="everybody")
)
one_count_for_all = patch("SOL-RATE-2", WAIT, "all routes share one count")(change_arguments(route="all"))
one_more = patch("SOL-RATE-1", WAIT, "a client may send one more")(
    change_arguments(limit=lambda limit: limit + 1)
)
no_default = patch("SOL-RATE-3", ADMIT, "the rate of a solution has no effect")(
    change_arguments(settings=lambda settings: settings.model_copy(update={"rate_limit": 0}))
)


@patch("SOL-RATE-1", WAIT)
def refused_counted(original: Any, self: Any, route: str, client: str, limit: int, now: float) -> int:
    """a refused request begins a minute anew"""
    seconds: int = original(self, route, client, limit, now)
    if seconds:
        self.counts.update({key: (now, count) for key, (_, count) in self.counts.items()})
    return seconds


@patch("SOL-RATE-2", ADMIT)
def refusals_counted(
    original: Any, route: Any, settings: WebSettings, rates: Any, headers: Any, *of: Any
) -> None:
    """a request that is refused with 401 is counted"""
    try:
        original(route, settings, rates, headers, *of)
    except HttpError as error:
        if error.status == 401:
            rates.counts.update({key: (began, count + 1) for key, (began, count) in rates.counts.items()})
        raise


@patch("SOL-SEC-2", ADMIT)
def all_of_them(original: Any, route: Any, settings: WebSettings, rates: Any, headers: Any, *of: Any) -> None:
    """of several kinds the first is needed"""
    security = (route.tags.security or ())[:1] or None
    original(replace(route, tags=replace(route.tags, security=security)), settings, rates, headers, *of)
