"""Errors of behaviours that misuse their device."""

from __future__ import annotations

from labkit.core.errors import LabError

INSTANT_REQUEST_LIMIT = 10_000  # requests of a device at one instant of a virtual clock


class InstantRequests:
    """Counter of a device's requests at one instant of lab time."""

    __slots__ = ("_count", "_instant")

    def __init__(self) -> None:
        self._instant = -1.0
        self._count = 0

    def count(self, now: float) -> int:
        """Count a request, and return the number of those at this instant."""
        if now != self._instant:
            self._instant, self._count = now, 0
        self._count += 1
        return self._count


def ignored_arrivals(behaviour: str, identity: str, action: str) -> LabError:
    """Return the error of a device that acts without the arrivals of its run."""
    return LabError(
        f"arrivals: {behaviour} does not ask for them (device {identity!r}: {action}): let {behaviour}.run wait in "
        f"`async for _ in device.arrivals():` before each request, or run without arrivals="
    )


def runaway(behaviour: str, identity: str, requests: int) -> LabError:
    """Return the error of a device that keeps a virtual clock from advancing. requests: at one instant."""
    return LabError(
        f"device {identity!r} sent {requests:,} requests at one instant of lab time, which "
        f"stands still while it goes on: let {behaviour}.run sleep between requests, as in `await device.sleep(60)`"
    )
