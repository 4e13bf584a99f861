"""The Http service (platform types; document 1, Endpoints): requests of scripts to other servers."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlencode

from pydantic import BeforeValidator, Field, Secret

from labkit.context import Context
from labkit.core.errors import ServiceError
from labkit.services.arguments import Whole, as_name, expect_plain, is_unicode
from labkit.services.http.targets import OutgoingRequest, expect_named, redirected
from labkit.services.operation import Caller, MissingArgumentError, Service, operation
from labkit.services.redaction import InJournal, urls

LARGEST_BODY = 2**20  # characters
MOST_HEADERS = 64
LONGEST_HEADER = 8000  # characters
MOST_REDIRECTS = 5
MOST_PARAMS = 256
CONNECTING, RECEIVING = 10_000, 20_000  # the longest timeouts in milliseconds
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
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


def _params(given: object) -> object:
    """Return the pairs of a query or a form: a list gives its name several times."""
    if given in ({}, []):
        return []
    if not isinstance(given, dict):
        raise ValueError("expected a table of values by name")
    pairs = [
        (name, each)
        for name, value in given.items()
        for each in (value if isinstance(value, list) else [value])
    ]
    texts = []
    for name, each in pairs[: MOST_PARAMS + 1]:
        if not isinstance(each, str | int | float) or not is_unicode(f"{name}{each}"):
            raise ValueError("expected texts, numbers, booleans and lists of these")
        texts.append((str(name), json.dumps(each) if isinstance(each, bool) else str(as_name(each))))
    if len(pairs) > MOST_PARAMS or sum(len(name) + len(each) for name, each in texts) > LARGEST_BODY:
        raise ValueError(f"expected at most {MOST_PARAMS} values, of {LARGEST_BODY} characters in all")
    return texts


Url = Annotated[str, Field(min_length=1), InJournal(urls)]
Headers = Annotated[Secret[dict[str, str]], BeforeValidator(_headers)]
Body = Annotated[Secret[Any], BeforeValidator(_body)]
Json = Annotated[Secret[Any], BeforeValidator(lambda value: expect_plain(value, LARGEST_BODY))]
Params = Annotated[Secret[list[tuple[str, str]]], BeforeValidator(_params)]
Connecting = Annotated[Whole, Field(ge=1, le=CONNECTING)]
Receiving = Annotated[Whole, Field(ge=1, le=RECEIVING)]
BODILESS = ("get", "head", "options")
Method = Annotated[
    Literal["get", "head", "options", "post", "put", "patch", "delete"],
    BeforeValidator(lambda value: value.lower() if isinstance(value, str) else value),
]
Table = dict[str, object]
Sends = Callable[..., Awaitable[Table]]


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer to a request. headers: by name in lower case; body: as text."""

    status: int
    headers: dict[str, str]
    body: str


def _sends(method: Literal["get", "head", "options"]) -> Sends:
    """Return the operation that sends a request without a body."""

    async def send(
        self: HttpService,
        caller: Caller,
        url: Url,
        headers: Headers | None = None,
        params: Params | None = None,
        conn_timeout: Connecting | None = None,
        recv_timeout: Receiving | None = None,
    ) -> Table:
        return await self.request(
            caller, url, method, headers, None, None, params, conn_timeout, recv_timeout
        )

    send.__name__, send.__doc__ = method, f"Send a request with the method {method.upper()}."
    return operation(send)


def _sends_body(method: Literal["post", "put", "patch", "delete"]) -> Sends:
    """Return the operation that sends a request with a body."""

    async def send(
        self: HttpService,
        caller: Caller,
        url: Url,
        body: Body | None = None,
        headers: Headers | None = None,
        json: Json | None = None,
        params: Params | None = None,
        conn_timeout: Connecting | None = None,
        recv_timeout: Receiving | None = None,
    ) -> Table:
        return await self.request(
            caller, url, method, headers, body, json, params, conn_timeout, recv_timeout
        )

    send.__name__, send.__doc__ = (
        method,
        f"Send a request with the method {method.upper()}, which may have a body.",
    )
    return operation(send)


class HttpService(Service):
    """Service that sends requests to other servers: only to the hosts that `http_hosts` of the lab's settings names.

    Each operation returns {status_code, headers, body}: names of headers in lower case, body as text, at most 1 MiB.
    A body that is a table is sent as JSON. `params` are added to the query of get, head and options, and of a request
    with a body; else they are its form. Up to 5 redirects are followed, each to a named host. 400 for wrong arguments
    (422 with `wire.http_invalid`, but for a missing one), 403 for other hosts, 502 without an answer, 504 after a
    timeout: the arguments', and `guard.outbound` in all.

    Not offered: `credentials` and `sslOptions`.
    """

    name: ClassVar[str] = "Http"
    without_effect: ClassVar[tuple[str, ...]] = ("credentials", "sslOptions")

    def __init__(self, context: Context) -> None:
        self._context = context

    def refusal(self, error: ServiceError) -> ServiceError:
        invalid = error.status == 400 and not isinstance(error, MissingArgumentError)
        return (
            ServiceError(self._context.wire.http_invalid, error.message, error.journaled)
            if invalid
            else error
        )

    get, head, options = _sends("get"), _sends("head"), _sends("options")
    post, put, patch = _sends_body("post"), _sends_body("put"), _sends_body("patch")
    delete = _sends_body("delete")

    @operation
    async def request(
        self,
        caller: Caller,
        url: Url,
        method: Method = "get",
        headers: Headers | None = None,
        body: Body | None = None,
        json: Json | None = None,
        params: Params | None = None,
        conn_timeout: Connecting | None = None,
        recv_timeout: Receiving | None = None,
    ) -> Table:
        """Send a request with a method in any letter case; get, head and options leave out body and json."""
        request: OutgoingRequest | None = request_of(method, url, headers, body, json, params)
        timeouts = (conn_timeout or CONNECTING) / 1000, (recv_timeout or RECEIVING) / 1000
        for _ in range(MOST_REDIRECTS + 1):
            assert request is not None
            expect_named(request.url, self._context.settings.http_hosts)
            answer = await self._send(request, timeouts)
            request = redirected(request, answer.status, answer.headers.get("location", ""))
            if request is None:
                return {"status_code": answer.status, "headers": answer.headers, "body": answer.body}
        raise ServiceError(502, f"{url.partition('?')[0]} redirects more than {MOST_REDIRECTS} times")

    async def _send(self, request: OutgoingRequest, timeouts: tuple[float, float]) -> HttpAnswer:
        """Send one request. Raises ServiceError 502 without an answer, 504 after a timeout."""
        received: dict[str, str] = {}
        where = request.url.partition("?")[0]
        try:
            status, text = await self._context.outbound.request(
                request.method, request.url, request.headers, request.body, received, timeouts
            )
        except TimeoutError:
            raise ServiceError(504, f"{where} did not answer in time") from None
        except OSError as error:
            raise ServiceError(502, str(error)) from None
        return HttpAnswer(status, received, text)


def request_of(
    method: Method,
    url: str,
    headers: Secret[dict[str, str]] | None,
    body: Secret[Any] | None,
    json_: Secret[Any] | None,
    params: Secret[list[tuple[str, str]]] | None,
) -> OutgoingRequest:
    """Return a request with a text as its body, and the type of one that was made. Raises ServiceError 400."""
    given = {} if headers is None else headers.get_secret_value()
    pairs = [] if params is None else params.get_secret_value()
    if body is not None and json_ is not None:
        raise ServiceError(400, "Parameters body and json validation failed: expected one of them.")
    found = None if body is None else body.get_secret_value()
    content, kind = found if isinstance(found, str | None) else json.dumps(found), JSON
    if json_ is not None:
        content = json.dumps(json_.get_secret_value())
    is_made = content is not None and not isinstance(found, str)
    address = url.partition("#")[0]
    if method in BODILESS:
        content, is_made = None, False
    elif pairs and content is None:
        content, kind, is_made, pairs = urlencode(pairs), FORM, True, []
    if pairs:
        address += f"{'&' if '?' in address else '?'}{urlencode(pairs)}"
    if is_made and not any(name.lower() == "content-type" for name in given):
        given = {**given, "Content-Type": kind}
    return OutgoingRequest(method.upper(), address, given, content)
