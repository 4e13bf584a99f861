"""Turns: on a driven clock, handlers run one at a time in the order of their events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.guard import PATIENCE
from tests.labtime.rig import Platform


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(0, 4)), min_size=1, max_size=20
    )
)
async def test_handlers_run_one_at_a_time_in_the_order_of_events(
    queued: list[tuple[str, str, int]],
) -> None:
    platform = Platform()
    for number, (source, receiver, turns_of_the_loop) in enumerate(queued):
        handler = partial(platform.run_logged, turns_of_the_loop=turns_of_the_loop)
        platform.events.queue(source, receiver, handler, number)
    await platform.activity.idle()
    assert platform.uninterrupted == [str(number) for number in range(len(queued))]


async def test_handlers_are_concurrent_unless_the_clock_is_driven() -> None:
    platform = Platform(driven=False)
    for receiver in "xy":
        platform.events.queue("a", receiver, platform.run_logged, receiver)
    await platform.activity.idle()
    assert platform.log == ["x begins", "y begins", "x ends", "y ends"]


async def test_others_run_while_one_is_delayed_and_delays_that_end_together_continue_one_by_one() -> None:
    platform = Platform()
    for number in range(3):
        platform.events.queue("a", f"held {number}", platform.held, number)
    platform.events.queue("a", "held 1", platform.run_logged, "behind")
    platform.events.queue("a", "free", platform.run_logged, "free")
    await platform.activity.idle()
    assert platform.uninterrupted == ["0 early", "1 early", "2 early", "free"]
    await platform.advance(5)
    assert platform.uninterrupted[4:] == ["0 late", "1 late", "behind", "2 late"]
    assert (platform.turns.working, platform.activity.running) == (0, 0)


async def test_a_handler_that_waits_for_branches_lets_them_take_turns() -> None:
    platform = Platform()

    async def asks(name: str) -> None:
        branches: list[Callable[[], Any]] = [
            partial(platform.held, 1),
            partial(platform.run_logged, "branch"),
        ]
        await platform.turns.gather(branches)
        await platform.run_logged(name)

    platform.events.queue("a", "x", asks, "asked")
    platform.events.queue("a", "y", platform.run_logged, "beside")
    await platform.activity.idle()
    assert platform.uninterrupted == ["1 early", "branch", "beside"]
    await platform.advance(5)
    assert platform.uninterrupted[3:] == ["1 late", "asked"]
    assert (platform.turns.working, platform.activity.running) == (0, 0)


async def test_a_handler_that_waits_for_others_is_not_pending_and_has_no_turn() -> None:
    platform = Platform()
    free = asyncio.Event()

    async def waits(name: str) -> None:
        async with platform.turns.released():
            await free.wait()
        await platform.run_logged(name)

    platform.events.queue("a", "x", waits, "first")
    platform.events.queue("a", "y", platform.run_logged, "second")
    await platform.activity.idle()
    assert platform.uninterrupted == ["second"]
    free.set()
    await asyncio.sleep(0)
    await platform.activity.idle()
    assert platform.uninterrupted == ["second", "first"]


async def test_a_cancelled_branch_blocks_no_other() -> None:
    platform = Platform()
    never = asyncio.Event()

    async def asks(_: object) -> None:
        try:
            async with asyncio.timeout(0.001):
                await platform.turns.gather([never.wait, never.wait])
        except TimeoutError:
            await platform.run_logged("given up")

    platform.events.queue("a", "x", asks, None)
    platform.events.queue("a", "y", platform.run_logged, "after")
    await platform.activity.idle()
    assert sorted(platform.uninterrupted) == ["after", "given up"]
    assert platform.turns.working == 0


async def test_a_crash_leaves_no_turn() -> None:
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
    platform.events.queue("a", "x", platform.run_logged, "anew")
    await platform.activity.idle()
    assert platform.uninterrupted == ["anew"]


async def test_a_task_that_a_handler_left_behind_takes_no_turn() -> None:
    platform = Platform()
    left: list[asyncio.Task[None]] = []

    async def leaves(_: object) -> None:
        left.append(asyncio.ensure_future(platform.hold(5, 1)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    platform.events.queue("a", "x", leaves, None)
    while not left or platform.turns.working:  # noqa: ASYNC110  of the code that is tested
        await asyncio.sleep(0)
    platform.events.queue("a", "y", platform.run_logged, "after")
    async with asyncio.timeout(PATIENCE):  # else it waits for the turn that the task has
        while "after ends" not in platform.log or platform.turns.working:  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert platform.uninterrupted == ["after"]
    for task in left:
        task.cancel()
