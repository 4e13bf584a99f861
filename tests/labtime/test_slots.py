"""Slots: a limited number of concurrent users, the others queue in order."""

from __future__ import annotations

import asyncio

import pytest

from labkit.labtime.slots import Slots
from tests.guard import PATIENCE


async def test_waiters_get_slots_in_order() -> None:
    slots, went_on = Slots(2), []

    async def wait(name: str) -> None:
        await slots.wait()
        went_on.append(name)

    assert [slots.acquire() for _ in range(3)] == [True, True, False]
    waiting = [asyncio.create_task(wait(name)) for name in "abc"]
    await asyncio.sleep(0)
    slots.release()
    assert not slots.acquire()  # no later one overtakes the one that got the slot
    slots.release()
    await asyncio.gather(*waiting[:2])
    assert went_on == ["a", "b"]
    slots.release()
    await waiting[2]
    slots.release()
    slots.release()
    assert [slots.acquire() for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize("given", [False, True])
async def test_the_slot_of_a_cancelled_waiter_is_not_lost(given: bool) -> None:
    slots = Slots(1)
    assert slots.acquire()
    first, second = asyncio.create_task(slots.wait()), asyncio.create_task(slots.wait())
    await asyncio.sleep(0)
    if given:
        slots.release()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    if not given:
        slots.release()
    await asyncio.wait_for(second, PATIENCE)
    assert first.cancelled()


async def test_cancelled_waiters_get_no_slot() -> None:
    slots = Slots(1)
    assert slots.acquire()
    waiting = asyncio.create_task(slots.wait())
    await asyncio.sleep(0)
    slots.cancel()
    slots.release()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert slots.acquire()
