"""Slots: so many at once, the others in their order."""

from __future__ import annotations

import asyncio

import pytest

from labkit.core.slots import Slots


async def test_those_that_wait_for_a_slot_go_on_in_their_order() -> None:
    slots, went_on = Slots(2), []

    async def wait(name: str) -> None:
        await slots.wait()
        went_on.append(name)

    assert [slots.take() for _ in range(3)] == [True, True, False]
    waiting = [asyncio.create_task(wait(name)) for name in "abc"]
    await asyncio.sleep(0)
    slots.give_back()
    assert not slots.take()  # nobody overtakes the one that it was given to
    slots.give_back()
    await asyncio.gather(*waiting[:2])
    assert went_on == ["a", "b"]
    slots.give_back()
    await waiting[2]
    slots.give_back()
    slots.give_back()
    assert [slots.take() for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize("given", [False, True])
async def test_a_slot_is_not_lost_with_one_that_is_cancelled(given: bool) -> None:
    slots = Slots(1)
    assert slots.take()
    first, second = asyncio.create_task(slots.wait()), asyncio.create_task(slots.wait())
    await asyncio.sleep(0)
    if given:
        slots.give_back()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    if not given:
        slots.give_back()
    await asyncio.wait_for(second, 5)
    assert first.cancelled()


async def test_nobody_gets_one_once_they_are_cancelled() -> None:
    slots = Slots(1)
    assert slots.take()
    waiting = asyncio.create_task(slots.wait())
    await asyncio.sleep(0)
    slots.cancel()
    slots.give_back()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert slots.take()
