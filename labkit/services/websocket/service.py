"""Websocket: messages from a solution to the websockets that its clients have open."""

from __future__ import annotations

import binascii
import json
from base64 import b64decode
from typing import Annotated, Any, ClassVar, Literal, Protocol

from pydantic import Field, PlainValidator

from labkit.context import Context
from labkit.core.errors import ServiceError
from labkit.http.websocket import LEAVING, MESSAGE_LIMIT
from labkit.services.operation import Caller, Service, operation
from labkit.services.redaction import InJournal, lengths

MOST_ENDED = 10_000  # ids of ended websockets that are remembered
LONGEST_ID = 100  # characters
LONGEST_BASE64 = (MESSAGE_LIMIT + 2) // 3 * 4  # characters

Kind = Literal["data-text", "data-binary"]
SocketId = Annotated[str, Field(max_length=LONGEST_ID)]


class ServedWebsocket(Protocol):
    """An open websocket, as the service uses it. id: its socket_id; solution: id of its solution."""

    id: str
    solution: str

    def table(self) -> dict[str, object]:
        """Return the fields of `websocketInfo`, of its opening."""

    async def send(self, message: str | bytes) -> None:
        """Send a message. Raises ConnectionError if the websocket has ended."""

    def close(self, code: int = 1000, reason: str = "", *, quiet: bool = False) -> None:
        """Send a close frame. quiet: no script runs for the end."""


def as_message(value: object, most: int = MESSAGE_LIMIT) -> str | bytes:
    """Return a value as the content of a message: text, bytes of Lua that are not UTF-8, or JSON of anything else.

    most: bytes. Raises ValueError for a value that is not JSON, and for one that is too long.
    """
    text = value if isinstance(value, str | bytes) else json.dumps(value, ensure_ascii=False, allow_nan=False)
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    if len(data) > most:
        raise ValueError(f"expected at most {most} bytes, not {len(data)}")
    if isinstance(text, bytes):
        return data
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _binary(value: object) -> str | bytes:
    """Return the bytes of a text in base64, or bytes as they are. Raises ValueError."""
    if not isinstance(value, str | bytes):
        raise ValueError("expected a text in base64")
    try:
        return as_message(b64decode(value, validate=True) if isinstance(value, str) else value)
    except binascii.Error:
        raise ValueError("expected a text in base64") from None


def _content(value: object) -> object:
    """Validate the content of a message."""
    if value is None:
        raise ValueError("expected a text, a number or a table")
    try:
        as_message(value, LONGEST_BASE64)
    except (TypeError, RecursionError):
        raise ValueError("expected a text, a number or a table") from None
    return value


Content = Annotated[Any, PlainValidator(_content), InJournal(lengths)]


class Websocket(Service):
    """Service that sends messages to websockets, lists them and ends them. A solution has only its own.

    server_ip: as scripts get it; there is one server, so that it selects nothing.
    """

    name: ClassVar[str] = "Websocket"

    def __init__(self, context: Context) -> None:
        self._context = context
        self._open: dict[str, dict[str, ServedWebsocket]] = {}  # by solution and id
        self._ended: dict[tuple[str, str], None] = {}  # the newest last

    @operation
    async def send(
        self,
        caller: Caller,
        socket_id: SocketId,
        message: Content,
        server_ip: str = "",
        type: Kind = "data-text",
    ) -> dict[str, object]:
        """Send a message to a websocket. Returns an empty table.

        socket_id: of the websocket; message: a text of up to 1 MiB, or a number or a table, which is sent as JSON;
        type: data-text, or data-binary for bytes, whose message is a text in base64, or bytes of Python. A text that is
        not UTF-8 is sent as bytes. Status 404 for an unknown id, 500 for a websocket that has ended.
        """
        socket = self.find(caller, socket_id)
        try:
            content = as_message(message) if type == "data-text" else _binary(message)
        except ValueError as error:
            raise ServiceError(400, f"Parameter message validation failed: {error}.") from None
        try:
            await socket.send(content)
        except ConnectionError:
            raise self._gone(socket_id) from None
        return {}

    @operation
    async def list_(self, caller: Caller) -> list[str]:
        """Return the ids of the open websockets, oldest first."""
        return list(self._open.get(caller.solution, {}))

    @operation
    async def close(self, caller: Caller, socket_id: SocketId, server_ip: str = "") -> dict[str, object]:
        """End a websocket, with code 1000. Returns an empty table.

        socket_id: of the websocket. Status 404 for an unknown id, 500 for a websocket that has ended.
        """
        self.find(caller, socket_id).close()
        return {}

    @operation
    async def closeAll(self, caller: Caller) -> int:
        """End all websockets of the solution, with code 1000. Returns how many there were."""
        sockets = [*self._open.get(caller.solution, {}).values()]
        for each in sockets:
            each.close()
        return len(sockets)

    @operation
    async def info(self, caller: Caller, socket_id: SocketId, server_ip: str = "") -> dict[str, object]:
        """Return what `websocketInfo` had at the opening of a websocket: headers, parameters, uri, timestamp …

        socket_id: of the websocket. Status 404 for an unknown id, 500 for a websocket that has ended.
        """
        return self.find(caller, socket_id).table()

    def find(self, caller: Caller, id: str) -> ServedWebsocket:
        """Return an open websocket of a solution. Raises ServiceError 404 for an unknown id, 500 for an ended one."""
        found = self._open.get(caller.solution, {}).get(id)
        if found is not None:
            return found
        if (caller.solution, id) in self._ended:
            raise self._gone(id)
        raise ServiceError(404, f"Websocket {id} Not Found")

    def _gone(self, id: str) -> ServiceError:
        return ServiceError(500, f"Websocket {id} has ended")

    # --- for the sites of solutions

    def count(self, solution: str) -> int:
        """Return the number of open websockets of a solution."""
        return len(self._open.get(solution, ()))

    def add(self, socket: ServedWebsocket) -> None:
        """Register an open websocket."""
        self._open.setdefault(socket.solution, {})[socket.id] = socket

    def remove(self, socket: ServedWebsocket) -> None:
        """Forget a websocket that has ended, except its id."""
        sockets = self._open.get(socket.solution, {})
        if sockets.pop(socket.id, None) is None:
            return
        if not sockets:
            del self._open[socket.solution]
        self._ended[socket.solution, socket.id] = None
        if len(self._ended) > MOST_ENDED:
            del self._ended[next(iter(self._ended))]

    # --- as a component

    async def forget(self, solution: str) -> None:
        self._leave(solution, "the solution is removed")
        for key in [key for key in self._ended if key[0] == solution]:
            del self._ended[key]

    async def clear(self) -> None:
        for solution in tuple(self._open):
            self._leave(solution, "the lab is reset")
        self._ended.clear()

    async def crash(self) -> None:
        self._open.clear()
        self._ended.clear()

    def _leave(self, solution: str, reason: str) -> None:
        """End the websockets of a solution; none of its scripts runs for it."""
        for socket in self._open.pop(solution, {}).values():
            socket.close(LEAVING, reason, quiet=True)
