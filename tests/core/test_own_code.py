"""Random trees of tasks in an async function: its own code and its service calls never overlap on a driven clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.core.process import loop_factory
from labkit.labtime.branches import Branches
from labkit.labtime.scheduled import ScheduledCallbacks, uncounted
from tests.labtime.rig import Platform

Tree: TypeAlias = tuple[str, Any]

LEAVES: st.SearchStrategy[Tree] = st.one_of(
    st.tuples(st.just("call"), st.sampled_from([0.0, 0.0, 3.0, 5.0])),  # seconds of lab time that delay it
    st.tuples(st.just("code"), st.integers(0, 25)),  # turns of the loop
)
TREES: st.SearchStrategy[Tree] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["row", "gather", "group", "wait", "queue"]), st.lists(inner, max_size=3)),
        st.tuples(st.sampled_from(["wait_for", "shield", "task"]), inner),
    ),
    max_leaves=8,
)
REAL = (0.0, 0.0004, 0.0001, 0.0, 0.0009, 0.0002)  # seconds that calls take


@dataclass
class Story:
    """The run of two functions on a platform. log: each step in order; real: seconds of real time per call."""

    platform: Platform
    real: Iterator[float]
    log: list[str] = field(default_factory=list)
    calls: int = 0
    code: int = 0

    @contextmanager
    def during(self, what: str, name: str) -> Iterator[None]:
        """Count a call, or own code, and assert that nothing that excludes it is in progress."""
        vars(self)[what] += 1
        self.log.append(f"{name} begins")
        self.check()
        yield
        self.check()
        self.log.append(f"{name} ends")
        vars(self)[what] -= 1

    def check(self) -> None:
        assert self.calls <= 1, self.log
        assert not (self.calls and self.code), self.log

    async def called(self, name: str, lab: float) -> None:
        if lab:
            await self.platform.hold(lab, hash(name))
        with self.during("calls", name):
            await asyncio.sleep(next(self.real))

    async def play(self, tree: Tree, branches: Branches, name: str) -> None:
        kind, of = tree
        if kind == "call":
            await branches.call(partial(self.called, name, of))
        elif kind == "code":
            with self.during("code", name):
                for _ in range(of):
                    await asyncio.sleep(0)
                    self.check()
        elif kind in ("wait_for", "shield", "task"):
            await _alone(kind, self.play(of, branches, f"{name}.{kind}"))
        else:
            await _several(
                kind, [partial(self.play, each, branches, f"{name}.{n}") for n, each in enumerate(of)]
            )

    async def run(self, tree: Tree, name: str, _: object) -> None:
        with Branches(self.platform.turns) as branches:
            await asyncio.create_task(self.play(tree, branches, name))


async def _alone(kind: str, work: Any) -> None:
    if kind == "wait_for":
        await asyncio.wait_for(work, 60)
    elif kind == "shield":
        await asyncio.shield(work)
    else:
        await asyncio.create_task(work)


async def _several(kind: str, works: list[Callable[[], Any]]) -> None:
    if kind == "row":
        for work in works:
            await work()
    elif kind == "gather":
        await asyncio.gather(*(work() for work in works))
    elif kind == "group":
        async with asyncio.TaskGroup() as group:
            for work in works:
                group.create_task(work())
    elif kind == "wait":
        tasks = {asyncio.ensure_future(work()) for work in works}
        while tasks:
            _, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    else:
        await _through_a_queue(works)


async def _through_a_queue(works: list[Callable[[], Any]]) -> None:
    queue: asyncio.Queue[Callable[[], Any] | None] = asyncio.Queue(1)

    async def consume() -> None:
        while (work := await queue.get()) is not None:
            await work()

    consumers = [asyncio.create_task(consume()) for _ in range(2)]
    for work in (*works, None, None):
        await queue.put(work)
    await asyncio.gather(*consumers)


async def played(trees: list[Tree], real: Iterator[float], turns: int = 0) -> list[str]:
    """Run trees on a driven clock. turns: of the loop, for which the platform has to stay idle each time."""
    platform = Platform(turns=turns)
    story = Story(platform, real)
    for number, tree in enumerate(trees):
        platform.events.queue("a", f"{number}", partial(story.run, tree, f"{number}"), None)
    await platform.idle()
    await platform.advance(60)
    assert (platform.turns.working, platform.activity.running, story.calls, story.code) == (0, 0, 0, 0)
    return story.log


@pytest.mark.parametrize("loop", [None, loop_factory()], ids=["asyncio", "the platform's"])
@settings(max_examples=60, deadline=None)
@given(trees=st.lists(TREES, min_size=1, max_size=2), shift=st.integers(1, len(REAL) - 1))
def test_own_code_and_calls_exclude_each_other_in_the_same_order(
    loop: Callable[[], asyncio.AbstractEventLoop] | None, trees: list[Tree], shift: int
) -> None:
    """Independent of the real time that each call takes."""

    def log(times: tuple[float, ...]) -> list[str]:
        with asyncio.Runner(loop_factory=loop) as runner:
            endless = (times[number % len(times)] for number in iter(range(10_000)))
            return runner.run(played(trees, endless))

    assert log(REAL) == log(REAL[shift:] + REAL[:shift])


@pytest.mark.parametrize("loop", [None, loop_factory()], ids=["asyncio", "the platform's"])
@settings(max_examples=30, deadline=None)
@given(trees=st.lists(TREES, min_size=1, max_size=2), turns=st.integers(1, 12))
def test_no_step_remains_for_later_turns_of_the_loop_once_the_platform_is_idle(
    loop: Callable[[], asyncio.AbstractEventLoop] | None, trees: list[Tree], turns: int
) -> None:
    def log(turns: int) -> list[str]:
        with asyncio.Runner(loop_factory=loop) as runner:
            return runner.run(played(trees, iter(lambda: 0.0, None), turns))

    assert log(0) == log(turns)


async def test_callbacks_of_the_platforms_own_code_are_not_counted() -> None:
    seen: list[str] = []
    with ScheduledCallbacks(lambda: seen.append("some"), lambda: seen.append("none")):
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert seen == ["some"]
        with uncounted():
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert seen == ["some", "none"]
        await asyncio.sleep(0)
    assert seen == ["some", "none", "some"]


async def test_the_loops_own_call_soon_is_restored_once_no_function_runs() -> None:
    platform = Platform()
    loop = asyncio.get_running_loop()

    async def run(_: object) -> None:
        with Branches(platform.turns) as branches:
            assert "call_soon" in vars(loop)
            await asyncio.gather(*(branches.call(partial(platform.run_logged, name)) for name in "ab"))

    for receiver in "xy":
        platform.events.queue("a", receiver, run, None)
    await platform.activity.idle()
    assert "call_soon" not in vars(loop)


async def test_a_cancelled_callback_does_not_keep_the_function_from_resting() -> None:
    platform = Platform()
    loop = asyncio.get_running_loop()

    async def run(_: object) -> None:
        with Branches(platform.turns) as branches:
            call = asyncio.ensure_future(branches.call(partial(platform.run_logged, "call")))
            loop.call_soon(platform.log.append, "never").cancel()
            await call

    platform.events.queue("a", "x", run, None)
    await platform.activity.idle()
    assert platform.uninterrupted == ["call"]
