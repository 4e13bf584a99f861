"""The handle of a solution."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

from labkit.control.solutions import SolutionInfo
from labkit.core.errors import LabWarning, unknown
from labkit.lab.arguments import several
from labkit.lab.client import Session, SiteClient
from labkit.lab.interface import PublishedService, Subscription
from labkit.lab.runtime import Runtime
from labkit.lab.services import Catalogue, ServiceHandle, call
from labkit.lab.show import card, of_lines

if TYPE_CHECKING:
    import pandas

JSON = "application/json"


def warn_of(info: SolutionInfo) -> None:
    """Warn of what the author of a solution ought to know."""
    for text in info.warnings:
        warnings.warn(f"solution {info.id!r}: {text}", LabWarning, stacklevel=3)


class Solution(SiteClient):
    """A solution of a lab: its routes by HTTPS, and every service operation by its own name.

    `solution.User.createUser(email=…)` is `solution.call("User", "createUser", {"email": …})`.
    """

    def __init__(self, runtime: Runtime, info: SolutionInfo) -> None:
        super().__init__(runtime, info.domain, cookies=False)
        self._control = runtime.control.solutions
        self._fixed = info
        self._catalogue = Catalogue(runtime, info.id)

    @property
    def id(self) -> str:
        return self._fixed.id

    def session(self) -> Session:
        """A client of the solution that keeps cookies; `solution.get()` and the like do not."""
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

        The function, sync or async, gets by name what it asks for of: request, response, services, context, log,
        now. A route of the same method and path gives way to the same text or a function of the same name, as when a
        cell runs again; to any other with replace=True alone, else it is an error. content_type: of the bodies it
        takes.
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
        """Handle an event: `on("device", "datapoint", lua="…")`; without a handler, a decorator.

        A handler of the same event gives way to the same text or a function of the same name, as when a cell runs
        again; to any other with replace=True alone, else it is an error.
        """
        if lua is not None:
            self._runtime.run(self._control.on, self.id, service, event, lua, replace)
        elif function is None:
            return lambda handler: self.on(service, event, handler, replace=replace)
        else:
            functions = self._runtime.control.functions
            self._runtime.run(functions.on, self.id, service, event, function, replace)
        return function

    def call(self, service: str, operation: str, parameters: object = None) -> Any:
        """Call a service operation; the result, or the error object {type, error, status}."""
        return call(self._runtime, self.id, service, operation, parameters)

    @property
    def logs(self) -> pandas.DataFrame:
        """What its scripts printed, how each run ended, and warnings: a row each, oldest first.

        level: of a printed line, `warning`, or `run`; status: how a run ended; text: the line, or the error.
        """
        return of_lines(self._runtime.run(self._control.logs, self.id))

    def reload(self) -> Self:
        """Read its folder anew after an edit, and run its set-up; routes and handlers of cells stay.

        Raises SettingsError naming file and line, and changes nothing, where the folder is wrong, or has a handler
        of its own now where a cell's was added without replace=True.
        """
        warn_of(self._runtime.run(self._control.reload, self.id))
        return self

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
        """Publish operations and events to other solutions, which `subscribe` to them; without settings, what is
        published.

        `lights.publish(operations=[{"name": "light", "parameters": {"title": "lamp", "type": "object"}}])`, and a
        handler: `lights.on("interface", "light", …)`. What a cell published before is replaced, over what the
        solution's folder and settings say. whitelist: the businesses that may subscribe.
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
            **{key: several(each) for key, each in lists.items() if each is not None},
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
        """Subscribe to what another solution publishes: its operations are a service here, `home.Lights.light(…)`.

        script_key: the name of the service, whose first letter is capitalised; quota: calls_daily, calls_monthly;
        triggers: which handler gets an event. Its other events are handled by `home.on("lights", "changed", …)`. One
        that is there as it is given stays, so that a cell may run again.
        """
        id = publisher.id if isinstance(publisher, Solution) else publisher
        control = self._runtime.control.interface
        given = (script_key, parameters, quota, triggers)
        return Subscription(self._runtime, self._runtime.run(control.subscribe, self.id, id, *given))

    @property
    def subscriptions(self) -> list[Subscription]:
        """Those to other solutions, the oldest first."""
        found = self._runtime.run(self._runtime.control.interface.subscriptions, self.id)
        return [Subscription(self._runtime, each) for each in found]

    def __getattr__(self, name: str) -> ServiceHandle:
        if name.startswith("_"):
            raise AttributeError(name)
        known = self._catalogue.services()
        if name not in known:
            raise AttributeError(unknown("service", name, known))
        return ServiceHandle(self._runtime, self.id, name, self._catalogue)

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
                "products": ", ".join(self._fixed.products) or "none",
                **({"subscribes to": others} if others else {}),
            },
        )
