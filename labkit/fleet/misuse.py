"""Errors of behaviours that misuse their device."""

from __future__ import annotations

from labkit.core.errors import LabError

INSTANT_REQUEST_LIMIT = 10_000  # requests of a device at one instant of a virtual clock


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
