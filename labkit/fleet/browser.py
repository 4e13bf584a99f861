"""Headless browser for the hosts of a lab: follows redirects, stores cookies and submits forms.

It needs no DNS and trusts only the lab's CA. It stops at a redirect to any other host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

import httpx

from labkit.core.errors import LabError, UnknownError
from labkit.fleet.flow import PATIENCE, LabAddress
from labkit.fleet.httpx_transport import LabTransport

FORM = "application/x-www-form-urlencoded"
REDIRECTS = 20  # in a row before it gives up
BUTTONS = frozenset({"submit", "image"})


@dataclass(slots=True)
class Form:
    """A form of a page. fields: name → current value; choices: name → values offered."""

    name: str
    method: str
    action: str
    fields: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)

    def filled(self, values: Mapping[str, object]) -> dict[str, str]:
        """Return the fields with `values` filled in. Raises UnknownError for an unknown field or choice."""
        for name, value in values.items():
            known = [*self.fields, *(each for each in self.choices if each not in self.fields)]
            if name not in known:
                raise UnknownError(f"form {self.name!r} has no field {name!r}, there are: {', '.join(known)}")
            offered = self.choices.get(name)
            if offered is not None and str(value) not in offered:
                raise LabError(f"{name}: {value!r} is not offered, there are: {', '.join(offered)}")
        return {**self.fields, **{name: str(value) for name, value in values.items()}}


class AsyncBrowser:
    """Headless browser with its own cookies, for the hosts of a lab.

    connections: transport, which browsers may share and its owner closes; serves: whether the lab serves a host.
    """

    def __init__(self, connections: Connections, serves: Callable[[str], bool]) -> None:
        self._serves = serves
        self._client = httpx.AsyncClient(
            transport=connections,
            trust_env=False,
            timeout=PATIENCE,
            headers={
                "User-Agent": "labkit browser",
                "Accept": "text/html, application/json;q=0.9, */*;q=0.5",
            },
        )
        self._page: httpx.Response | None = None

    @property
    def page(self) -> httpx.Response:
        """The current page's answer. Raises LabError before the first visit."""
        if self._page is None:
            raise LabError("this browser has visited nothing yet: get(url) first")
        return self._page

    @property
    def cookies(self) -> httpx.Cookies:
        """The cookies of all hosts."""
        return self._client.cookies

    @property
    def forms(self) -> list[Form]:
        """The forms of the current page."""
        if "html" not in self.page.headers.get("Content-Type", ""):
            return []
        reader = _FormReader()
        reader.feed(self.page.text)
        return reader.forms

    async def request(self, method: str, url: str, *, follow: bool = True, **options: Any) -> httpx.Response:
        """Visit a URL, absolute or relative to the current page, and return the last answer; `options` as in httpx.

        follow: follow redirects within the lab; the answer's `history` lists them. Raises LabError for a host that the
        lab does not serve, for more than 20 redirects in a row, and for a redirect to an invalid URL.
        """
        try:
            target = httpx.URL(url) if self._page is None else self._page.url.join(url)
        except (httpx.InvalidURL, UnicodeEncodeError) as error:
            raise LabError(f"{url!r} is no URL: {error}") from None
        if target.scheme != "https" or not self._serves(target.host):
            raise LabError(f"{url!r} is no HTTPS URL of this lab; lab.hosts lists its hosts")
        auth = options.pop("auth", None)  # only for the first host
        request: httpx.Request | None = self._client.build_request(method, target, **options)
        history: list[httpx.Response] = []
        while request is not None:
            if len(history) > REDIRECTS:
                raise LabError(f"{url!r} redirects more than {REDIRECTS} times")
            try:
                self._page = await self._client.send(request, auth=None if history else auth)
            except httpx.InvalidURL as error:
                raise LabError(f"{request.url} redirects to what is no URL: {error}") from None
            self._page.history = list(history)
            history.append(self._page)
            request = self._page.next_request if follow else None
            if request is not None and not (request.url.scheme == "https" and self._serves(request.url.host)):
                request = None
        return self.page

    async def submit(self, form: str | None = None, /, **values: object) -> httpx.Response:
        """Submit a form of the current page with these values, and return the answer.

        form: its name or id; optional if there is only one. The first button is pressed, unless `values` name another.
        Raises UnknownError for an unknown form, field or choice.
        """
        found = [each for each in self.forms if form is None or each.name == form]
        if len(found) != 1:
            names = ", ".join(each.name or "one without a name" for each in self.forms) or "none"
            raise LabError(f"which form? The page at {self.page.url.path} has: {names}")
        target, pairs = found[0], found[0].filled(values)
        if target.method == "GET":
            return await self.request("GET", str(self.page.url.join(target.action).copy_with(params=pairs)))
        origin = f"{self.page.url.scheme}://{self.page.url.netloc.decode()}"
        return await self.request(
            "POST",
            target.action,
            content=urlencode(pairs),
            headers={"Content-Type": FORM, "Origin": origin},
        )


class Connections(httpx.AsyncBaseTransport):
    """httpx transport that sends the requests of every host to the lab's address.

    shared: transport to use instead of a new one, closed by its owner.
    """

    def __init__(self, address: LabAddress, shared: LabTransport | None = None) -> None:
        self._shared = shared
        self._transport = shared or address.connections()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._transport.handle_async_request(request)

    async def close(self) -> None:
        """Close all connections, unless they are shared."""
        if self._shared is None:
            await self._transport.aclose()


class _FormReader(HTMLParser):
    """HTML parser that collects the forms of a page with their current values."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._open: Form | None = None
        self._select: str | None = None
        self._text: str | None = None  # the textarea whose text is being read

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            method = given.get("method", "get").upper()
            self._open = Form(given.get("name") or given.get("id", ""), method, given.get("action", ""))
            self.forms.append(self._open)
        elif self._open is None or "disabled" in given:
            return
        elif tag == "input":
            self._input(self._open, given)
        elif tag == "button" and given.get("type", "submit") == "submit":
            self._button(self._open, given)
        elif tag == "select" and given.get("name"):
            self._select = given["name"]
            self._open.choices.setdefault(self._select, [])
        elif tag == "option" and self._select is not None:
            self._option(self._open, self._select, given)
        elif tag == "textarea" and given.get("name"):
            self._text = given["name"]
            self._open.fields[self._text] = ""

    def handle_data(self, data: str) -> None:
        if self._open is not None and self._text is not None:
            self._open.fields[self._text] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None
        elif tag == "select":
            self._select = None
        elif tag == "textarea":
            self._text = None

    def _input(self, form: Form, given: Mapping[str, str]) -> None:
        name, kind = given.get("name", ""), given.get("type", "text").lower()
        if not name or kind in ("button", "reset", "file"):
            return
        if kind in BUTTONS:
            self._button(form, given)
        elif kind in ("radio", "checkbox"):
            value = given.get("value", "on")
            form.choices.setdefault(name, []).append(value)
            if "checked" in given:
                form.fields[name] = value
        else:
            form.fields[name] = given.get("value", "")

    def _button(self, form: Form, given: Mapping[str, str]) -> None:
        name = given.get("name", "")
        if name:
            form.choices.setdefault(name, []).append(given.get("value", ""))
            form.fields.setdefault(name, given.get("value", ""))

    def _option(self, form: Form, name: str, given: Mapping[str, str]) -> None:
        value = given.get("value", "")
        form.choices[name].append(value)
        if "selected" in given or name not in form.fields:
            form.fields[name] = value
