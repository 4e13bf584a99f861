"""Faults of the service Timer that no row can express."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import always
from labkit.conformance.mutant import patch
from labkit.services.timer.service import TimerService
from labkit.services.timer.store import SetTimer, TimerStore

SERVICE = "labkit.services.timer.service:TimerService"
STORE = "labkit.services.timer.store:TimerStore"


@patch("SOL-TIMER-2", f"{SERVICE}.fire")
def once_only(original: Any, self: TimerService, timer: SetTimer) -> None:
    """an interval fires once"""
    if timer.repeats != "once":
        timer.duration = 10**12
    original(self, timer)


@patch("SOL-TIMER-1", f"{SERVICE}.fire")
def again(original: Any, self: TimerService, timer: SetTimer) -> None:
    """a timer that is to fire once fires again and again"""
    timer.repeats, timer.duration = "interval", max(timer.duration, 1000)
    original(self, timer)


@patch("SOL-TIMER-1", f"{SERVICE}.arm")
def early(original: Any, self: TimerService, timer: SetTimer, order: int | None) -> None:
    """timers fire half a second early"""
    timer.due -= 500_000
    original(self, timer, order)


@patch("SOL-TIMER-3", f"{SERVICE}.forget_timers")
async def all_stay(original: Any, self: TimerService, solution: str) -> None:
    """cancelAll has no effect"""


@patch("SOL-TIMER-4", f"{SERVICE}.cancel_timer")
async def of_all(original: Any, self: TimerService, solution: str, timer_id: str) -> None:
    """cancel removes the timer of this id in all solutions"""
    for each in ("probe", "witness"):
        await original(self, each, timer_id)


@patch("SOL-TIMER-5", f"{SERVICE}.arm")
def last_first(original: Any, self: TimerService, timer: SetTimer, order: int | None) -> None:
    """of one moment the timer that was set last fires first"""
    original(self, timer, None if order is None else -order)


most = patch(
    "SOL-TIMER-6", "labkit.services.timer.service:expect_room", "a solution may have any number of timers"
)(lambda original, own, timer_id: None)


lost_power = patch("SOL-TIMER-7", f"{SERVICE}.recovered", "timers do not fire any more after a power cut")(
    always(None)
)
not_stored = patch("SOL-TIMER-7", f"{STORE}.put", "timers are not stored")(always(None))
kept_by_a_reset = patch(
    "SOL-TIMER-8", f"{SERVICE}.clear", "timers last over a reset and stay beside those of a snapshot"
)(always(None))


@patch("SOL-TIMER-7", f"{SERVICE}.arm")
def without_power(original: Any, self: TimerService, timer: SetTimer, order: int | None) -> None:
    """timers fire while the platform has no power"""
    address = self.context.address
    down, address.down_until = address.down_until, 0.0
    original(self, timer, order)
    address.down_until = down


@patch("SOL-TIMER-1", f"{STORE}.put")
async def falsy_lost(original: Any, self: TimerStore, timer: SetTimer) -> None:
    """a message that is false, 0 or empty is lost"""
    if timer.message in ("false", "0", '""'):
        timer.message = "null"
    await original(self, timer)


@patch("SOL-TIMER-7", f"{STORE}.forget")
async def back_after_restarts(original: Any, self: TimerStore, solution: str) -> None:
    """timers that cancelAll has removed are there again after a restart"""


@patch("SOL-TIMER-7", f"{STORE}.load")
async def other_order(original: Any, self: TimerStore) -> list[SetTimer]:
    """after a restart the timers of one moment fire in the order of their ids"""
    found: list[SetTimer] = await original(self)
    found.sort(key=lambda each: each.timer_id)
    for each, place in zip(found, sorted(each.place for each in found), strict=True):
        each.place = place
    return found
