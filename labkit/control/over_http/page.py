"""The page of a lab at `/` of its control: files, one-use codes for the token, and documents for tabs of their own.

A link to the page has a code in its fragment, which browsers send to no server. The page exchanges it for the token, so
that a link in a history, a log or a stored output is of no use afterwards.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from aiohttp import hdrs, web

from labkit.control.over_http.problem import ControlProblem, expect_method

FILES = Path(__file__).with_name("page_files")
PREFIX = "/page/"
CODE, TOKEN, DOCUMENT = (f"{PREFIX}{name}" for name in ("code", "token", "document"))
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
# Of third parties' HTML: an origin of its own, without scripts, forms and requests.
SANDBOX = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
COMMON = {
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
NO_STORE = {"Cache-Control": "no-store"}
WAITING = 16  # unused codes, and unread documents; the oldest ends for a new one
LARGEST = 4 * 2**20  # bytes of a document


class Tickets:
    """Contents that can be taken once, each by a random name."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}

    def add(self, content: bytes) -> str:
        """Return the name of a new content."""
        name = secrets.token_urlsafe(24)
        self._contents[name] = content
        if len(self._contents) > WAITING:
            del self._contents[next(iter(self._contents))]
        return name

    def take(self, name: str) -> bytes | None:
        """Remove and return a content; None for a name that is unknown or was used."""
        return self._contents.pop(name, None)


class LabPage:
    """Answers the requests for the page of a lab. token: that of its control, which a code gives once."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self._codes = Tickets()
        self._documents = Tickets()

    def fragment(self) -> str:
        """Return what follows the URL of the control in a new link to the page."""
        return f"/#code={self._codes.add(self._token)}"

    def answer(self, request: web.BaseRequest) -> web.Response | None:
        """Return the answer to a client that has no token; None for what needs the token.

        Raises ControlProblem for a code or a document that is unknown or was used.
        """
        path = request.path
        if path == TOKEN:
            expect_method(request, hdrs.METH_POST)
            code = request.headers.get(hdrs.AUTHORIZATION, "").removeprefix("Code ")
            if (token := self._codes.take(code)) is None:
                raise ControlProblem(403, "this link was used, or is unknown: `labkit page` prints a new one")
            return web.Response(body=token, content_type="text/plain", headers=NO_STORE)
        found = _files().get(path)
        if found is not None:
            expect_method(request, hdrs.METH_GET)
            kind, content = found
            headers = {**COMMON, "Cache-Control": "no-cache", "Content-Security-Policy": POLICY}
            return web.Response(body=content, content_type=kind, charset="utf-8", headers=headers)
        if not path.startswith(f"{DOCUMENT}/"):
            return None
        expect_method(request, hdrs.METH_GET)
        if (document := self._documents.take(path.removeprefix(f"{DOCUMENT}/"))) is None:
            raise ControlProblem(404, "this document was opened already: open it again from the page")
        headers = {**COMMON, **NO_STORE, "Content-Security-Policy": SANDBOX}
        return web.Response(body=document, content_type="text/html", charset="utf-8", headers=headers)

    def answer_authenticated(self, request: web.BaseRequest, body: bytes) -> web.Response:
        """Return the answer to a client with the token: what follows the URL in a link, or in that of a document.

        body: the document.
        """
        expect_method(request, hdrs.METH_POST)
        if request.path == CODE:
            return web.Response(text=self.fragment(), headers=NO_STORE)
        if request.path != DOCUMENT:
            raise ControlProblem(404, f"the page has no file {request.path[:200]!r}")
        if len(body) > LARGEST:
            raise ControlProblem(413, f"the document is larger than {LARGEST // 2**20} MiB")
        return web.Response(text=f"{DOCUMENT}/{self._documents.add(body)}", headers=NO_STORE)


@cache
def _files() -> Mapping[str, tuple[str, bytes]]:
    """Return media type and content of the page's files, by path."""
    found = {
        f"{PREFIX}{each.name}": (TYPES[each.suffix], each.read_bytes())
        for each in FILES.iterdir()
        if each.suffix in TYPES
    }
    return MappingProxyType({"/": found.pop(f"{PREFIX}index.html"), **found})
