"""The handle of a solution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from labkit.fleet.flow import Address, FlowClient
from labkit.lab.portal import Portal
from labkit.lab.show import card
from labkit.services.operation import Caller, Operation
from labkit.solutions.proxy import Service

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
        return self._portal.run(self._platform.call, self.id, service, operation, parameters)

    def __getattr__(self, name: str) -> Service:
        if name.startswith("_") or name not in self._operations():
            raise AttributeError(f"no service {name!r}, there are: {', '.join(self._operations())}")
        return Service(name, self._operations, self.call)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._operations()]

    def _operations(self) -> Mapping[str, Mapping[str, Operation]]:
        return self._platform.services.operations(Caller(self.id))

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
