"""The handle of a person's browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.core.errors import LabError
from labkit.lab.runtime import Runtime
from labkit.lab.show import card

if TYPE_CHECKING:
    import httpx

    from labkit.fleet import browser as fleet


class Browser:
    """A person's browser without a screen: follows redirects across the lab's hosts, keeps cookies, fills in forms."""

    def __init__(self, runtime: Runtime, connections: fleet.Connections) -> None:
        from labkit.fleet import browser as fleet

        self._runtime = runtime
        self._hosts: frozenset[str] = frozenset()
        self._browser = fleet.Browser(connections, lambda host: host in self._hosts)

    @property
    def page(self) -> httpx.Response:
        """The answer that is shown; its `history` holds the redirects on the way to it."""
        return self._browser.page

    @property
    def cookies(self) -> httpx.Cookies:
        """The cookies of all hosts."""
        return self._browser.cookies

    @property
    def forms(self) -> list[fleet.Form]:
        """The forms of the page that is shown."""
        return self._browser.forms

    def request(self, method: str, url: str, *, follow: bool = True, **options: Any) -> httpx.Response:
        """Visit a URL, absolute or relative to the page that is shown; `options` as httpx takes them.

        follow: go where redirects lead, as long as they stay in the lab.
        """
        self._look_around()
        return self._runtime.run(self._browser.request, method, url, follow=follow, **options)

    def get(self, url: str, **options: Any) -> httpx.Response:
        """GET a URL."""
        return self.request("GET", url, **options)

    def post(self, url: str, **options: Any) -> httpx.Response:
        """POST to a URL: `post("/api/session/login", json={…})`."""
        return self.request("POST", url, **options)

    def submit(self, form: str | None = None, /, **values: object) -> httpx.Response:
        """Send a form of the page that is shown, with these values in it; by name where there are several."""
        self._look_around()
        return self._runtime.run(self._browser.submit, form, **values)

    def _look_around(self) -> None:
        """Learn which hosts the lab serves now."""
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
