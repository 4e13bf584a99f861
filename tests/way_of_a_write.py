"""Trace of one write: from the bytes that a device sends over HTTPS to the first service call of a Lua handler.

`python -m tests.way_of_a_write` draws it anew in tests/README.md.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any, NamedTuple

from greenlet import getcurrent

import labkit
from labkit.services.keystore.embedded import Embedded
from labkit.solutions.lua.runtime import LuaState
from tests.device_api.rig import ACTIVATE, ALIAS, device_rig

PACKAGE = Path(labkit.__file__).parent
FORKING = PACKAGE / "conformance"  # its server may have forked the process that runs tests
PAGE = Path(__file__).parent / "README.md"
BEGIN, END = "```mermaid\n", "```\n"
HANDLER = """--#EVENT device datapoint
Keystore.command({key = "count", command = "incrby", args = {1}})
"""


class Function(NamedTuple):
    """A function of labkit. file: below the package."""

    file: str
    name: str


class Stack(NamedTuple):
    """Functions of labkit, the outermost first, and the stack that scheduled the task or callback they run in."""

    functions: tuple[Function, ...]
    scheduled_by: Stack | None


class Way(NamedTuple):
    """The functions that a write passes. stacks: from the connection's to that of the service call; into_lua: from the
    script's handler to LuaJIT.
    """

    stacks: Sequence[tuple[Function, ...]]
    into_lua: tuple[Function, ...]

    @property
    def functions(self) -> list[Function]:
        """All functions on the stacks, each once, in order."""
        return list(dict.fromkeys(function for stack in self.stacks for function in stack))


class Tracer:
    """Records the stack of the first call of each of some functions, while `tracing`."""

    def __init__(self, *watched: Callable[..., object]) -> None:
        self.stacks: dict[CodeType, Stack] = {}
        self._watched = {each.__code__ for each in watched}
        self._scheduled_by: Stack | None = None  # the stack that scheduled the running callback

    @contextmanager
    def tracing(self) -> Iterator[None]:
        """Trace all functions that run on the loop in this context."""
        loop: Any = asyncio.get_running_loop()
        original = loop.call_soon

        def call_soon(callback: Callable[..., object], *args: Any, context: Context | None = None) -> Any:
            by = self._stack(sys._getframe(1))

            def run() -> None:
                before, self._scheduled_by = self._scheduled_by, by
                try:
                    callback(*args)
                finally:
                    self._scheduled_by = before

            return original(run, context=context)

        loop.call_soon = call_soon
        profile = sys.getprofile()
        sys.setprofile(self._profile)
        try:
            yield
        finally:
            sys.setprofile(profile)
            del loop.call_soon

    def _profile(self, frame: FrameType, event: str, arg: object) -> None:
        if event == "call" and frame.f_code in self._watched and frame.f_code not in self.stacks:
            self.stacks[frame.f_code] = self._stack(frame)

    def _stack(self, frame: FrameType | None) -> Stack:
        functions: list[Function] = []
        fiber = getcurrent()
        while frame is not None:
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(PACKAGE) and not path.is_relative_to(FORKING):
                file = path.relative_to(PACKAGE).as_posix()
                functions.append(Function(file, frame.f_code.co_qualname))
            frame = frame.f_back
            if frame is None and (fiber := fiber.parent) is not None:  # Lua runs in a greenlet
                frame = fiber.gr_frame
        return Stack(tuple(reversed(functions)), self._scheduled_by)


async def trace() -> Way:
    """Return the way of a device's second write."""
    tracer = Tracer(Embedded.answer, LuaState.start)
    with TemporaryDirectory() as folder:
        script = Path(folder) / "services" / "count.lua"
        script.parent.mkdir()
        script.write_text(HANDLER)
        solution = {"id": "count", "path": folder, "products": ["token"]}
        async with device_rig(solutions=[solution]) as rig:
            client = await rig.connect(tls=True)
            token = (await client.ask("POST", ACTIVATE, "id=d")).body.decode()
            client.credentials = [("X-Platform-CIK", token)]
            await client.ask("POST", ALIAS, "text=1")
            await rig.idle()
            with tracer.tracing():
                await client.ask("POST", ALIAS, "text=2")
                await rig.idle()
    stack = tracer.stacks[Embedded.answer.__code__]
    stacks = [stack.functions[:-1]]  # up to the service's own function, which Lua calls
    while not stacks[0][0].name.endswith(".data_received"):
        assert stack.scheduled_by is not None, stacks
        stack = stack.scheduled_by
        stacks.insert(0, stack.functions)
    outer = tracer.stacks[LuaState.start.__code__].functions
    handler = next(number for number, each in enumerate(outer) if each.name == "ScriptHandler.__call__")
    return Way(stacks, outer[handler + 1 :])


def picture(way: Way) -> str:
    """Return the path as a Mermaid flow chart: an arrow is a call, a dotted one schedules a task or a callback."""
    lines = ["flowchart TD"]
    names: dict[Function, str] = {}
    for function in (*way.functions, *way.into_lua):
        if function not in names:
            names[function] = f"f{len(names)}"
            lines.append(f'  {names[function]}["{function.name}<br>{function.file}"]')
    before: Function | None = None
    for stack in (*way.stacks, way.into_lua):
        if before is not None and stack is not way.into_lua:
            lines.append(f"  {names[before]} -.-> {names[stack[0]]}")
        for caller, called in pairwise(stack):
            arrow = f"  {names[caller]} --> {names[called]}"
            if arrow not in lines:
                lines.append(arrow)
        before = stack[-1]
    return "\n".join(lines) + "\n"


def stored() -> str:
    """Return the picture in the page."""
    return PAGE.read_text().partition(BEGIN)[2].partition(END)[0]


def main() -> None:
    """Draw the path anew in the page."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + BEGIN + picture(asyncio.run(trace())) + END + after)


if __name__ == "__main__":
    main()
