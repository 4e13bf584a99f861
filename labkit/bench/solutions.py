"""What a call from one solution to another costs, beside the same work as a plain call within one script.

Both are runs of a Lua script at the subscriber, without HTTP around them; `keystore` is one that calls Keystore
instead, `unchecked` one of an operation without a schema, `direct` the call alone, as a cell makes it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from itertools import repeat
from typing import Any

from labkit.bench.control import BenchError
from labkit.bench.variant import Variant
from labkit.platform import Platform
from labkit.services.operation import Caller
from labkit.settings import LabSettings, SolutionSettings, SubscriptionSettings
from labkit.solutions.solution import Solution

WORK = """return {level = order.level, color = order.color, half = order.level / 2}"""
SCHEMA = {
    "title": "order",
    "type": "object",
    "required": ["level"],
    "properties": {
        "level": {"type": "integer", "minimum": 0, "maximum": 100},
        "color": {"type": "string", "maxLength": 20, "default": "white"},
    },
}
OPERATIONS = [
    {"name": "light", "parameters": SCHEMA, "script": WORK},
    {"name": "unchecked", "parameters": {"title": "order"}, "script": WORK},
]
ORDER = {"level": 7, "color": "red"}
GIVEN = {**ORDER, "half": 3.5}
SCRIPTS = {
    "lab": "return Lights.light{level = event.level, color = event.color}",
    "baseline": f"local function work(order) {WORK} end return work(event)",
    "unchecked": "return Lights.unchecked{level = event.level, color = event.color}",
    "keystore": 'Keystore.get{key = "level"} return {level = event.level, color = event.color, half = 3.5}',
}

Variants = dict[str, Variant]


def again(call: Callable[[Any], Awaitable[object]], given: object) -> Variant:
    """Calls that are given the same each time."""

    async def supply(number: int) -> list[Any]:
        return list(repeat(given, number))

    return Variant(supply, call)


async def call(stack: AsyncExitStack, size: int) -> Variants:
    """An operation of another solution, called by a script."""
    settings = LabSettings(
        https_port=0,
        solutions=(
            SolutionSettings(id="lights", services={"Interface": {"operations": OPERATIONS}}),
            SolutionSettings(id="home", subscriptions=(SubscriptionSettings(publisher="lights"),)),
        ),
    )
    platform = await stack.enter_async_context(Platform(settings))
    home = platform.solutions.get("home")
    variants = {name: again(_run(home, name, lua), ORDER) for name, lua in SCRIPTS.items()}

    async def direct(order: dict[str, object]) -> None:
        _same(await platform.services.call(Caller("home"), "Lights", "light", order))

    return {**variants, "direct": again(direct, ORDER)}


def _run(solution: Solution, name: str, lua: str) -> Callable[[Any], Awaitable[None]]:
    """Runs a script of a solution, whose `event` is what it is given."""
    solution.on("bench", name, lua=lua)
    registration = solution.find("bench", name)
    assert registration is not None

    async def run(order: dict[str, object]) -> None:
        outcome = await solution.handle(registration, ("bench", name), order)
        _same(outcome.result if outcome.error is None else outcome.error)

    return run


def _same(result: object) -> None:
    if result != GIVEN:
        raise BenchError(f"expected {GIVEN}, got {result!r}")


VARIANTS: dict[str, Callable[[AsyncExitStack, int], Awaitable[Variants]]] = {"interface-call": call}
