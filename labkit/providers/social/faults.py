"""Faults of an identity provider. A fault hits one request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

# callback: the redirect to the application, after authorize
Step = Literal["authorize", "callback", "request_token", "token", "userinfo", "discovery", "certs", "revoke"]

ANYWHERE: tuple[Step, ...] = (
    "token",
    "userinfo",
    "request_token",
    "authorize",
    "discovery",
    "certs",
    "revoke",
)
FAULTS: Mapping[
    str, tuple[Step, ...]
] = {  # name → the steps that the fault can hit; the first is the default
    "deny": ("authorize",),  # authorization is refused without asking the person
    # the redirect has another state (OAuth 2) or request token (OAuth 1) than the request
    "wrong state": ("callback",),
    "expired code": ("token",),
    "slow": ANYWHERE,  # delays the answer until the caller has given up
    "down": ANYWHERE,  # ends the connection without an answer
    "malformed JSON": ANYWHERE,
    "server error": ANYWHERE,  # 500
}
