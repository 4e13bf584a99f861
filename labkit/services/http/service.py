"""The Http service (platform types; document 1, Endpoints): requests of scripts to other servers."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, Secret

from labkit.context import Context
from labkit.core.errors import ServiceError
from labkit.services.arguments import expect_plain, is_unicode
from labkit.services.http.targets import OutgoingRequest, expect_named, redirected
from labkit.services.operation import Caller, Service, operation
from labkit.services.redaction import InJournal, urls

LARGEST_BODY = 2**20  # characters
MOST_HEADERS = 64
LONGEST_HEADER = 8000  # characters
MOST_REDIRECTS = 5
OURS = frozenset({"host", "content-length", "transfer-encoding", "connection"})

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}")
_VALUE = re.compile(r"[\t\x20-\x7e]*")


def _headers(given: object) -> object:
    if given in ({}, []):  # an empty table of a script may look like a list
        return {}
    if not isinstance(given, dict) or len(given) > MOST_HEADERS:
        raise ValueError(f"expected a table of at most {MOST_HEADERS} headers")
    for name, value in given.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name.lower() in OURS:
            raise ValueError("expected names of headers, and none that the connection needs")
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError("expected texts and numbers")
        if len(str(value)) > LONGEST_HEADER or not _VALUE.fullmatch(str(value)):
            raise ValueError(f"expected printable ASCII of at most {LONGEST_HEADER} characters")
    return {name: str(value) for name, value in given.items()}


def _body(value: object) -> object:
    """Return a body as text: a table as JSON."""
    if isinstance(value, str | None):
        if value is not None and (len(value) > LARGEST_BODY or not is_unicode(value)):
            raise ValueError(f"expected valid Unicode of at most {LARGEST_BODY} characters")
        return value
    return expect_plain(value, LARGEST_BODY)


Url = Annotated[str, Field(min_length=1), InJournal(urls)]
Headers = Annotated[Secret[dict[str, str]], BeforeValidator(_headers)]
Body = Annotated[Secret[Any], BeforeValidator(_body)]
Table = dict[str, object]


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer to a request. headers: by name in lower case; body: as text."""

    status: int
    headers: dict[str, str]
    body: str


class HttpService(Service):
    """Service that sends requests to other servers: only to the hosts that `http_hosts` of the lab's settings names.

    Each operation returns {status_code, headers, body}: names of headers in lower case, body as text, at most 1 MiB.
    A body that is a table is sent as JSON. Up to 5 redirects are followed, each to a named host. 403 for other hosts,
    502 without an answer, 504 after a timeout (`guard.outbound`).
    """

    name: ClassVar[str] = "Http"
    without_effect: ClassVar[tuple[str, ...]] = ("credentials", "sslOptions")

    def __init__(self, context: Context) -> None:
        self._context = context

    @operation
    async def get(self, caller: Caller, url: Url, headers: Headers | None = None) -> Table:
        """Send a GET request."""
        return await self._request("GET", url, headers)

    @operation
    async def head(self, caller: Caller, url: Url, headers: Headers | None = None) -> Table:
        """Send a HEAD request."""
        return await self._request("HEAD", url, headers)

    @operation
    async def options(self, caller: Caller, url: Url, headers: Headers | None = None) -> Table:
        """Send an OPTIONS request."""
        return await self._request("OPTIONS", url, headers)

    @operation
    async def post(
        self, caller: Caller, url: Url, body: Body | None = None, headers: Headers | None = None
    ) -> Table:
        """Send a POST request with a text or a table."""
        return await self._request("POST", url, headers, body)

    @operation
    async def put(
        self, caller: Caller, url: Url, body: Body | None = None, headers: Headers | None = None
    ) -> Table:
        """Send a PUT request with a text or a table."""
        return await self._request("PUT", url, headers, body)

    @operation
    async def patch(
        self, caller: Caller, url: Url, body: Body | None = None, headers: Headers | None = None
    ) -> Table:
        """Send a PATCH request with a text or a table."""
        return await self._request("PATCH", url, headers, body)

    @operation
    async def delete(
        self, caller: Caller, url: Url, body: Body | None = None, headers: Headers | None = None
    ) -> Table:
        """Send a DELETE request, which may have a body."""
        return await self._request("DELETE", url, headers, body)

    async def _request(
        self,
        method: str,
        url: str,
        headers: Secret[dict[str, str]] | None,
        body: Secret[Any] | None = None,
    ) -> Table:
        request: OutgoingRequest | None = _made(method, url, headers, body)
        for _ in range(MOST_REDIRECTS + 1):
            assert request is not None
            expect_named(request.url, self._context.settings.http_hosts)
            answer = await self._send(request)
            request = redirected(request, answer.status, answer.headers.get("location", ""))
            if request is None:
                return {"status_code": answer.status, "headers": answer.headers, "body": answer.body}
        raise ServiceError(502, f"{url.partition('?')[0]} redirects more than {MOST_REDIRECTS} times")

    async def _send(self, request: OutgoingRequest) -> HttpAnswer:
        """Send one request. Raises ServiceError 502 without an answer, 504 after a timeout."""
        received: dict[str, str] = {}
        where = request.url.partition("?")[0]
        try:
            status, text = await self._context.outbound.request(
                request.method, request.url, request.headers, request.body, received
            )
        except TimeoutError:
            raise ServiceError(504, f"{where} did not answer in time") from None
        except OSError as error:
            raise ServiceError(502, str(error)) from None
        return HttpAnswer(status, received, text)


def _made(
    method: str, url: str, headers: Secret[dict[str, str]] | None, body: Secret[Any] | None
) -> OutgoingRequest:
    """Return a request with a text as its body, and the type of a body that was a table."""
    given = {} if headers is None else headers.get_secret_value()
    content = None if body is None else body.get_secret_value()
    if content is not None and not isinstance(content, str):
        if not any(name.lower() == "content-type" for name in given):
            given = {**given, "Content-Type": "application/json"}
        content = json.dumps(content)
    return OutgoingRequest(method, url.partition("#")[0], given, content)
