"""One LuaJIT state with labkit's prelude: the only file that touches lupa.

An allocation that fails outside of a protected call ends the process (LuaJIT panics), and lupa pushes
arguments outside of one. So the memory limit is lifted if they might exceed it; then the prelude sets
it again once they have arrived. For the same reason Lua returns only numbers, texts and nil, and never gets Python
objects.
"""

from __future__ import annotations

import os
import re
import sys
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, Literal, NamedTuple, NoReturn

from labkit.core.code_lines import LineCounts
from labkit.solutions.folders.scripts import ScriptSource
from labkit.solutions.lua.convert import DEPTH, Names, from_lua, to_bytes, to_text
from labkit.solutions.lua.errors import LuaError, LuaLimitError, LuaSyntaxError
from labkit.solutions.lua.fibers import pause
from labkit.solutions.lua.limits import LuaLimits
from labkit.solutions.lua.program import Module, Script

_DONE, _CALL, _FAILED, _LIMITED = 0, 1, 2, 3
_CALL_OVERHEAD = 1024 * 1024  # bytes that calling Lua takes at most, beside arguments
_NO_MEMORY = "memory limit: not enough to go on"
_POSITION = re.compile(r"^\[labkit\]/\w+\.lua:\d+: ")  # of no use to the author of a script


class Call(NamedTuple):
    """A service call that a run waits for.

    arguments: as convert.from_lua reads them; is_made: whether the call has been made (Current.take_outcome).
    """

    service: str
    operation: str
    arguments: bytes
    is_made: bool


class Done(NamedTuple):
    """The end of a run. values: its result, then the readback, as convert.from_lua reads them."""

    values: tuple[bytes | None, ...]


def luajit() -> Any:
    """Return lupa's LuaJIT module, loaded so that it uses its own symbols.

    fakeredis loads Lua 5.1 with global symbols, and a LuaJIT loaded after it would call Lua 5.1's functions.
    """
    flags = sys.getdlopenflags() if hasattr(sys, "getdlopenflags") else None
    if flags is not None:
        sys.setdlopenflags(flags | getattr(os, "RTLD_DEEPBIND", 0))
    try:
        return import_module("lupa.luajit21")
    finally:
        if flags is not None:
            sys.setdlopenflags(flags)


@cache
def _compiler() -> Callable[[bytes], bool]:
    """Return a Lua function that says whether a source compiles."""
    lua = luajit().LuaRuntime(encoding=None, register_eval=False, register_builtins=False)
    compiler: Callable[[bytes], bool] = lua.execute(
        b"local load = load; return function(source) return load(source, '', 't') ~= nil end"
    )
    return compiler


def compiles(source: bytes) -> bool:
    """Return whether LuaJIT can compile a source. Nothing of it runs."""
    return _compiler()(source)


Entry = tuple[
    Callable[..., tuple[Any, ...]], tuple[Any, ...]
]  # a function that enters Lua, and its arguments


class LuaState:
    """A Lua state, for one run at a time.

    A function that enters Lua runs it on the calling thread to its end or to a service call that waits; in a fiber, a
    long run is suspended in between.
    write_log gets (level, text); now returns lab seconds; random returns a number of random bytes. `outcome` raises
    their errors. call: makes a service call that needs no wait (Current.call); it must not raise, nor refer
    to this object. began: lab seconds at which os.clock is 0. seeded: pairs follows the order of the keys.
    """

    def __init__(
        self,
        *,
        write_log: Callable[[str, str], None],
        now: Callable[[], float],
        random: Callable[[int], bytes],
        call: Callable[[bytes, bytes, bytes, float, float | None], bytes | Literal[False] | None],
        began: float,
        seeded: bool,
        environment: Mapping[str, str],
        limits: LuaLimits,
    ) -> None:
        lupa = luajit()
        self._memory_error = lupa.LuaMemoryError
        self._write_log = write_log
        self._now = now
        self._failure: BaseException | None = None
        self._names = Names()
        self._lua = lupa.LuaRuntime(
            encoding=None,
            attribute_filter=_deny,
            register_eval=False,
            register_builtins=False,
            unpack_returned_tuples=True,
            max_memory=0,
        )
        self._limit_memory, self._used = self._lua.set_max_memory, self._lua.get_memory_used
        base = self._used(True)  # in total
        self._most = base + limits.memory_bytes
        self._room = self._most - _CALL_OVERHEAD
        # Much garbage of earlier runs is collected before the next one begins, since an allocation that fails does not
        # collect it.
        self._crowded = self._roomy = base + limits.memory_bytes // 4
        self._limited = False
        settings = {
            "cpu_seconds": limits.cpu_seconds,
            "cpu_setting": limits.cpu_setting.encode(),
            "memory_bytes": limits.memory_bytes,
            "base_bytes": base,
            "pattern_steps": limits.pattern_steps,
            "coroutines": limits.coroutines,
            "depth": DEPTH,
            "value_bytes": limits.value_bytes,
            "log_bytes": limits.log_bytes,
            "call_bytes": _CALL_OVERHEAD,
            "seeded": seeded,
            "began": began,
        }
        me = weakref.ref(self)  # avoids a reference cycle through Lua, which would outlive a run
        driver = self.library("main")(
            lambda name: me().library(name),  # type: ignore[union-attr]
            self._limit_memory,
            time.thread_time,
            pause,
            lambda: me().lab_time(),  # type: ignore[union-attr]
            lambda level, text: me()._log(level, text),  # type: ignore[union-attr]
            random,
            call,
            self._table({name: to_bytes(value) for name, value in environment.items()}),
            self._table(settings),
        )
        self._start, self._answer = driver[b"start"], driver[b"answer"]
        self._drop, self._collect, self._spent = driver[b"drop"], driver[b"collect"], driver[b"spent"]
        self._load, self._unload, self._add_module = driver[b"load"], driver[b"unload"], driver[b"add_module"]
        self._driver = driver

    def library(self, name: str | bytes) -> Any:
        """Return a compiled file of the prelude."""
        name = to_text(name) if isinstance(name, bytes) else name
        code = _prelude.get(name)
        if code is None:
            source = files(__package__).joinpath("prelude", f"{name}.lua").read_bytes()
            chunk = self._lua.compile(source, name=f"@[labkit]/{name}.lua".encode())
            _prelude[name] = self._lua.globals()[b"string"][b"dump"](chunk)
            return chunk
        return self._lua.compile(code)

    def _table(self, items: Mapping[str, object]) -> Any:
        return self._lua.table_from({to_bytes(name): value for name, value in items.items()})

    # An exception that passes through Lua would become an object within reach of scripts, so it is stored until Lua
    # returns.

    def _log(self, level: bytes, text: bytes) -> None:
        try:
            self._write_log(to_text(level), to_text(text))
        except BaseException as error:  # noqa: BLE001 - raised again as soon as Lua returns
            self._failure = error

    def lab_time(self) -> float:
        """Return lab seconds for Lua; an error of the clock is raised once Lua returns."""
        try:
            return float(self._now())
        except BaseException as error:  # noqa: BLE001 - raised again as soon as Lua returns
            self._failure = error
            return 0.0

    def start(self, number: int, arguments: Sequence[bytes]) -> Entry:
        """Prepare a run of the function `number`, and return how to enter Lua for it."""
        if self._used(True) > self._crowded:
            self._crowded = max(self._roomy, 2 * self.collect())
        safe = self._limit(sum(map(len, arguments)) if arguments else 0)
        return self._start, (number, safe, len(arguments), *arguments)

    def answer(self, good: bool, data: bytes) -> Entry:
        """Set the value with which the run resumes, or if not `good`, the error, which it may catch."""
        safe = self._used(True) + len(data) < self._room
        if safe != self._limited:
            self._limit(len(data))
        return self._answer, (good, safe, data)

    def _limit(self, size: int) -> bool:
        """Set the memory limit unless arguments of `size` bytes might exceed it. Return whether it is set."""
        safe: bool = self._used(True) + size < self._room
        if safe != self._limited:
            self._limit_memory(self._most if safe else 0, total=safe)
            self._limited = safe
        return safe

    def _lift(self) -> None:
        self._limit_memory(0)
        self._limited = False

    def outcome(self, answer: tuple[Any, ...] | BaseException) -> Call | Done:
        """Return the result of entering Lua, which gave this answer or raised it. Raises LuaError."""
        if isinstance(answer, BaseException):
            try:
                self._raise(answer)
            finally:
                del answer  # avoids a reference cycle of the error and this frame
        kind = answer[0]
        if kind == _CALL and self._failure is None:  # the most frequent case
            self._limited = True
            _, service, operation, arguments, is_made = answer
            return Call(self._names[service], self._names[operation], arguments, is_made)
        self._limited = kind in (_DONE, _CALL)  # otherwise the prelude lifted the limit
        if self._failure is not None:
            failure, self._failure = self._failure, None
            if kind == _CALL:
                self.drop()
            raise failure
        if kind == _FAILED:
            raise LuaError(_POSITION.sub("", to_text(answer[1])), _tidy(answer[2]))
        if kind == _LIMITED:
            raise LuaLimitError(to_text(answer[3]), to_text(answer[1]), _tidy(answer[2]))
        return Done(answer[1:])

    def _raise(self, error: BaseException) -> NoReturn:
        """Raise an error of entering Lua that no script could have caught."""
        try:
            self._lift()
            if not isinstance(error, self._memory_error):
                raise error
            raise LuaLimitError("memory", _NO_MEMORY) from error
        finally:
            del error  # as above

    def drop(self) -> None:
        """Abandon the run that waits for a call."""
        self._lift()
        self._drop()

    def waiting(self) -> str:
        """Return the traceback of the run that waits for a call."""
        self._lift()
        return _tidy(self._driver[b"waiting"]())

    def spent(self) -> float | None:
        """Return the CPU seconds that Lua used last; None if that was too short to measure."""
        return self._spent()  # type: ignore[no-any-return]

    def collect(self) -> int:
        """Collect garbage; return the number of bytes still in use."""
        self._lift()
        return int(self._collect())

    def load(self, number: int, script: Script) -> None:
        """Compile a script as the function `number`. Raises LuaSyntaxError."""
        parameters = ", ".join(script.parameters)
        aliases = "".join(f"local {alias} = {name} " for alias, name in script.aliases.items())
        head, tail = f"return function({parameters}) {aliases}{script.preamble}", "\nend"
        if script.readback:  # the body may assign to them: it, and what reads them afterwards
            read = f"function() return {', '.join(script.readback)} end"
            head, tail = head + "return function() ", f"\nend, {read} end"
        name = to_bytes(script.name) if script.publish else None
        source = to_bytes(script.source)
        texts = (script.code, b"\n" * (script.first_line - 1), head.encode(), source, tail.encode())
        self._lift()
        shown = " ".join(script.globals).encode() or None
        answer = self._load(number, name, len(script.readback), shown, _chunk(script.file), *texts)
        script.code = _code(script.file, answer)

    def unload(self, number: int, script: Script) -> None:
        """Unload the function `number`."""
        self._lift()
        self._unload(number, to_bytes(script.name) if script.publish else None)

    def add_module(self, module: Module) -> None:
        """Compile a module for require. Raises LuaSyntaxError."""
        source = to_bytes(module.source)
        self._lift()
        answer = self._add_module(to_bytes(module.name), _chunk(module.file), module.code, source)
        module.code = _code(module.file, answer)

    def cover(self) -> None:
        """Count the lines that run from now on."""
        self._lift()
        self._driver[b"cover"]()

    def covered(self) -> LineCounts:
        """Return how often each line ran since `cover`, by file and line. No run may be in Lua."""
        self._lift()
        counts: LineCounts = {}
        for file, flat in from_lua(self._driver[b"covered"]()) or ():
            counts[file] = dict(zip(map(int, flat[::2]), map(int, flat[1::2]), strict=True))
        return counts

    def lines(self, script: ScriptSource) -> set[int]:
        """Return the lines of a script's file that can run, by its compiled code. Raises LuaSyntaxError."""
        before = b"\n" * (script.line - 1)
        text = b"".join((before, b"return function(...) ", to_bytes(script.source), b"\nend"))
        self._lift()
        problem, found = self._driver[b"lines"](_chunk(script.file), text)
        if problem is not None:
            raise LuaSyntaxError.from_text(script.file, to_text(problem))
        last = script.line + script.source.count("\n")
        return {line for line in map(int, from_lua(found) or ()) if line <= last}


_prelude: dict[
    str, bytes
] = {}  # by the name of a part: compiled, since an environment takes a millisecond less then


def _code(file: str, answer: tuple[bytes | None, bytes]) -> bytes:
    """Return the bytecode in an answer (problem, code). Raises LuaSyntaxError if there is a problem."""
    problem, code = answer
    if problem is not None:
        raise LuaSyntaxError.from_text(file, to_text(problem))
    return code


def _deny(_object: object, _name: object, _setting: bool) -> str:
    raise AttributeError("scripts may not access attributes")


def _chunk(file: str) -> bytes:
    return b"@" + to_bytes(file)


def _tidy(traceback: bytes) -> str:
    """Return a traceback without the frames of the prelude."""
    lines = to_text(traceback).splitlines()
    return "\n".join(line for line in lines if "[labkit]/" not in line)
