"""The handle of a solution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

from labkit.control.solutions import FileProblem, SolutionInfo
from labkit.core.errors import LabError, NoAttributeError, unknown
from labkit.lab.arguments import as_list
from labkit.lab.client import Session
from labkit.lab.delays import ask
from labkit.lab.interface import PublishedService, Subscription
from labkit.lab.runtime import Runtime
from labkit.lab.services import ServiceHandle, SolutionCalls
from labkit.lab.show import card, rows_frame

if TYPE_CHECKING:
    import pandas

    from labkit.control.solutions import SolutionCheck
    from labkit.control.stored import KeyValue, SeriesInfo, TimerInfo, UserInfo
    from labkit.script_tests.coverage import ScriptCoverage
    from labkit.script_tests.results import ScriptTestResults
    from labkit.script_tests.suite import ScriptTest

JSON = "application/json"


def warn_of(runtime: Runtime, info: SolutionInfo) -> None:
    """Show the warnings about a solution's folder to its author."""
    for text in info.warnings:
        runtime.warn(f"solution {info.id!r}: {text}")


class Solution(SolutionCalls):
    """A solution of a lab: send requests to its routes over HTTPS, and call service operations by their names.

    `solution.get("/metrics")` sends a request. `solution.User.createUser(email=…)` is short for
    `solution.call("User", "createUser", {"email": …})`.
    """

    def session(self) -> Session:
        """Return a client of the solution that keeps cookies, unlike `solution.get()` and the other methods."""
        return Session(self._runtime, self.domain)

    def route(
        self,
        method: str,
        path: str,
        function: Callable[..., object] | None = None,
        *,
        lua: str | None = None,
        content_type: str = JSON,
        replace: bool = False,
    ) -> Any:
        """Add a route: a Lua script (`lua="…"`) or a Python function; without either, a decorator.

        The function, sync or async, gets the arguments that it names out of: request, response, services, context,
        log, now. content_type: of the request bodies that the route accepts. replace: replace any existing route of
        this method and path. Without it, only the same script or a function of the same name is replaced, as when a
        cell runs again; else SettingsError is raised.
        """
        if lua is not None:
            self._runtime.run(self._control.route, self.id, method, path, lua, content_type, replace)
        elif function is None:
            return lambda handler: self.route(
                method, path, handler, content_type=content_type, replace=replace
            )
        else:
            functions = self._runtime.control.functions
            self._runtime.run(functions.route, self.id, method, path, function, content_type, replace)
        return function

    def on(
        self,
        service: str,
        event: str,
        function: Callable[..., object] | None = None,
        *,
        lua: str | None = None,
        replace: bool = False,
    ) -> Any:
        """Add an event handler: `on("device", "datapoint", lua="…")`, or a Python function; without either, a
        decorator.

        replace: replace any existing handler of this event. Without it, only the same script or a function of the
        same name is replaced, as when a cell runs again; else SettingsError is raised. Warns of an event that nothing
        in the lab emits.
        """
        if lua is not None:
            info = self._runtime.run(self._control.on, self.id, service, event, lua, replace)
        elif function is None:
            return lambda handler: self.on(service, event, handler, replace=replace)
        else:
            functions = self._runtime.control.functions
            info = self._runtime.run(functions.on, self.id, service, event, function, replace)
        for text in info.warnings:
            self._runtime.warn(text)
        if not info.warnings:
            self._runtime.parts.add_handler(self.id, service, event)
        return function

    def module(self, name: str, lua: str) -> None:
        """Add a module for `require(name)` of the scripts, or replace one; its text runs before the next script.

        lua: text of the module. It stays with `reload`, and hides one of the folder. Raises SettingsError with the line
        for a wrong script.
        """
        self._runtime.run(self._control.module, self.id, name, lua)

    def run(self, lua: str, name: str = "script") -> Any:
        """Run a Lua script at once, as a handler without an event; show what it prints, and return its value.

        lua: text of the script; name: of the script in messages. Raises LabError with the line of the script's error.
        """
        result = ask(self._runtime, self.id, self._control.run, self.id, lua, name)
        for line in result.printed:
            print(line)  # noqa: T201
        if result.error is not None:
            raise LabError(result.error)
        return result.value

    @property
    def files(self) -> pandas.DataFrame:
        """DataFrame of the files of the solution's folder: what each holds and calls, and what is probably wrong in it.

        holds: its routes, events, module or asset; problems: warnings, and notes of what may be intended, a line each.
        """
        rows = [
            (
                each.file,
                each.kind,
                ", ".join(each.holds),
                ", ".join(each.calls),
                "\n".join(map(_line, each.problems)),
            )
            for each in self._runtime.run(self._control.files, self.id)
        ]
        return rows_frame(rows, ("file", "kind", "holds", "calls", "problems"), "file")

    def test(
        self,
        tests: str | Sequence[ScriptTest] | None = None,
        *,
        workers: int = 2,
        within: float = 60,
        progress: bool | None = None,
        coverage: bool | ScriptCoverage = False,
    ) -> ScriptTestResults:
        """Run the tests in Lua of the solution's folder, each in a fork of this lab, and return their results.

        Tests are in tests/*.lua, and in files named *_test.lua or *_spec.lua, written with describe, it and assert.
        The lab stays as it is. tests: a part of the names or files of those to run, or tests of earlier results;
        workers: most tests at one time; within: real seconds after which a test is ended; progress: as of `Lab.fork`,
        whose errors this raises, too; coverage: True measures which lines of the solution's files run, as `coverage` of
        the results; the coverage of earlier results is one to which these tests add. A file that is wrong is a test
        that fails. Raises LabError if there is no test.
        """
        from labkit.lab.script_tests import SolutionTests

        own = SolutionTests(self._runtime, self, covers=coverage is not False)
        found = own.find(tests) if tests is None or isinstance(tests, str) else tests
        before = None if isinstance(coverage, bool) else coverage
        return own.run(found, workers=workers, within=within, progress=progress, coverage=before)

    def reload(self) -> Self:
        """Read the solution's folder again after an edit, and run its set-up.

        Routes and handlers that cells added stay. Raises SettingsError with file and line, and changes nothing, if
        the folder is wrong, or if it now has a handler that a cell added without replace=True.
        """
        warn_of(self._runtime, self._runtime.run(self._control.reload, self.id))
        return self

    def check(self) -> SolutionCheck:
        """Return what is wrong in the solution's folder after an edit, before `reload`, and what probably is."""
        return self._runtime.run(self._control.check, self.id)

    def keystore_keys(self, match: str = "", *, limit: int | None = None) -> list[str]:
        """Return the keys of the Keystore that contain `match`. limit: most keys, None for all."""
        return self._runtime.listed(self._runtime.control.keystore.keys, self.id, match, limit=limit)

    def keystore_value(self, key: str) -> KeyValue:
        """Return the value of a `key` of the Keystore, of any type. Raises UnknownError if there is none."""
        return self._runtime.run(self._runtime.control.keystore.get, self.id, key)

    def users(self, text: str = "", *, limit: int | None = None) -> list[UserInfo]:
        """Return the users, by id. text: a part of their address or name; limit: most users, None for all."""
        return self._runtime.listed(self._runtime.control.users.search, self.id, text, limit=limit)

    def series(
        self,
        text: str = "",
        service: Literal["Tsdb", "Timeseries"] = "Tsdb",
        *,
        limit: int | None = None,
    ) -> list[SeriesInfo]:
        """Return the time series of a service. text: a part of name, field or tag; limit: most series, None for all."""
        return self._runtime.listed(self._runtime.control.series.search, self.id, service, text, limit=limit)

    def timers(self, *, limit: int | None = None) -> list[TimerInfo]:
        """Return the timers in the order in which they fire. limit: most timers, None for all."""
        return self._runtime.listed(self._runtime.control.timers.all, self.id, limit=limit)

    def publish(
        self,
        *,
        default_script_key: str | None = None,
        name: str | None = None,
        description: str | None = None,
        contact: Mapping[str, str] | None = None,
        tags: Iterable[str] | None = None,
        whitelist: Iterable[str] | None = None,
        parameters: Iterable[Mapping[str, Any]] | None = None,
        operations: Iterable[Mapping[str, Any]] | None = None,
        events: Iterable[Mapping[str, Any]] | None = None,
        mode: Literal["sync", "async"] | None = None,
        **others: Any,
    ) -> PublishedService:
        """Publish operations and events to other solutions; without settings, return the existing publication.

        `lights.publish(operations=[{"name": "light", "parameters": {"title": "lamp", "type": "object"}}])` needs a
        handler: `lights.on("interface", "light", …)`. Other solutions then `subscribe(lights)`. The definition
        replaces one published by a cell before, and overrides that of the solution's folder and settings. whitelist:
        businesses that may subscribe. default_script_key: name of the service at subscribers. description, contact,
        tags: shown to subscribers. mode: sync or async, the default of `trigger`. others: further entries of the
        definition.
        """
        lists = {
            "tags": tags,
            "whitelist": whitelist,
            "parameters": parameters,
            "operations": operations,
            "events": events,
        }
        given = {
            "default_script_key": default_script_key,
            "name": name,
            "description": description,
            "contact": contact,
            "mode": mode,
            **{key: as_list(each) for key, each in lists.items() if each is not None},
            **others,
        }
        named = {key: value for key, value in given.items() if value is not None}
        control = self._runtime.control.interface
        if named:
            return PublishedService(self._runtime, self._runtime.run(control.publish, self.id, named))
        return PublishedService(self._runtime, self._runtime.run(control.published, self.id))

    def subscribe(
        self,
        publisher: Solution | str,
        *,
        script_key: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        quota: Mapping[str, int | None] | None = None,
        triggers: Mapping[str, Any] | None = None,
    ) -> Subscription:
        """Subscribe to another solution's interface: its operations become a service here, `home.Lights.light(…)`.

        publisher: the other solution, or its id; parameters: values of the service that its publisher defines;
        script_key: name of the service, whose first letter is capitalised; quota: calls_daily, calls_monthly;
        triggers: which handler gets an event, by the event's name. All other events go to `home.on("lights",
        "changed", …)`. An existing subscription with the same arguments stays, so that a cell may run again.
        """
        id = publisher.id if isinstance(publisher, Solution) else publisher
        control = self._runtime.control.interface
        given = (script_key, parameters, quota, triggers)
        return Subscription(self._runtime, self._runtime.run(control.subscribe, self.id, id, *given))

    @property
    def subscriptions(self) -> list[Subscription]:
        """Subscriptions to other solutions, oldest first."""
        found = self._runtime.run(self._runtime.control.interface.subscriptions, self.id)
        return [Subscription(self._runtime, each) for each in found]

    def __getattr__(self, name: str) -> ServiceHandle:
        if name.startswith("_"):
            raise AttributeError(name)
        known = self._catalogue.services()
        if name not in known:
            public = [each for each in object.__dir__(self) if not each.startswith("_")]
            raise NoAttributeError(unknown("service", name, known, public))
        return ServiceHandle(self._runtime, name, self._catalogue)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._catalogue.services()]

    def __repr__(self) -> str:
        return f"<solution {self.id} at {self.domain}>"

    def _repr_html_(self) -> str:
        others = ", ".join(each.publisher for each in self.subscriptions)
        return card(
            f"solution {self.id}",
            {
                "domain": self.domain,
                "products": ", ".join(self.products) or "none",
                **({"subscribes to": others} if others else {}),
            },
        )


def _line(problem: FileProblem) -> str:
    return f"{problem.level}: {f'line {problem.line}: ' if problem.line else ''}{problem.text}"
