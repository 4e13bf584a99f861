"""Faults of an identity provider: asked for by name, each hits one request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from labkit.core.errors import LabError

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


class Faults:
    """Those that wait for their request, oldest first."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, Step]] = []

    def add(self, name: str, step: str | None = None) -> None:
        """Let a fault hit the next request of a step; letter case does not count.

        Raises LabError for an unknown fault or a step that it cannot hit, naming those that are known.
        """
        known = next((each for each in FAULTS if each.lower() == name.lower()), None)
        if known is None:
            raise LabError(f"no fault {name!r}, there are: {', '.join(FAULTS)}")
        steps = FAULTS[known]
        hit = next((each for each in steps if step in (None, each)), None)
        if hit is None:
            raise LabError(f"{known!r} cannot hit {step!r}, but: {', '.join(steps)}")
        self._waiting.append((known, hit))

    def take(self, step: Step) -> str | None:
        """The oldest fault that waits for this step; it is spent."""
        for index, (name, hits) in enumerate(self._waiting):
            if hits == step:
                del self._waiting[index]
                return name
        return None

    @property
    def waiting(self) -> list[str]:
        """Those that have not hit yet: `slow at token`."""
        return [f"{name} at {step}" for name, step in self._waiting]

    def clear(self) -> None:
        """Let none happen."""
        self._waiting.clear()
