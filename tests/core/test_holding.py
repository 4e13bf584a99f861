"""What is held: counts by actor, listeners, and the lab's activity."""

from __future__ import annotations

import asyncio

from labkit.core.activity import Activity
from labkit.core.holding import Holding


async def test_what_is_held_is_no_activity() -> None:
    activity = Activity()
    holding = Holding(activity)
    with activity:
        holding.begin("p/d")
        await asyncio.wait_for(activity.idle(), 5)
        holding.end("p/d")
        assert activity.running == 1
    assert activity.running == 0


def test_counts_go_by_actor() -> None:
    activity = Activity()
    holding = Holding(activity)
    for actor in ("p/a", "p/a", "q/a"):
        holding.begin(actor)
    assert (holding.count("p/a"), holding.count("q/a"), holding.count("p/b"), len(holding)) == (2, 1, 0, 3)
    holding.end("p/a")
    assert (holding.count("p/a"), len(holding)) == (1, 2)


def test_listeners_hear_of_each_until_they_stop() -> None:
    heard: list[tuple[str, str]] = []
    holding = Holding(Activity())
    stop = holding.watch(
        lambda actor: heard.append(("began", actor)), lambda actor: heard.append(("ended", actor))
    )
    holding.begin("p/a")
    holding.end("p/a")
    stop()
    holding.begin("p/a")
    assert heard == [("began", "p/a"), ("ended", "p/a")]


async def test_released_waits_for_the_last_of_its_actor() -> None:
    holding = Holding(Activity())
    await asyncio.wait_for(holding.released("p/a"), 5)
    for actor in ("p/a", "p/a", "p/b"):
        holding.begin(actor)
    waiting = asyncio.ensure_future(holding.released("p/a"))
    await asyncio.sleep(0)
    holding.end("p/b")
    holding.end("p/a")
    await asyncio.sleep(0)
    assert not waiting.done()
    holding.end("p/a")
    await asyncio.wait_for(waiting, 5)
