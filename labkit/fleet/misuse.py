"""Errors of behaviours that misuse their device."""

from __future__ import annotations

import dis
from collections.abc import Callable
from functools import cache

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


@cache
def real_waits(run: Callable[..., object]) -> tuple[str, ...]:
    """Return a sentence for each call in a behaviour's `run` that waits real time; `sleep(0)` lets others go on."""
    loads = [each for each in dis.get_instructions(run) if each.opname.startswith("LOAD_")]
    return tuple(
        f"{run.__qualname__}, line {module.positions.lineno}: {module.argval}.sleep waits real time, in which a "
        "virtual clock stands still; did you mean await device.sleep(…)?"
        for module, name, seconds in zip(loads, loads[1:], loads[2:], strict=False)
        if module.argval in ("asyncio", "time") and name.argval == "sleep" and seconds.argval != 0
        if module.positions is not None
    )
