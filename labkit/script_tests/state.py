"""A Lua state that runs on the calling thread: its calls block until their results are there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from importlib.resources import files
from itertools import count
from typing import Any

from labkit.core.code_lines import LineCounts
from labkit.core.errors import LabkitError
from labkit.solutions.folders.scripts import ScriptSource
from labkit.solutions.lua.convert import from_lua, to_bytes, to_lua
from labkit.solutions.lua.errors import LuaError
from labkit.solutions.lua.fibers import Fibers
from labkit.solutions.lua.limits import LuaLimits
from labkit.solutions.lua.program import Module, Script
from labkit.solutions.lua.runtime import Call, Done, LuaState

Ask = Callable[[str, str, Any], object]  # service, operation, arguments
LIMITS = LuaLimits(cpu_setting="")


class BlockingState:
    """A sandboxed Lua state, as the platform's scripts have, for one thread.

    ask: makes a call of a service; a LabkitError becomes an error in Lua. write: gets the lines of print and log. now:
    lab seconds, the only time that scripts see. seed: text from which random numbers are made.
    """

    def __init__(
        self, ask: Ask, *, write: Callable[[str], None], now: Callable[[], float], seed: str
    ) -> None:
        self.ask = ask
        blocks = count()
        self._state = LuaState(
            write_log=lambda _, text: write(text),
            now=now,
            random=lambda size: hashlib.shake_128(f"{seed} {next(blocks)}".encode()).digest(size),
            call=lambda *_: None,  # each call is made by `run`
            began=now(),
            seeded=True,
            environment={},
            limits=LIMITS,
        )
        self._fibers = Fibers()
        self._numbers = count(1)

    def add_module(self, module: Module) -> None:
        """Add a module for require, compiled once for all states. Raises LuaSyntaxError."""
        self._state.add_module(module)

    def own(self, name: str) -> None:
        """Run a file of this package."""
        source = files(__package__).joinpath("prelude", f"{name}.lua").read_text("utf-8")
        self.run(source, f"[labkit]/{name}.lua")

    def run(
        self, source: str, file: str, parameters: Sequence[str] = (), arguments: Sequence[object] = ()
    ) -> Any:
        """Compile and run a text, and return what it returns. Raises LuaError, also LuaSyntaxError."""
        number = next(self._numbers)
        script = Script(file, source, tuple(parameters), file, 1, (), {}, "", publish=False)
        self._state.load(number, script)
        step = self._enter(
            *self._state.start(number, [to_lua(each, LIMITS.value_bytes) for each in arguments])
        )
        while isinstance(step, Call):
            step = self._enter(*self._state.answer(*self._answer(step)))
        return from_lua(step.values[0])

    def cover(self) -> None:
        """Count the lines that run from now on."""
        self._state.cover()

    def covered(self) -> LineCounts:
        """Return how often each line ran since `cover`, by file and line."""
        return self._state.covered()

    def lines(self, script: ScriptSource) -> set[int]:
        """Return the lines of a script's file that can run. Raises LuaSyntaxError."""
        return self._state.lines(script)

    def _enter(self, enter: Callable[..., tuple[Any, ...]], arguments: tuple[Any, ...]) -> Call | Done:
        answers: list[Any] = []
        fiber = self._fibers.take()
        ended = fiber.switch(enter, arguments, answers)
        while not ended:  # it has run for long, and lets others go first: there are none
            ended = fiber.switch(True)
        self._fibers.give_back(fiber)
        return self._state.outcome(answers.pop())

    def _answer(self, call: Call) -> tuple[bool, bytes]:
        """Return the arguments of `LuaState.answer` for a call."""
        try:
            result = self.ask(call.service, call.operation, from_lua(call.arguments))
            return True, to_lua(result, LIMITS.value_bytes)
        except LuaError as error:
            return False, to_bytes(f"{call.service}.{call.operation}: {error}")
        except LabkitError as error:
            return False, to_bytes(str(error))


class FileModule(Module):
    """A module whose file has a name of its own in messages."""

    __slots__ = ("_file",)

    def __init__(self, name: str, source: str, file: str) -> None:
        super().__init__(name, source)
        self._file = file

    @property
    def file(self) -> str:
        return self._file
