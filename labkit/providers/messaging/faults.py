"""The faults of the messaging provider: each hits one request, or one delivery."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

# request: to any resource; bindings, notifications: to these; delivery: of a notification to one binding
Step = Literal["request", "bindings", "notifications", "delivery"]

REQUESTS: tuple[Step, ...] = ("request", "bindings", "notifications")
FAULTS: Mapping[str, tuple[Step, ...]] = {  # name → the steps that it can hit; the first where none is named
    # the account's, 401; at a delivery that of the push channel, which then delivers nothing
    "credential rejected": (*REQUESTS, "delivery"),
    "token unregistered": ("delivery",),  # the app is off the device: nothing is delivered, the binding goes
    "delivered twice": ("delivery",),
    "rate limited": REQUESTS,  # 429
    "slow": REQUESTS,  # holds the answer until the caller has given up
    "down": REQUESTS,  # ends the connection without an answer
    "malformed JSON": REQUESTS,
    "server error": REQUESTS,  # 503
}
