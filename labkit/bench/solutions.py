"""Cost of a call from one solution to another, and of the script limits when a script processes a long text.

The call is measured beside the same work as a plain call within one script. Both are runs of a Lua script at
the subscriber, without HTTP around them; `keystore` is a script that calls Keystore instead, `unchecked` one
with an operation without a schema, `direct` the call alone, as a cell makes it. For the text, `..._plain` is
the cost of the same script in plain LuaJIT.
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
from labkit.solutions.lua import LuaHost
from labkit.solutions.lua.globals import NoServices
from labkit.solutions.lua.runtime import luajit
from labkit.solutions.solution import PlatformSolution

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


def repeat_call(call: Callable[[Any], Awaitable[object]], given: object) -> Variant:
    """Return a variant whose calls all get the same parameter."""

    async def supply(number: int) -> list[Any]:
        return list(repeat(given, number))

    return Variant(supply, call)


async def call(stack: AsyncExitStack, size: int) -> Variants:
    """Measure a script's call of another solution's operation."""
    settings = LabSettings(
        https_port=0,
        solutions=(
            SolutionSettings(id="lights", services={"Interface": {"operations": OPERATIONS}}),
            SolutionSettings(id="home", subscriptions=(SubscriptionSettings(publisher="lights"),)),
        ),
    )
    platform = await stack.enter_async_context(Platform(settings))
    home = platform.solutions.get("home")
    variants = {name: repeat_call(_run(home, name, lua), ORDER) for name, lua in SCRIPTS.items()}

    async def direct(order: dict[str, object]) -> None:
        _same(await platform.services.call(Caller("home"), "Lights", "light", order))

    return {**variants, "direct": repeat_call(direct, ORDER)}


def _run(solution: PlatformSolution, name: str, lua: str) -> Callable[[Any], Awaitable[None]]:
    """Return a function that runs a script of a solution with its parameter as `event`."""
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


TEXT = """
local rows = {}
for i = 1, 50000 do rows[i] = "device-" .. i .. ",21.5,on," .. i * 7 end
text = table.concat(rows, "\\n") .. "\\n"
"""
FIELDS = 200_000
SPLIT = {
    "": """
        local n, at = 0, 1
        while true do
          local stop = text:find("\\n", at, true)
          if not stop then return n end
          local line, from = text:sub(at, stop - 1), 1
          while from do
            local comma = line:find(",", from, true)
            if #line:sub(from, comma and comma - 1) > 0 then n = n + 1 end
            from = comma and comma + 1
          end
          at = stop + 1
        end""",
    "gmatch": """
        local n = 0
        for line in text:gmatch("[^\\n]+") do
          for field in line:gmatch("[^,]+") do n = n + 1 end
        end
        return n""",
    "gsub": """
        local n = 0
        text:gsub("[^\\n]+", function(line) line:gsub("[^,]+", function(field) n = n + 1 end) end)
        return n""",
    "match": """
        local n, at = 0, 1
        while true do
          local a, b, c, d, next = text:match("([^,\\n]*),([^,\\n]*),([^,\\n]*),([^,\\n]*)\\n()", at)
          if not a then return n end
          n, at = n + 4, next
        end""",
}


async def split(stack: AsyncExitStack, size: int) -> Variants:
    """Measure a script that splits a text, in several ways."""
    host = LuaHost(services=NoServices(), write_log=lambda *line: None, now=lambda: 0.0, random_seed=1)
    await host.run(host.load("text", TEXT))
    plain = luajit().LuaRuntime()
    plain.execute(f"jit.off() {TEXT}")
    return {
        name: repeat_call(variant, None)
        for way, source in SPLIT.items()
        for name, variant in (
            (way or "lab", _in_host(host, source)),
            (f"{way}_plain" if way else "baseline", _alone(plain.eval(f"function() {source} end"))),
        )
    }


def _in_host(host: LuaHost, source: str) -> Callable[[Any], Awaitable[None]]:
    function = host.load("split", source, publish=False)

    async def run(_: object) -> None:
        _count((await host.run(function)).value)

    return run


def _alone(function: Callable[[], int]) -> Callable[[Any], Awaitable[None]]:
    async def run(_: object) -> None:
        _count(function())

    return run


def _count(fields: object) -> None:
    if fields != FIELDS:
        raise BenchError(f"expected {FIELDS} fields, got {fields!r}")


VARIANTS: dict[str, Callable[[AsyncExitStack, int], Awaitable[Variants]]] = {
    "interface-call": call,
    "script-text": split,
}
