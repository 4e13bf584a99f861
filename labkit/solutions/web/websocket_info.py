"""The argument `websocketInfo` of a websocket's script."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

from labkit.solutions.lua.convert import FixedTable

SocketCall = Callable[[str, str, object], Any]  # service, operation, parameters


@dataclass(slots=True)
class WebsocketInfo:
    """Event of a websocket, for the handler of its route.

    type: open, data or close; message: text, or bytes of a binary message (for Lua a text in base64), None unless type
    is data; message_type: data-text or data-binary, None as message; timestamp: lab time in microseconds; headers: of
    the handshake, names in lower case; socket_id: for Websocket.send; server_ip: address of the lab; uri: the full URL;
    route: the path template; parameters: of the path and the query; ip: address of the client.
    """

    socket_id: str
    server_ip: str
    uri: str
    route: str
    headers: dict[str, str] = field(default_factory=FixedTable)
    parameters: dict[str, Any] = field(default_factory=FixedTable)
    ip: str = ""
    type: str = "open"
    message: str | bytes | None = None
    message_type: str | None = None
    timestamp: int = 0
    _call: SocketCall | None = None

    def at(self, type: str, message: str | bytes | None) -> WebsocketInfo:
        """Return a copy for one event, with the same headers and parameters."""
        return WebsocketInfo(
            self.socket_id,
            self.server_ip,
            self.uri,
            self.route,
            self.headers,
            self.parameters,
            self.ip,
            type,
            message,
            None if message is None else "data-text" if isinstance(message, str) else "data-binary",
            self.timestamp,
        )

    def bound_to(self, call: SocketCall) -> WebsocketInfo:
        """Return a copy for a function, whose `send` and `close` call the service Websocket by `call`."""
        return replace(self, headers=dict(self.headers), parameters=dict(self.parameters), _call=call)

    def send(self, message: object) -> Any:
        """Send a message to the client: to be awaited in an async function.

        message: text, bytes, or a value that is sent as JSON.
        """
        kind = "data-binary" if isinstance(message, bytes) else "data-text"
        return self._operate("send", {"message": message, "type": kind})

    def close(self) -> Any:
        """End the websocket: to be awaited in an async function."""
        return self._operate("close", {})

    def table(self) -> dict[str, Any]:
        """Return the event as a table for a script."""
        table = dict(zip(_SHOWN, _VALUES(self), strict=True))
        if isinstance(self.message, bytes):
            table["message"] = b64encode(self.message).decode()
        return table

    def _operate(self, operation: str, parameters: dict[str, object]) -> Any:
        assert self._call is not None
        named = {"socket_id": self.socket_id, "server_ip": self.server_ip}
        return self._call("Websocket", operation, named | parameters)


_SHOWN = tuple(name for name in WebsocketInfo.__slots__ if name != "_call")
_VALUES = attrgetter(*_SHOWN)
