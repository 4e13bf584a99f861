"""Loops for behaviours, which repeat at an interval, at a run's arrivals, or at instants common to a fleet."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from labkit.fleet.fleet_device import FleetDevice

T = TypeVar("T")


async def turns(
    device: FleetDevice, every: float | Callable[[], float], first: float | None = None
) -> AsyncIterator[None]:
    """Yield at each arrival of the run; in a run without arrivals, `every` seconds after each turn ends.

    every: seconds, or a function that draws them, also for the first turn; first: seconds until the first turn (None:
    at once).
    """
    if device.has_arrivals:
        async for _ in device.arrivals():
            yield
        return
    if callable(every):
        first = every()
    if first is not None:
        await device.sleep(first)
    while True:
        yield
        await device.sleep(every() if callable(every) else every)


async def scheduled(
    device: FleetDevice, items: Iterable[tuple[float, T]], speed: float = 1.0
) -> AsyncIterator[T]:
    """Yield each item its number of seconds after the call, divided by `speed`; or one per arrival of the run.

    items: pairs of seconds and item.
    """
    if device.has_arrivals:
        waiting = iter(items)
        async for _ in device.arrivals():
            if (found := next(waiting, None)) is None:
                return
            yield found[1]
        return
    began = device.now()
    for when, item in items:
        await device.sleep_until(began + when / speed)
        yield item
