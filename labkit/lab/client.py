"""HTTPS clients of a solution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from labkit.control.control import Control
from labkit.core.errors import LabError
from labkit.core.handle import Handle
from labkit.fleet.flow import FlowClient
from labkit.fleet.websocket import open_websocket
from labkit.lab.delays import ask
from labkit.lab.runtime import Runtime
from labkit.lab.websocket import OpenWebsocket

if TYPE_CHECKING:
    import httpx


class SiteClient(Handle):
    """HTTPS client of one host of a lab. cookies: whether to keep the cookies of responses for later requests."""

    def __init__(self, runtime: Runtime, domain: str, cookies: bool) -> None:
        self._runtime = runtime
        self._domain = domain
        self._flow = FlowClient(runtime.address, domain, cookies=cookies)
        runtime.keep(self._flow, self._flow.disconnect)

    @property
    def domain(self) -> str:
        """Host name to which requests are sent."""
        return self._domain

    def url(self, path: str = "") -> str:
        """Return the URL of a path at this domain."""
        return self._runtime.address.url(self._domain, rooted(path) if path else "")

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request to a path, or to a URL of this domain, and return the response.

        method: GET, POST and so on. options: further arguments of httpx's `request`, such as `json=…` or `headers=…`.
        """
        return ask(self._runtime, self._domain, self._flow.request, method, self._path(path), **options)

    async def ask_here(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request like `request`, from the lab's own loop.

        method, path, options: as there.
        """
        return await self._flow.request(method, self._path(path), **options)

    def get(self, path: str, **options: Any) -> httpx.Response:
        """Send a GET request to a path. options: as of `request`."""
        return self.request("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        """Send a POST request to a path: `post("/session", json={…})`. options: as of `request`."""
        return self.request("POST", path, **options)

    def put(self, path: str, **options: Any) -> httpx.Response:
        """Send a PUT request to a path. options: as of `request`."""
        return self.request("PUT", path, **options)

    def delete(self, path: str, **options: Any) -> httpx.Response:
        """Send a DELETE request to a path. options: as of `request`."""
        return self.request("DELETE", path, **options)

    def websocket(
        self, path: str, *, headers: Mapping[str, str] | None = None, protocols: Sequence[str] = ()
    ) -> OpenWebsocket:
        """Open a websocket at a path, and return it.

        headers: further ones of the handshake, such as `Origin`; protocols: subprotocols to offer. Raises
        labkit.WebsocketError if the handshake is refused.
        """
        return self._runtime.run(self.websocket_here, path, headers=headers, protocols=protocols)

    async def websocket_here(
        self, path: str, *, headers: Mapping[str, str] | None = None, protocols: Sequence[str] = ()
    ) -> OpenWebsocket:
        """Open a websocket like `websocket`, from the lab's own loop.

        path, headers, protocols: as there.
        """
        given, target = dict(headers or {}), self._path(path)
        fields = {**self._flow.cookies_for(target), **given}
        client = await open_websocket(
            self._runtime.address, self._domain, target, headers=fields, protocols=protocols
        )
        if isinstance(self._runtime.control, Control):
            client.settle_with(self._runtime.control.stories.activity)
        self._runtime.keep(client, client.close)
        return OpenWebsocket(self._runtime, client)

    def _path(self, path: str) -> str:
        if not isinstance(path, str):
            raise LabError(f"path: expected a text such as '/metrics', not {path!r}")
        own = self.url()
        if path.startswith(("https://", "http://")):
            if path != own and not path.startswith((f"{own}/", f"{own}?")):
                raise LabError(f"path: {path} is not at {own}; lab.browser() visits other hosts")
            path = path.removeprefix(own)
        return rooted(path)


class Session(SiteClient):
    """A client of a solution that keeps cookies, as a person's browser does."""

    def __init__(self, runtime: Runtime, domain: str) -> None:
        super().__init__(runtime, domain, cookies=True)

    def __repr__(self) -> str:
        return f"<session with {self.domain}>"


def rooted(path: str) -> str:
    """Return a path with a leading slash."""
    return path if path.startswith("/") else f"/{path}"
