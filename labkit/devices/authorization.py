"""Authorization of a request in progress, which ends with its device's credential."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(eq=False, slots=True)
class RequestAuthorization:
    """The authorization of a device's request in progress.

    device: product and identity. revoked: whether the credential is no longer valid. end: called once when it is
    revoked.
    """

    device: tuple[str, str]
    revoked: bool = False
    end: Callable[[], object] | None = None

    def revoke(self) -> None:
        """Mark the authorization as revoked and end the request."""
        self.revoked = True
        if self.end is not None:
            self.end()
