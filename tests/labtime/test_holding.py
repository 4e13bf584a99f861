"""Delayed work: counts by actor, listeners, and its effect on the lab's activity."""

from __future__ import annotations

import asyncio

from labkit.labtime.activity import Activity
from labkit.labtime.holding import Holding
from tests.guard import PATIENCE


async def test_delayed_work_is_not_pending() -> None:
    activity = Activity()
    holding = Holding(activity)
    with activity:
        holding.begin("p/d")
        await asyncio.wait_for(activity.idle(), PATIENCE)
        holding.end("p/d")
        assert activity.running == 1
    assert activity.running == 0


def test_counts_are_by_actor() -> None:
    activity = Activity()
    holding = Holding(activity)
    for actor in ("p/a", "p/a", "q/a"):
        holding.begin(actor)
    assert (holding.count("p/a"), holding.count("q/a"), holding.count("p/b"), len(holding)) == (2, 1, 0, 3)
    holding.end("p/a")
    assert (holding.count("p/a"), len(holding)) == (1, 2)


def test_listeners_are_notified_until_they_stop() -> None:
    log: list[tuple[str, str]] = []
    holding = Holding(Activity())
    stop = holding.watch(
        lambda actor: log.append(("began", actor)), lambda actor: log.append(("ended", actor))
    )
    holding.begin("p/a")
    holding.end("p/a")
    stop()
    holding.begin("p/a")
    assert log == [("began", "p/a"), ("ended", "p/a")]


async def test_released_waits_for_the_actors_last_delay() -> None:
    holding = Holding(Activity())
    await asyncio.wait_for(holding.released("p/a"), PATIENCE)
    for actor in ("p/a", "p/a", "p/b"):
        holding.begin(actor)
    waiting = asyncio.ensure_future(holding.released("p/a"))
    await asyncio.sleep(0)
    holding.end("p/b")
    holding.end("p/a")
    await asyncio.sleep(0)
    assert not waiting.done()
    holding.end("p/a")
    await asyncio.wait_for(waiting, PATIENCE)
