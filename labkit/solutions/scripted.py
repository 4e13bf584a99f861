"""Handlers that are Lua scripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import cached_property
from typing import Any

from labkit.core.code_lines import LineCounts
from labkit.core.errors import SettingsError, did_you_mean
from labkit.services.bounds import shown_name
from labkit.services.calls import Services
from labkit.settings import LabSettings
from labkit.solutions import events
from labkit.solutions.folders.scripts import WEBSOCKET, ScriptSource
from labkit.solutions.handlers import Handler, HandlerRun
from labkit.solutions.lua import HostState, LuaFunction, LuaHost, LuaLimits, LuaResult, LuaSyntaxError
from labkit.solutions.lua.convert import FixedTable
from labkit.solutions.lua.globals import NoServices
from labkit.solutions.web.request import Request
from labkit.solutions.web.response import FIELDS, Response
from labkit.solutions.web.websocket_info import WebsocketInfo

ROUTE = ("request", "response", "context")
SOCKET = ("websocketInfo", "response", "context")
SOCKET_ALIAS = "websocket_info"
# Functions of websocketInfo, in its metatable, so that the table itself can be shown and encoded.
SOCKET_METHODS = """do
local info = websocketInfo
local id, ip = info.socket_id, info.server_ip
setmetatable(info, {__index = {
send = function(first, second)
return Websocket.send({socket_id = id, server_ip = ip, message = first == info and second or first})
end,
close = function() return Websocket.close({socket_id = id, server_ip = ip}) end,
}})
end """.replace("\n", " ")
ALONE_BYTES = 8 * 1024 * 1024  # memory of a sandboxed script
ALONE = """do
setmetatable(_G, nil)
print, log, murano, bench = nil, nil, nil, nil
if type(parameters) == "table" then for name, value in next, parameters do _G[name] = value end end
end """.replace("\n", " ")
EMPTY_RESPONSE = FixedTable({"headers": {}})
MOST_UNKNOWN = 5  # fields of a response that a run's log names
Warn = Callable[[HandlerRun, str, str], None]
LONG_MESSAGE = 128 * 1024  # characters above which a message is converted in a thread


def run_limits(settings: LabSettings) -> LuaLimits:
    """Return the limits of a solution's runs by the settings of the lab."""
    guard, cpu = settings.guard, settings.limits.script_cpu
    if cpu is None:
        return LuaLimits(guard.script_cpu, 5 * guard.script_cpu, guard.scripts)
    return LuaLimits(cpu, cpu, guard.scripts, cpu_setting=" (limits.script_cpu)")


class Scripts:
    """Compiler of a solution's Lua scripts into handlers, and the LuaHost in which they run.

    modules: their sources by name; seed: of math.random, None for unpredictable numbers; limits: of its runs;
    while_waiting: context in which a further run waits for one of them to end.
    """

    def __init__(
        self,
        modules: Mapping[str, str],
        *,
        services: Services,
        log: Callable[[HandlerRun, str, str], None],
        now: Callable[[], float],
        environment: Mapping[str, str],
        seed: int | None,
        limits: LuaLimits,
        while_waiting: Callable[[], AbstractAsyncContextManager[object]],
    ) -> None:
        self._while_waiting = while_waiting
        self._modules = modules
        self._services = services
        self._log = log
        self._now = now
        self._environment = environment
        self._seed = seed
        self._limits = limits

    @cached_property
    def _host(self) -> LuaHost:
        """Host of the scripts, created for the first of them: a solution in Python needs none."""
        try:
            return LuaHost(
                services=self._services,
                write_log=lambda level, text, run: self._log(run, level, text),
                now=self._now,
                random_seed=self._seed,
                environment=self._environment,
                modules=self._modules,
                limits=self._limits,
                while_waiting=self._while_waiting,
            )
        except LuaSyntaxError as error:
            raise SettingsError(str(error)) from None

    def endpoint(self, script: ScriptSource, method: str) -> Handler:
        """Compile a route's script, which gets request (websocketInfo of a websocket), response, context.

        Raises SettingsError with file and line.
        """
        if method == WEBSOCKET:
            function = self.load(
                "websocket",
                script,
                SOCKET,
                readback=("response",),
                aliases={SOCKET_ALIAS: SOCKET[0]},
                preamble=SOCKET_METHODS,
                globals=(SOCKET[0], SOCKET_ALIAS),
            )
            return SocketHandler(self._host, function, self._warn)
        function = self.load("endpoint", script, ROUTE, readback=("response",))
        return RouteHandler(self._host, function, self._warn)

    def _warn(self, run: HandlerRun, name: str, hint: str) -> None:
        """Write a likely mistake of a script into the log and among those that its author has not read."""
        self._log(run, "warning", f"{name}: {hint}")
        self._services.report(run, name, hint)

    def event(self, service: str, event: str, script: ScriptSource, names: Sequence[str]) -> Handler:
        """Compile an event's script, published as the global function handle_<service>_<event>.

        It gets the event and context; names: of the event in the script. The script for the events of websockets is
        compiled as that of a route.
        """
        if events.key(service, event) == events.WEBSOCKETS:
            return self.endpoint(script, WEBSOCKET)
        name, *others = names
        function = self.load(
            re.sub(r"\W", "_", f"handle_{service}_{event}", flags=re.ASCII),
            script,
            (name, "context"),
            aliases=dict.fromkeys(others, name),
            publish=True,
        )
        return ScriptHandler(self._host, function, (name, "context"))

    def plain(self, script: ScriptSource) -> Handler:
        """Compile a script that gets only context."""
        return ScriptHandler(self._host, self.load("script", script, ("context",)), ("context",))

    def add_module(self, name: str, source: str) -> None:
        """Add a module, or replace one; it runs before the next script. Raises SettingsError with file and line."""
        try:
            self._host.add_module(name, source)
        except LuaSyntaxError as error:
            raise SettingsError(str(error)) from None

    async def sandbox(self, source: str, parameters: object, cpu: float) -> object:
        """Run a text in a state of its own, without services, print and log, and return its result.

        parameters: an argument of this name, whose keys become globals; cpu: seconds allowed, at most those of any run.
        Raises LuaError.
        """
        cpu = min(cpu, self._limits.cpu_total_seconds)
        limits = replace(
            self._limits, cpu_seconds=cpu, cpu_total_seconds=cpu, cpu_setting="", memory_bytes=ALONE_BYTES
        )
        host = LuaHost(
            services=NoServices(),
            write_log=lambda *_: None,
            now=self._now,
            random_seed=self._seed,
            limits=limits,
        )
        try:
            function = host.load("sandbox", source, ("parameters",), preamble=ALONE, publish=False)
            return (await host.run(function, parameters)).value
        finally:
            host.close()

    def modules(self) -> Handler | None:
        """Return a handler that runs the modules (otherwise the first script does), None if there are no modules."""
        return ModulesHandler(self._host) if self._modules else None

    def cover(self, covered: list[Callable[[], LineCounts]]) -> None:
        """Count the lines that run from now on; see LuaHost.cover."""
        self._host.cover(covered)

    def clear(self) -> None:
        """Forget the globals of all scripts and restart their random numbers, as if none had run yet."""
        if "_host" in self.__dict__:
            self._host.clear()

    def snapshot(self) -> HostState | None:
        """Return the state of the scripts' host without globals; None if there are no scripts."""
        return self._host.snapshot() if "_host" in self.__dict__ else None

    def restore(self, state: HostState) -> None:
        """Continue with the random numbers and the time of another host; globals begin anew."""
        self._seed = state.seed
        self._host.restore(state)

    def crash(self) -> None:
        """Lose the globals of all scripts."""
        if "_host" in self.__dict__:
            self._host.crash()

    def suspend(self) -> None:
        """Free resources that are bound to the current thread."""
        if "_host" in self.__dict__:
            self._host.suspend()

    def close(self) -> None:
        if "_host" in self.__dict__:
            self._host.close()

    def load(
        self,
        name: str,
        script: ScriptSource,
        arguments: Sequence[str],
        *,
        readback: Sequence[str] = (),
        aliases: Mapping[str, str] | None = None,
        preamble: str = "",
        publish: bool = False,
        globals: Sequence[str] = (),
    ) -> LuaFunction:
        """Compile a script; see LuaHost.load. Raises SettingsError with file and line."""
        try:
            return self._host.load(
                name,
                script.source,
                arguments,
                file=script.file,
                first_line=script.line,
                readback=readback,
                aliases=aliases,
                preamble=preamble,
                publish=publish,
                globals=globals,
            )
        except LuaSyntaxError as error:
            raise SettingsError(str(error)) from None


class ScriptHandler:
    """Handler that runs a Lua function with the arguments that its parameters name."""

    def __init__(self, host: LuaHost, function: LuaFunction, parameters: Sequence[str]) -> None:
        self._host = host
        self._function = function
        self._parameters = parameters

    async def __call__(self, arguments: Mapping[str, Any], run: HandlerRun) -> object:
        offered = {**arguments, "context": run.context}
        values = map(offered.get, self._parameters)
        result = await self._host.run(self._function, *values, context=run)
        run.measures["cpu"] = result.cpu_seconds
        return result.value

    def close(self) -> None:
        """Unload the script."""
        self._host.unload(self._function)


class ModulesHandler:
    """Handler that runs the modules that have not run yet."""

    def __init__(self, host: LuaHost) -> None:
        self._host = host

    async def __call__(self, arguments: Mapping[str, Any], run: HandlerRun) -> None:
        await self._host.run(None, context=run)

    def close(self) -> None:
        pass


class RespondingHandler(ScriptHandler):
    """Base class of handlers whose scripts may set `response`. warn: gets a run, a name and what is wrong with it."""

    def __init__(self, host: LuaHost, function: LuaFunction, warn: Warn) -> None:
        super().__init__(host, function, ())  # each kind has its own arguments
        self._warn = warn

    def _finish(self, response: Response, result: LuaResult, run: HandlerRun) -> object:
        """Set the response as a run left it, warn of fields without effect, and return what the script returned."""
        run.measures["cpu"] = result.cpu_seconds
        unknown = response.set_fields(result.readback["response"])
        if unknown and not (isinstance(result.value, Mapping) and result.value.keys() >= {*unknown}):
            for name in unknown[:MOST_UNKNOWN]:
                hint = did_you_mean(name, FIELDS) or f"; there are: {', '.join(FIELDS)}"
                self._warn(run, "response", f"there is no field {shown_name(name)!r}{hint}")
        return result.value


class RouteHandler(RespondingHandler):
    """Handler that runs the script of a route, which may set `response`, or assign a table of its own to it."""

    async def __call__(self, arguments: Mapping[str, Any], run: HandlerRun) -> object:
        request: Request = arguments["request"]
        response: Response = arguments["response"]
        given = (request.table(), {"code": response.code, "headers": {}}, run.context)
        result = await self._host.run(self._function, *given, context=run, long=request.long)
        return self._finish(response, result, run)


class SocketHandler(RespondingHandler):
    """Handler that runs the script of a websocket's route, which may set `response.message`."""

    async def __call__(self, arguments: Mapping[str, Any], run: HandlerRun) -> object:
        info: WebsocketInfo = arguments[SOCKET[0]]
        response: Response = arguments["response"]
        given: tuple[Any, ...] = (info.table(), EMPTY_RESPONSE, run.context)
        long = info.message is not None and len(info.message) > LONG_MESSAGE
        result = await self._host.run(self._function, *given, context=run, long=long)
        return self._finish(response, result, run)
