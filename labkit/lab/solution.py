"""The handle of a solution."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from labkit.fleet.flow import Address, FlowClient
from labkit.lab.portal import Portal
from labkit.lab.show import card
from labkit.services.operation import Caller

if TYPE_CHECKING:
    import httpx

    from labkit.platform import Platform


class Solution:
    """A solution of a lab: its routes by HTTPS, and every service operation by its own name.

    `solution.User.createUser(email=…)` is `solution.call("User", "createUser", {"email": …})`.
    """

    def __init__(self, portal: Portal, platform: Platform, id: str, address: Address) -> None:
        self._portal = portal
        self._platform = platform
        self._solution = platform.solutions.get(id)
        self._flow = FlowClient(address, self._solution.domain)

    @property
    def id(self) -> str:
        return self._solution.id

    @property
    def domain(self) -> str:
        """The solution's own domain."""
        return self._solution.domain

    def url(self, path: str = "") -> str:
        """The URL of a path at the solution's domain."""
        return self._flow.address.url(self.domain, path)

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request to a route of the solution; `options` as httpx takes them."""
        return self._portal.run(self._flow.request, method, path, **options)

    def get(self, path: str, **options: Any) -> httpx.Response:
        """GET a route of the solution."""
        return self.request("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        """POST to a route of the solution: `post("/session", json={…})`."""
        return self.request("POST", path, **options)

    def put(self, path: str, **options: Any) -> httpx.Response:
        """PUT to a route of the solution."""
        return self.request("PUT", path, **options)

    def delete(self, path: str, **options: Any) -> httpx.Response:
        """DELETE at a route of the solution."""
        return self.request("DELETE", path, **options)

    def route(
        self,
        method: str,
        path: str,
        function: Callable[..., object] | None = None,
        *,
        lua: str | None = None,
        **options: Any,
    ) -> Any:
        """Add a route: a Lua script (`lua="…"`) or a Python function; without either, a decorator."""
        add: Callable[..., Any] = self._solution.route
        if function is None and lua is None:
            return lambda handler: self.route(method, path, handler, **options)
        return self._portal.call(add, method, path, function, lua=lua, **options)

    def on(
        self,
        service: str,
        event: str,
        function: Callable[..., object] | None = None,
        *,
        lua: str | None = None,
    ) -> Any:
        """Handle an event: `on("device", "datapoint", lua="…")`; without a handler, a decorator."""
        add: Callable[..., Any] = self._solution.on
        if function is None and lua is None:
            return lambda handler: self.on(service, event, handler)
        return self._portal.call(add, service, event, function, lua=lua)

    def call(self, service: str, operation: str, parameters: object = None) -> Any:
        """Call a service operation; the result, or the error object {type, error, status}."""
        return self._portal.run(self._platform.services.call, Caller(self.id), service, operation, parameters)

    def __getattr__(self, name: str) -> ServiceProxy:
        if name.startswith("_"):
            raise AttributeError(name)
        services = self._platform.services.operations(Caller(self.id))
        if name not in services:
            raise AttributeError(f"no service {name!r}, there are: {', '.join(services)}")
        return ServiceProxy(self, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._platform.services.operations(Caller(self.id))]

    async def close(self) -> None:
        """Close its connections."""
        await self._flow.close()

    def __repr__(self) -> str:
        return f"<solution {self.id} at {self.domain}>"

    def _repr_html_(self) -> str:
        return card(
            f"solution {self.id}",
            {"domain": self.domain, "products": ", ".join(self._solution.products) or "none"},
        )


class ServiceProxy:
    """A service as attributes: each operation by its own name."""

    def __init__(self, solution: Solution, service: str) -> None:
        self._solution = solution
        self._service = service

    def _operations(self) -> Any:
        caller = Caller(self._solution.id)
        return self._solution._platform.services.operations(caller)[self._service]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operations = self._operations()
        if name.startswith("_") or name.rstrip("_") not in operations:
            raise AttributeError(
                f"{self._service} has no operation {name!r}, it has: {', '.join(operations)}"
            )
        declared = operations[name.rstrip("_")]

        def call(**parameters: object) -> Any:
            named = {key.rstrip("_"): value for key, value in parameters.items()}
            return self._solution.call(self._service, declared.name, named)

        call.__name__, call.__doc__ = declared.name, declared.doc
        call.__signature__ = declared.signature  # type: ignore[attr-defined]
        return call

    def __dir__(self) -> list[str]:
        return list(self._operations())

    def __repr__(self) -> str:
        return f"<service {self._service}: {', '.join(self._operations())}>"
