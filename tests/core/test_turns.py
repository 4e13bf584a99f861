"""Turns: where a clock is driven handlers work one at a time, in the order in which their events were raised."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.core.rig import Platform


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(0, 4)), min_size=1, max_size=20
    )
)
async def test_each_works_alone_in_the_order_of_events_however_long_each_takes(
    queued: list[tuple[str, str, int]],
) -> None:
    platform = Platform()
    for number, (source, receiver, turns_of_the_loop) in enumerate(queued):
        works = partial(platform.works, turns_of_the_loop=turns_of_the_loop)
        platform.events.queue(source, receiver, works, number)
    await platform.activity.idle()
    assert platform.pairs == [str(number) for number in range(len(queued))]


async def test_where_nobody_drives_the_clock_they_work_side_by_side() -> None:
    platform = Platform(driven=False)
    for receiver in "xy":
        platform.events.queue("a", receiver, platform.works, receiver)
    await platform.activity.idle()
    assert platform.heard == ["x begins", "y begins", "x ends", "y ends"]


async def test_others_work_while_lab_time_holds_one_and_those_whose_time_comes_at_once_go_on_one_by_one() -> (
    None
):
    platform = Platform()
    for number in range(3):
        platform.events.queue("a", f"held {number}", platform.held, number)
    platform.events.queue("a", "held 1", platform.works, "behind")
    platform.events.queue("a", "free", platform.works, "free")
    await platform.activity.idle()
    assert platform.pairs == ["0 early", "1 early", "2 early", "free"]
    await platform.advance(5)
    assert platform.pairs[4:] == ["0 late", "1 late", "behind", "2 late"]
    assert (platform.turns.working, platform.activity.running) == (0, 0)


async def test_a_handler_that_waits_for_branches_lets_them_take_turns() -> None:
    platform = Platform()

    async def asks(name: str) -> None:
        works: list[Callable[[], Any]] = [partial(platform.held, 1), partial(platform.works, "branch")]
        await platform.turns.gather(works)
        await platform.works(name)

    platform.events.queue("a", "x", asks, "asked")
    platform.events.queue("a", "y", platform.works, "beside")
    await platform.activity.idle()
    assert platform.pairs == ["1 early", "branch", "beside"]
    await platform.advance(5)
    assert platform.pairs[3:] == ["1 late", "asked"]
    assert (platform.turns.working, platform.activity.running) == (0, 0)


async def test_one_that_waits_for_others_is_no_activity_and_has_no_turn() -> None:
    platform = Platform()
    free = asyncio.Event()

    async def waits(name: str) -> None:
        async with platform.turns.released():
            await free.wait()
        await platform.works(name)

    platform.events.queue("a", "x", waits, "first")
    platform.events.queue("a", "y", platform.works, "second")
    await platform.activity.idle()
    assert platform.pairs == ["second"]
    free.set()
    await asyncio.sleep(0)
    await platform.activity.idle()
    assert platform.pairs == ["second", "first"]


async def test_a_branch_that_was_given_up_keeps_nobody_from_working() -> None:
    platform = Platform()
    never = asyncio.Event()

    async def asks(_: object) -> None:
        try:
            async with asyncio.timeout(0.001):
                await platform.turns.gather([never.wait, never.wait])
        except TimeoutError:
            await platform.works("given up")

    platform.events.queue("a", "x", asks, None)
    platform.events.queue("a", "y", platform.works, "after")
    await platform.activity.idle()
    assert sorted(platform.pairs) == ["after", "given up"]
    assert platform.turns.working == 0


async def test_a_crash_leaves_no_turn_behind() -> None:
    platform = Platform()
    never = asyncio.Event()

    async def stuck(_: object) -> None:
        await never.wait()

    platform.events.queue("a", "x", stuck, None)
    await asyncio.sleep(0)
    for receiver in "xyz":
        platform.events.queue("a", receiver, stuck, None)  # the drains of two have not begun
    await platform.events.crash()
    assert (platform.turns.working, platform.activity.running) == (0, 0)
    platform.events.queue("a", "x", platform.works, "anew")
    await platform.activity.idle()
    assert platform.pairs == ["anew"]


async def test_what_a_handler_left_behind_takes_no_turn() -> None:
    platform = Platform()
    left: list[asyncio.Task[None]] = []

    async def leaves(_: object) -> None:
        left.append(asyncio.ensure_future(platform.hold(5, 1)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    platform.events.queue("a", "x", leaves, None)
    await asyncio.sleep(0.001)
    platform.events.queue("a", "y", platform.works, "after")
    await asyncio.sleep(0.001)
    assert platform.pairs == ["after"]
    assert platform.turns.working == 0
    for task in left:
        task.cancel()
