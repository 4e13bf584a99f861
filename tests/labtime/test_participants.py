"""Activity: participants that must have settled too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from labkit.labtime.activity import Activity


class Stub:
    """Participant whose answers are given in advance; then it has always settled.

    answers: what it returns, or raises; act: called each time before; open: it answers once this is set.
    """

    def __init__(self, *answers: bool | Exception, act: Callable[[], object] = lambda: None) -> None:
        self.answers = list(answers)
        self.act = act
        self.open = asyncio.Event()
        self.open.set()
        self.asked = self.asking = self.most = 0

    async def settle(self) -> bool:
        self.asked += 1
        self.asking += 1
        self.most = max(self.most, self.asking)
        try:
            self.act()
            await self.open.wait()
        finally:
            self.asking -= 1
        answer = self.answers.pop(0) if self.answers else True
        if isinstance(answer, Exception):
            raise answer
        return answer


def joined(*stubs: Stub) -> Activity:
    activity = Activity()
    for each in stubs:
        activity.join(each)
    return activity


async def test_idle_asks_until_each_participant_has_settled() -> None:
    first, second = Stub(False, True, True), Stub(False, True)
    await joined(first, second).idle()
    assert (first.asked, second.asked) == (3, 2)
    assert not first.answers


async def test_a_participant_is_asked_only_while_no_work_is_pending() -> None:
    stub = Stub(act=lambda: seen.append(activity.running))
    activity, seen = joined(stub), list[int]()
    activity.begin()
    idle = asyncio.ensure_future(activity.idle())
    await asyncio.sleep(0)
    assert seen == []
    activity.end()
    await idle
    assert seen == [0]


@pytest.mark.parametrize("ends", ["at once", "later"])
async def test_work_that_begins_while_a_participant_is_asked_begins_the_round_anew(ends: str) -> None:
    done: list[str] = []

    def end() -> None:
        done.append("work")
        activity.end()

    def act() -> None:
        if not done:
            activity.begin()
            if ends == "at once":
                end()
            else:
                asyncio.get_running_loop().call_later(0.001, end)

    stub, other = Stub(act=act), Stub()
    activity = joined(stub, other)
    await activity.idle()
    assert (done, stub.asked, other.asked) == (["work"], 2, 1)


async def test_a_participant_that_says_not_yet_leaves_the_loop_free() -> None:
    """Otherwise nothing could change its answer."""
    stub = Stub(*[False] * 50)
    activity, turns = joined(stub), 0

    def turn() -> None:
        nonlocal turns
        turns += 1
        if stub.answers:
            asyncio.get_running_loop().call_soon(turn)

    turn()
    await activity.idle()
    assert turns >= 50


async def test_concurrent_waiters_share_one_round() -> None:
    stub = Stub()
    stub.open.clear()
    activity = joined(stub)
    waiting = [asyncio.ensure_future(activity.idle()) for _ in range(3)]
    for _ in range(3):
        await asyncio.sleep(0)
    assert not any(each.done() for each in waiting)
    stub.open.set()
    await asyncio.gather(*waiting)
    assert (stub.asked, stub.most) == (1, 1)


async def test_work_that_the_first_waiter_begins_keeps_the_second_waiting() -> None:
    stub = Stub()
    stub.open.clear()
    activity = joined(stub)

    async def first() -> None:
        await activity.idle()
        activity.begin()

    begun = asyncio.ensure_future(first())
    await asyncio.sleep(0)
    second = asyncio.ensure_future(activity.idle())
    await asyncio.sleep(0)
    stub.open.set()
    await begun
    for _ in range(5):
        await asyncio.sleep(0)
    assert not second.done()
    activity.end()
    await second
    assert stub.asked == 2


@pytest.mark.parametrize("cancelled", [0, 1])
async def test_a_cancelled_waiter_does_not_affect_the_others(cancelled: int) -> None:
    """Also if it was the one that asked."""
    stub = Stub()
    stub.open.clear()
    activity = joined(stub)
    waiting = [asyncio.ensure_future(activity.idle()) for _ in range(3)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting.pop(cancelled).cancel()
    await asyncio.sleep(0)
    stub.open.set()
    await asyncio.gather(*waiting)
    assert (stub.most, stub.asking) == (1, 0)


async def test_a_question_ends_with_its_only_waiter() -> None:
    stub = Stub()
    stub.open.clear()
    activity = joined(stub)
    waiting = asyncio.ensure_future(activity.idle())
    await asyncio.sleep(0)
    assert stub.asking == 1
    waiting.cancel()
    await asyncio.wait([waiting])
    assert (waiting.cancelled(), stub.asking) == (True, 0)


async def test_every_waiter_raises_the_error_of_a_participant() -> None:
    error = RuntimeError("it does not wait")
    stub = Stub(error)
    stub.open.clear()
    activity = joined(stub)
    waiting = [asyncio.ensure_future(activity.idle()) for _ in range(3)]
    await asyncio.sleep(0)
    stub.open.set()
    assert await asyncio.gather(*waiting, return_exceptions=True) == [error] * 3
    await activity.idle()  # asks again
    assert stub.asked == 2


async def test_nobody_waits_for_a_participant_that_left() -> None:
    stub, other = Stub(*[False] * 9), Stub()
    activity = joined(stub, other)
    activity.leave(stub)
    activity.leave(stub)
    await activity.idle()
    assert (stub.asked, other.asked, activity.shared) == (0, 1, True)
    activity.leave(other)
    await activity.idle()
    assert (other.asked, activity.shared) == (1, False)


async def test_a_participant_may_leave_while_it_is_asked() -> None:
    stub = Stub(*[False] * 9, act=lambda: activity.leave(stub))
    activity = joined(stub)
    await activity.idle()
    assert stub.asked == 1


async def test_a_participant_that_joins_while_another_is_asked_is_asked_too() -> None:
    late = Stub(False)
    stub = Stub(act=lambda: activity.join(late))
    activity = joined(stub)
    await activity.idle()
    assert late.asked == 2


async def test_a_participant_that_joins_twice_is_asked_once() -> None:
    stub = Stub()
    await joined(stub, stub).idle()
    assert stub.asked == 1


async def test_ended_waits_for_work_alone() -> None:
    stub = Stub(RuntimeError("asked"))
    activity = joined(stub)
    activity.begin()
    ended = asyncio.ensure_future(activity.ended())
    await asyncio.sleep(0)
    assert not ended.done()
    activity.end()
    await ended
    assert stub.asked == 0
