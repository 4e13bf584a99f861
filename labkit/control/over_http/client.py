"""Client of control over HTTP: calls the operations of a lab in another process."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from pydantic import ValidationError

from labkit.control.over_http.operations import ControlOperation
from labkit.control.over_http.problem import ProblemDetails
from labkit.core import errors
from labkit.core.errors import LabError, LabkitError, SettingsError, StorageError

CONNECT = 10.0  # seconds; an answer may take any time


class ControlClient:
    """Client of one lab.

    url: of its control, as its ready line has it; ca_file: certificate of its CA, for https. Operations raise the
    errors that they raise in the lab's process, and LabError where the lab cannot be reached.
    """

    def __init__(self, url: str, token: str, ca_file: Path | None = None) -> None:
        self._url = url
        self._client = httpx.AsyncClient(
            base_url=url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=httpx.Timeout(None, connect=CONNECT),
            limits=httpx.Limits(max_connections=None),
            verify=_context(ca_file) if url.startswith("https:") else False,
            trust_env=False,  # no proxy learns the token
        )

    async def call(self, operation: ControlOperation, *args: Any, **kwargs: Any) -> Any:
        """Call an operation with the arguments of its method, and return its result."""
        return operation.decode_result(
            await self.post(operation, operation.encode_arguments(*args, **kwargs))
        )

    async def post(self, operation: ControlOperation, body: bytes) -> bytes:
        """Call an operation with the JSON of its arguments, and return the JSON of its result."""
        try:
            answer = await self._client.post(operation.path, content=body)
        except httpx.TransportError as error:
            raise self._unreachable(error) from error
        if answer.status_code != 200:
            raise error_of(answer.status_code, answer.content)
        return answer.content

    async def follow(self, operation: ControlOperation, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Call an operation whose result is a stream, and return its items."""
        body = operation.encode_arguments(*args, **kwargs)
        try:
            async with self._client.stream("POST", operation.path, content=body) as answer:
                if answer.status_code != 200:
                    raise error_of(answer.status_code, await answer.aread())
                async for line in answer.aiter_lines():
                    if line.startswith("data: "):
                        yield operation.decode_result(line.removeprefix("data: ").encode())
        except httpx.TransportError as error:
            raise self._unreachable(error) from error

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _unreachable(self, error: httpx.TransportError) -> LabError:
        return LabError(f"the lab at {self._url} cannot be reached: {str(error) or type(error).__name__}")


def error_of(status: int, body: bytes) -> LabkitError:
    """Return the error that the lab raised, from an answer that refuses a call."""
    try:
        problem = ProblemDetails.model_validate_json(body)
    except ValidationError:
        return LabError(f"no lab answers at this URL: status {status}")
    kind = getattr(errors, problem.error or "LabError", LabError)
    if kind is StorageError:
        return StorageError(problem.status, problem.detail)
    return kind(problem.detail) if issubclass(kind, SettingsError | LabError) else LabError(problem.detail)


def arguments_of(operation: ControlOperation, texts: dict[str, str]) -> bytes:
    """Return the JSON of arguments that are given as texts: each is JSON, or else the text itself.

    Raises LabError for arguments that the operation does not have, or that have a wrong value.
    """
    named = operation.arguments.model_fields
    if unknown := [each for each in texts if each not in named]:
        known = ", ".join(named) or "none"
        raise LabError(f"{operation.key} has no argument {unknown[0]!r}, there are: {known}")
    if missing := [name for name, each in named.items() if each.is_required() and name not in texts]:
        raise LabError(f"{operation.key} needs {', '.join(f'{each}=…' for each in missing)}")
    read = {name: _json(text) for name, text in texts.items()}
    for name in read:  # an id of digits, or a text in quotes
        if _wrong(operation, read, name):
            read[name] = texts[name]
    return json.dumps(read).encode()


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _wrong(operation: ControlOperation, arguments: dict[str, Any], name: str) -> bool:
    try:
        operation.arguments.model_validate_json(json.dumps(arguments))
    except ValidationError as error:
        return any(each["loc"][:1] == (name,) for each in error.errors(include_input=False))
    return False


def _context(ca_file: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise SettingsError(f"{ca_file}: expected a certificate (PEM): {error}") from None
