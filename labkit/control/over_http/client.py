"""Client of the control operations of a lab in another process."""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import aiohttp
from aiohttp import hdrs
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from labkit.control.json_values import without_json
from labkit.control.over_http.access import LOOPBACK
from labkit.control.over_http.operations import ControlOperation
from labkit.control.over_http.page import CODE
from labkit.control.over_http.problem import ProblemDetails, raised_error
from labkit.core.errors import LabError, LabkitError, OwnProcessError, SettingsError, unknown

PATIENCE = 10.0  # seconds for a connection; an operation may take any time
EVENT_ROOM = 64 * 2**20  # longest line of a stream, in bytes


class ControlClient:
    """HTTP connections to the control of one lab.

    url: of its control, as its ready line has it; ca_file: certificate of its CA, for https. Operations raise the
    errors that they raise in the lab's process, and LabError where the lab cannot be reached. Raises LabError for a URL
    to which a token should not be sent, SettingsError for a file that is no certificate.
    """

    def __init__(self, url: str, token: str, ca_file: Path | None = None) -> None:
        self.url = url.rstrip("/")
        self.host = _checked_host(self.url)
        self._token = token
        self.ca_pem: str | None = None
        self._context: ssl.SSLContext | None = None
        if ca_file is not None:
            self._context, self.ca_pem = _trusted(ca_file)
        self._session: aiohttp.ClientSession | None = None

    async def call(self, operation: ControlOperation, *args: Any, **kwargs: Any) -> Any:
        """Call an operation with the arguments of its method, and return its result."""
        content = await self.post(operation, _encoded(operation, args, kwargs))
        try:
            return operation.decode_result(content)
        except ValidationError:
            raise self._stranger(200) from None

    async def post(self, operation: ControlOperation, body: bytes) -> bytes:
        """Call an operation with the JSON of its arguments, and return the JSON of its result."""
        return await self._fetch(operation.path, body)

    async def page(self) -> str:
        """Return a new link to the lab's page, which works once."""
        return self.url + (await self._fetch(CODE, b"")).decode()

    async def _fetch(self, path: str, body: bytes) -> bytes:
        try:
            async with self._post(path, body) as answer:
                content: bytes = await answer.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._unreachable(error) from None
        if answer.status != 200:
            raise self._refusal(answer.status, content)
        return content

    async def follow(self, operation: ControlOperation, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Call a streaming operation and yield its items as they arrive."""
        async for item in await self.open(operation, *args, **kwargs):
            yield item

    async def open(self, operation: ControlOperation, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        """Call a streaming operation, and return its items once it has begun, so that none is missed."""
        body = _encoded(operation, args, kwargs)
        try:
            answer = await self._post(operation.path, body)
            if answer.status != 200:
                async with answer:
                    raise self._refusal(answer.status, await answer.read())
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._unreachable(error) from None
        return self._items(operation, answer)

    async def _items(
        self, operation: ControlOperation, answer: aiohttp.ClientResponse
    ) -> AsyncGenerator[Any, None]:
        async with answer:
            while True:
                try:
                    line = await answer.content.readline()
                except (aiohttp.ClientError, TimeoutError, OSError) as error:
                    raise self._unreachable(error) from None
                if not line:
                    return
                name, _, value = line.partition(b": ")
                if name == b"data":
                    yield operation.decode_result(value)

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _post(self, path: str, body: bytes) -> Any:
        headers = {hdrs.CONTENT_TYPE: "application/json"}
        return self._connections().post(self.url + path, data=body, headers=headers, allow_redirects=False)

    def _connections(self) -> aiohttp.ClientSession:
        """Return the session, which belongs to the event loop of the first call."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=self._context or True),  # waits may be many
                headers={hdrs.AUTHORIZATION: f"Bearer {self._token}"},
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=PATIENCE),
                read_bufsize=EVENT_ROOM,
            )
        return self._session

    def _refusal(self, status: int, content: bytes) -> LabkitError:
        """Return the error that an answer stands for."""
        try:
            problem = ProblemDetails.model_validate_json(content)
        except ValidationError:
            return self._stranger(status)
        if status == 401:
            return LabError(
                f"the lab at {self.url} refuses this token: expected the one that its server shows, in token=… or "
                f"in LABKIT_TOKEN"
            )
        return raised_error(problem.error, problem.detail, status)

    def _unreachable(self, error: Exception) -> LabError:
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            return LabError(
                f"the certificate of {self.url} is not trusted: pass ca_file=…, the file that its server shows"
            )
        if isinstance(error, aiohttp.ClientPayloadError):  # its own text is about the transfer coding
            return LabError(f"the lab at {self.url} has ended, or the connection to it")
        number = error.errno if isinstance(error, OSError) else None
        reason = str(error) if number is None else os.strerror(number)
        return LabError(f"the lab at {self.url} cannot be reached: {reason or type(error).__name__}")

    def _stranger(self, status: int) -> LabError:
        return LabError(
            f"{self.url} answers with HTTP {status}, but not as the control of a lab of this version does"
        )


def _checked_host(url: str) -> str:
    """Return the host in the URL of a control listener."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path or parts.query:
        raise LabError(f"url: expected such as http://127.0.0.1:8444, not {url!r}")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise LabError(f"url: {url}: a token is sent over https only, except to this machine itself")
    return parts.hostname


def arguments_of(operation: ControlOperation, texts: dict[str, str]) -> bytes:
    """Return the JSON of arguments that are given as texts: each is JSON, or else the text itself.

    Raises LabError for arguments that the operation does not have, or that have a wrong value.
    """
    named = operation.arguments.model_fields
    for name in texts:
        if name not in named:
            raise LabError(f"{operation.key}: {unknown('argument', name, named)}")
    if missing := [name for name, each in named.items() if each.is_required() and name not in texts]:
        raise LabError(f"{operation.key} needs {', '.join(f'{each}=…' for each in missing)}")
    read = {name: _json(text) for name, text in texts.items()}
    for name, text in texts.items():  # an id of digits, or a text in quotes
        if _wrong(operation, read, name):
            if not _wrong(operation, {**read, name: text}, name):
                read[name] = text
            elif isinstance(read[name], str) and text[:1] in ("{", "["):
                raise LabError(f"{name}: expected JSON: {_json_error(text)}")
    return json.dumps(read).encode()


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _json_error(text: str) -> str:
    try:
        json.loads(text)
    except ValueError as error:
        return str(error)
    return ""


def _wrong(operation: ControlOperation, arguments: dict[str, Any], name: str) -> bool:
    try:
        operation.arguments.model_validate_json(json.dumps(arguments))
    except ValidationError as error:
        return any(each["loc"][:1] == (name,) for each in error.errors(include_input=False))
    return False


def _trusted(ca_file: Path) -> tuple[ssl.SSLContext, str]:
    """Return a TLS context that trusts a CA alone, and the CA's certificate."""
    try:
        pem = ca_file.read_text(encoding="ascii")
        context = ssl.create_default_context(cadata=pem)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"{ca_file}: expected a certificate (PEM): {reason}") from None
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # a user's own certificate may lack its root
    return context, pem


def _encoded(operation: ControlOperation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    try:
        foreign = next(map(repr, without_json([*args, *kwargs.values()])), None)
        if foreign is None:
            return operation.encode_arguments(*args, **kwargs)
    except (PydanticSerializationError, UnicodeError):
        foreign = "a text with half of a surrogate pair, or an object"
    except (RecursionError, ValueError):
        raise LabError("a value is nested too deep, or holds itself") from None
    raise OwnProcessError(
        f"{foreign:.100}: only plain data can be sent to a lab elsewhere: texts, bytes, numbers, lists and mappings; "
        f"other objects need the lab's own process: make it here with Lab(…)"
    )
