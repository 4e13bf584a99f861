"""The handle of a person's browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.core.errors import LabError
from labkit.core.handle import Handle
from labkit.lab.runtime import Runtime
from labkit.lab.show import card

if TYPE_CHECKING:
    import httpx

    from labkit.fleet import browser as fleet


class Browser(Handle):
    """A person's browser without a screen: follows redirects across the lab's hosts, keeps cookies, fills in forms."""

    def __init__(self, runtime: Runtime, connections: fleet.Connections) -> None:
        from labkit.fleet import browser as fleet

        self._runtime = runtime
        self._hosts: frozenset[str] = frozenset()
        self._browser = fleet.AsyncBrowser(connections, lambda host: host in self._hosts)

    @property
    def page(self) -> httpx.Response:
        """The current page; its `history` holds the redirects that led to it."""
        return self._browser.page

    @property
    def cookies(self) -> httpx.Cookies:
        """Cookies of all hosts."""
        return self._browser.cookies

    @property
    def forms(self) -> list[fleet.Form]:
        """Forms of the current page."""
        return self._browser.forms

    def request(self, method: str, url: str, *, follow: bool = True, **options: Any) -> httpx.Response:
        """Visit a URL, absolute or relative to the current page, and return the response.

        method: GET, POST and so on. url: the URL. follow: whether to follow redirects, as long as they stay in the
        lab. options: further arguments of httpx's `request`.
        """
        self._look_around()
        return self._runtime.run(self._browser.request, method, url, follow=follow, **options)

    def get(self, url: str, **options: Any) -> httpx.Response:
        """Send a GET request to a URL.

        url: absolute, or relative to the current page; options: as of `request`.
        """
        return self.request("GET", url, **options)

    def post(self, url: str, **options: Any) -> httpx.Response:
        """Send a POST request to a URL: `post("/api/session/login", json={…})`.

        url: absolute, or relative to the current page; options: as of `request`.
        """
        return self.request("POST", url, **options)

    def submit(self, form: str | None = None, /, **values: object) -> httpx.Response:
        """Submit a form of the current page with these field values. form: its name, if the page has several forms."""
        self._look_around()
        return self._runtime.run(self._browser.submit, form, **values)

    def _look_around(self) -> None:
        """Update the set of hosts that the lab serves."""
        self._hosts = frozenset(self._runtime.run(self._runtime.control.addresses.hosts))

    def __repr__(self) -> str:
        return f"<browser at {self._where()}>"

    def _repr_html_(self) -> str:
        return card(
            "browser", {"at": self._where(), "cookies": ", ".join(each.name for each in self.cookies.jar)}
        )

    def _where(self) -> str:
        try:
            return f"{self.page.url.host}{self.page.url.path} ({self.page.status_code})"
        except LabError:
            return "no page yet"
