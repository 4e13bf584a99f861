"""Raw client of websockets, which sends what no library does; and a solution for tests of them."""

from __future__ import annotations

import socket
import ssl
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager

from labkit.lab.solution import Solution
from tests.guard import PATIENCE

KEY = b64encode(b"0123456789abcdef").decode()
HANDSHAKE = {
    "Upgrade": "websocket",
    "Connection": "keep-alive, Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": KEY,
}
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10

# Keeps what happens in the key `log`; answers data as `echo`, closes at `bye`, fails at `fail`.
LUA = """
local info = websocketInfo
Keystore.command{key = "log", command = "rpush", args = {info.type}}
if info.type == "open" then Keystore.set{key = "id", value = info.socket_id} return end
if info.type == "close" then return "nobody hears this" end
if info.message == "bye" then return info.close() and nil end
if info.message == "fail" then error("on purpose") end
if info.message_type == "data-binary" then
  return Websocket.send{socket_id = info.socket_id, message = info.message, type = "data-binary"} and nil
end
response.message = info.message
"""


def steps(solution: Solution) -> list[str]:
    """Return the types of the events that the script has had."""
    found: list[str] = solution.Keystore.command(key="log", command="lrange", args=[0, -1])["value"]
    return found


def ids(solution: Solution) -> list[str]:
    """Return the ids of the open websockets."""
    found: list[str] = solution.Websocket.list()
    return found


def frame(opcode: int, data: bytes = b"", *, fin: bool = True, mask: bool = True, rsv: int = 0) -> bytes:
    """Return a frame as a client sends it."""
    first = (0x80 if fin else 0) | rsv << 4 | opcode
    size = len(data)
    if size < 126:
        head = bytes([first, (0x80 if mask else 0) | size])
    elif size < 65536:
        head = bytes([first, (0x80 if mask else 0) | 126]) + size.to_bytes(2, "big")
    else:
        head = bytes([first, (0x80 if mask else 0) | 127]) + size.to_bytes(8, "big")
    if not mask:
        return head + data
    key = b"\x11\x22\x33\x44"
    return head + key + bytes(byte ^ key[at % 4] for at, byte in enumerate(data))


class RawSocket:
    """A connection over TLS to a host of a lab."""

    def __init__(self, solution: Solution) -> None:
        address = solution._runtime.address
        plain = socket.create_connection((address.host, address.https_port), timeout=PATIENCE)
        self._socket = address.context().wrap_socket(plain, server_hostname=solution.domain)
        self._host = solution.domain
        self._data = b""

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def shake(
        self, path: str, *lines: str, without: str = "", first: str = "GET {} HTTP/1.1", after: bytes = b""
    ) -> tuple[int, dict[str, str]]:
        """Send a handshake and return status and headers of the answer. without: header that is left out."""
        fields = [f"{name}: {value}" for name, value in HANDSHAKE.items() if name != without]
        head = "\r\n".join([first.format(path), f"Host: {self._host}", *fields, *lines, "", ""])
        self.send(head.encode() + after)
        return self.head()

    def head(self) -> tuple[int, dict[str, str]]:
        """Return status and headers of the next answer; its body is read, too."""
        while b"\r\n\r\n" not in self._data:
            self._more()
        head, _, self._data = self._data.partition(b"\r\n\r\n")
        line, *fields = head.decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (each.partition(": ") for each in fields)}
        size = int(headers.get("content-length", 0))
        self._take(size)
        return int(line.split(" ")[1]), headers

    def frame(self) -> tuple[int, bytes]:
        """Return opcode and content of the server's next frame; (-1, b"") at the end of the connection."""
        try:
            first, second = self._take(2)
            assert not second & 0x80, "a server's frame is masked"
            size = second & 0x7F
            if size == 126:
                size = int.from_bytes(self._take(2), "big")
            elif size == 127:
                size = int.from_bytes(self._take(8), "big")
            return first & 15, self._take(size)
        except (EOFError, ssl.SSLError, ConnectionError):
            return -1, b""

    def closed(self) -> int:
        """Return the code of the close frame that follows, other frames aside; 1006 if none does."""
        while True:
            opcode, data = self.frame()
            if opcode == CLOSE:
                return int.from_bytes(data[:2], "big") if data else 1005
            if opcode == -1:
                return 1006

    def ended(self) -> bool:
        """Return whether the server has ended the connection, once it says anything."""
        return self.frame() == (-1, b"")

    def close(self) -> None:
        self._socket.close()

    def _take(self, size: int) -> bytes:
        while len(self._data) < size:
            self._more()
        taken, self._data = self._data[:size], self._data[size:]
        return taken

    def _more(self) -> None:
        data = self._socket.recv(65536)
        if not data:
            raise EOFError
        self._data += data


@contextmanager
def raw(solution: Solution, path: str | None = "/live", *lines: str) -> Iterator[RawSocket]:
    """Provide a raw connection, with an open websocket at a path unless it is None."""
    opened = RawSocket(solution)
    try:
        if path is not None:
            status, _ = opened.shake(path, *lines)
            assert status == 101
        yield opened
    finally:
        opened.close()
