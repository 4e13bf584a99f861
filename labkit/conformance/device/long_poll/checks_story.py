"""Long polling: random stories of clients, to find values that a client misses or gets twice."""

from __future__ import annotations

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.device.long_poll.checks_seen import ANSWERS
from labkit.conformance.device.long_poll.story import Habits, play
from labkit.conformance.target import Target
from labkit.core.chance import chance

STORIES = 2  # of each kind of clients
VALUES = 12
LOSES = 0.4


@check(
    "DEV-POLL-8 DEV-POLL-21 DEV-POLL-27",
    "concurrent clients that keep their connections get every value once",
)
async def side_by_side(target: Target) -> None:
    await _each_once(target, [Habits(keeps=True)] * 3)


@check(
    "DEV-POLL-8 DEV-POLL-28",
    "a client that keeps its connection gets every value once, though answers are lost",
)
async def kept_connection(target: Target) -> None:
    await _each_once(target, [Habits(keeps=True, loses=LOSES, in_a_row=ANSWERS - 1)])


@check(
    "DEV-POLL-8 DEV-POLL-28 DEV-POLL-30",
    "a client with a new connection for each poll gets every value once, though answers are lost",
)
async def new_connection_each_time(target: Target) -> None:
    await _each_once(target, [Habits(keeps=False, loses=LOSES, in_a_row=ANSWERS - 1)])


async def _each_once(target: Target, habits: list[Habits]) -> None:
    for _ in range(STORIES):
        drawn = chance(target.seed("stories"))
        for got in await play(target, drawn, habits, VALUES):
            expect.equal("the values that a client got", list(got), [str(value) for value in range(VALUES)])
