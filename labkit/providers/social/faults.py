"""The faults of an identity provider: each hits one request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

# callback: the redirect that takes a person back, after authorize
Step = Literal["authorize", "callback", "request_token", "token", "userinfo"]

ANYWHERE: tuple[Step, ...] = ("token", "userinfo", "request_token", "authorize")
FAULTS: Mapping[str, tuple[Step, ...]] = {  # name → the steps that it can hit; the first where none is named
    "deny": ("authorize",),  # the person says no, unasked
    # another state (OAuth 2) or request token (OAuth 1) comes back than was sent
    "wrong state": ("callback",),
    "expired code": ("token",),
    "slow": ANYWHERE,  # holds the answer until the caller has given up
    "down": ANYWHERE,  # ends the connection without an answer
    "malformed JSON": ANYWHERE,
    "server error": ANYWHERE,  # 500
}
