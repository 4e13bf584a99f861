"""Faults of the messaging provider. A fault hits one request or one delivery."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

# request: to any resource; bindings, notifications: to this resource; delivery: of a notification to one binding
Step = Literal["request", "bindings", "notifications", "delivery"]

REQUESTS: tuple[Step, ...] = ("request", "bindings", "notifications")
FAULTS: Mapping[
    str, tuple[Step, ...]
] = {  # name → the steps that the fault can hit; the first is the default
    # 401 for the account's credential; at a delivery the push channel's is rejected, and nothing is delivered
    "credential rejected": (*REQUESTS, "delivery"),
    "token unregistered": ("delivery",),  # the app was removed: nothing is delivered, the binding is deleted
    "delivered twice": ("delivery",),
    "rate limited": REQUESTS,  # 429
    "slow": REQUESTS,  # delays the answer until the caller has given up
    "down": REQUESTS,  # ends the connection without an answer
    "malformed JSON": REQUESTS,
    "server error": REQUESTS,  # 503
}
