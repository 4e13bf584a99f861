"""Requests to a solution's domain, over HTTPS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.core.errors import LabError
from labkit.fleet.flow import FlowClient
from labkit.lab.delays import ask
from labkit.lab.runtime import Runtime

if TYPE_CHECKING:
    import httpx


class SiteClient:
    """Speaks HTTPS to one host of a lab. cookies: are those that come kept for the next requests?"""

    def __init__(self, runtime: Runtime, domain: str, cookies: bool) -> None:
        self._runtime = runtime
        self._domain = domain
        self._flow = FlowClient(runtime.address, domain, cookies=cookies)
        runtime.keep(self._flow)

    @property
    def domain(self) -> str:
        """The domain that it speaks to."""
        return self._domain

    def url(self, path: str = "") -> str:
        """The URL of a path at this domain."""
        return self._runtime.address.url(self._domain, rooted(path) if path else "")

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request to a path, or to a URL of this domain; `options` as httpx takes them."""
        return ask(self._runtime, self._domain, self._flow.request, method, self._path(path), **options)

    async def ask_here(self, method: str, path: str, **options: Any) -> httpx.Response:
        """As `request`, on the lab's own loop."""
        return await self._flow.request(method, self._path(path), **options)

    def get(self, path: str, **options: Any) -> httpx.Response:
        """GET a path."""
        return self.request("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        """POST to a path: `post("/session", json={…})`."""
        return self.request("POST", path, **options)

    def put(self, path: str, **options: Any) -> httpx.Response:
        """PUT to a path."""
        return self.request("PUT", path, **options)

    def delete(self, path: str, **options: Any) -> httpx.Response:
        """DELETE at a path."""
        return self.request("DELETE", path, **options)

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
    """A client that keeps the cookies that it is given, as a person's browser does."""

    def __init__(self, runtime: Runtime, domain: str) -> None:
        super().__init__(runtime, domain, cookies=True)

    def __repr__(self) -> str:
        return f"<session with {self.domain}>"


def rooted(path: str) -> str:
    """A path that begins with a slash."""
    return path if path.startswith("/") else f"/{path}"
