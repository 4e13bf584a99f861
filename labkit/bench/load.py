"""The load process: `python -m labkit.bench.load CORE`.

Its connections send requests that were encoded in advance and parse only status and length of the answers, so
that one core can load a server on another.
"""

from __future__ import annotations

import asyncio
import itertools
import ssl
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import cast
from urllib.parse import quote

from labkit.bench.control import Answer, BenchError, run_child, serve_commands

ALIAS = "/onep:v1/stack/alias"


def percentiles(waits: list[float]) -> dict[str, float]:
    """Return the median and the 99th percentile of at least one wait."""
    waits = sorted(waits)
    return {"p50": waits[len(waits) // 2], "p99": waits[int(len(waits) * 0.99)]}


class Wire(asyncio.Protocol):
    """One keep-alive connection to the server."""

    def __init__(self) -> None:
        self._buffer = b""
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's class does not derive from it

    def ask(self, request: bytes) -> asyncio.Future[tuple[int, bytes]]:
        """Send a request and return a future of (status, body)."""
        self._answer = asyncio.get_running_loop().create_future()
        if self._transport.is_closing():
            self.connection_lost(None)
        else:
            self._transport.write(request)
        return self._answer

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0 or self._answer is None:
            return
        head = self._buffer[:end]
        at = head.lower().find(b"\r\ncontent-length:")
        length = int(head[at + 17 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        if len(self._buffer) < end + 4 + length:
            return
        body, self._buffer = self._buffer[end + 4 : end + 4 + length], self._buffer[end + 4 + length :]
        answer, self._answer = self._answer, None
        if not answer.done():
            answer.set_result((int(head[9:12]), body))

    def connection_lost(self, error: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(BenchError("the server closed a connection"))

    def close(self) -> None:
        self._transport.close()


class Load:
    """Connections to one server, each for a device of its own."""

    def __init__(self) -> None:
        self._wires: list[Wire] = []
        self._tokens: list[str] = []
        self._identities: list[str] = []
        self._writers: list[Wire] = []
        self._polls: list[asyncio.Future[tuple[int, bytes]]] = []
        self._poll_tokens: list[str] = []
        self._answered: list[float] = []
        self._numbers = itertools.count()
        self._values = itertools.count()
        self._host = ""
        self._port = 0
        self._context: ssl.SSLContext

    async def connect(
        self, port: int, ca: str, domain: str, connections: int, activate: bool, prefix: str = "device"
    ) -> Answer:
        """Open connections; with `activate`, each provisions a token device of its own, named after the prefix."""
        self.close()
        self._host = domain
        context = ssl.create_default_context(cadata=ca)
        loop = asyncio.get_running_loop()
        gate = asyncio.Semaphore(32)  # more handshakes at once would only queue up at the server

        async def open_one() -> tuple[Wire, str, str]:
            identity = f"{prefix}-{next(self._numbers)}"
            async with gate:
                _, wire = await loop.create_connection(
                    Wire, "127.0.0.1", port, ssl=context, server_hostname=domain, ssl_handshake_timeout=120
                )
                if not activate:
                    return wire, "0" * 40, identity
                request = self.request("POST", "/provision/activate", None, f"id={identity}")
                status, body = await wire.ask(request)
                if status != 200:
                    raise BenchError(f"activate: {status} {body.decode()}")
                return wire, body.decode(), identity

        opened = await asyncio.gather(*[open_one() for _ in range(connections)])
        self._wires = [wire for wire, _, _ in opened]
        self._tokens = [token for _, token, _ in opened]
        self._identities = [identity for _, _, identity in opened]
        self._context, self._port = context, port
        return {"connections": len(self._wires)}

    def request(self, method: str, path: str, token: str | None, body: str = "", headers: str = "") -> bytes:
        """Return an encoded request."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self._host}"]
        lines += [f"X-Platform-CIK: {token}"] if token else []
        if method == "POST":
            lines.append("Content-Type: application/x-www-form-urlencoded; charset=utf-8")
            lines.append(f"Content-Length: {len(body)}")
        else:
            lines.append("Accept: application/x-www-form-urlencoded; charset=utf-8")
        return ("\r\n".join(lines) + f"\r\n{headers}\r\n{body}").encode()

    def _requests(self, method: str, path: str, token: str, body: str) -> Iterator[bytes]:
        """Yield encoded requests without end; `{number}` in the body becomes another number in each."""
        if "{number" not in body:
            return itertools.repeat(self.request(method, path, token, body))
        return (self.request(method, path, token, body.format(number=number)) for number in self._values)

    async def hammer(self, method: str, body: str, query: str, seconds: float, expected: int) -> Answer:
        """Send requests without pause on each connection for some seconds."""
        path = ALIAS + (f"?{query}" if query else "")
        end = time.perf_counter() + seconds
        statuses: Counter[int] = Counter()

        async def one(wire: Wire, token: str) -> None:
            requests = self._requests(method, path, token, body)
            while time.perf_counter() < end:
                status, _ = await wire.ask(next(requests))
                statuses[status] += 1

        began, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*map(one, self._wires, self._tokens))
        elapsed = time.perf_counter() - began
        if set(statuses) != {expected}:
            raise BenchError(f"expected status {expected} alone, got {dict(statuses)}")
        busy = (time.process_time() - cpu) / elapsed
        return {"requests": statuses[expected], "seconds": elapsed, "busy": busy}

    async def series(
        self, method: str, body: str, query: str, expected: int, count: int, pause: float = 0.0
    ) -> Answer:
        """Send requests on the first connection, one after the other; return percentiles of the seconds of each.

        pause: seconds after each answer.
        """
        path = ALIAS + (f"?{query}" if query else "")
        requests = self._requests(method, path, self._tokens[0], body)
        waits = []
        for request in itertools.islice(requests, count):
            began = time.perf_counter()
            status, _ = await self._wires[0].ask(request)
            waits.append(time.perf_counter() - began)
            if status != expected:
                raise BenchError(f"expected status {expected}, got {status}")
            if pause:
                await asyncio.sleep(pause)
        return {"requests": count, **percentiles(waits)}

    async def poll(self, writers: int) -> Answer:
        """Start a long poll on every connection except the first `writers`, which are reserved for writes."""
        self._poll_tokens = self._tokens[writers:]
        self._writers = self._wires[:writers]
        self._answered = [0.0] * len(self._poll_tokens)
        headers = "Request-Timeout: 300000\r\n"
        self._polls = []
        for number, (wire, token) in enumerate(zip(self._wires[writers:], self._poll_tokens, strict=True)):
            poll = wire.ask(self.request("GET", f"{ALIAS}?text", token, headers=headers))
            poll.add_done_callback(partial(self._note, number))
            self._polls.append(poll)
        return {"polls": len(self._polls), "identities": self._identities[writers:]}

    def _note(self, number: int, _: object) -> None:
        self._answered[number] = time.monotonic()

    async def wake(self) -> Answer:
        """Write to each polling device, one after the other, and return percentiles of the wake times in seconds.

        wrong: number of polls that were lost or got another device's value.
        """
        waits: list[float] = []
        wrong = 0
        for number, (poll, token) in enumerate(zip(self._polls, self._poll_tokens, strict=True)):
            value = f"value {number}"
            began = time.monotonic()
            status, _ = await self._writers[0].ask(self.request("POST", ALIAS, token, f"text={quote(value)}"))
            answer = await asyncio.wait_for(poll, 60)
            await asyncio.sleep(0)
            waits.append(self._answered[number] - began)
            wrong += status != 204 or answer != (200, f"text={quote(value)}".encode())
        return {"wrong": wrong, **percentiles(waits)}

    async def script(self, host: str, path: str, body: str) -> Answer:
        """Run a script of a solution by a request, and return its start, status and duration."""
        loop = asyncio.get_running_loop()
        _, wire = await loop.create_connection(
            Wire, "127.0.0.1", self._port, ssl=self._context, server_hostname=host
        )
        head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        began = time.monotonic()
        status, _ = await wire.ask(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        wire.close()
        return {"began": began, "status": status, "seconds": time.monotonic() - began}

    async def woken(self, first: int) -> Answer:
        """Return the time of the last answer to a poll, and the number of answers with a wrong value.

        first: the values expected of the polls are the numbers after it.
        """
        answers = await asyncio.wait_for(asyncio.gather(*self._polls), 120)
        await asyncio.sleep(0)
        expected = [(200, f"text={number}".encode()) for number in range(first + 1, first + 1 + len(answers))]
        wrong = sum(answer != due for answer, due in zip(answers, expected, strict=True))
        return {"last": max(self._answered, default=0.0), "wrong": wrong}

    def close(self) -> None:
        """Close all connections."""
        for wire in self._wires:
            wire.close()
        self._wires = []


async def serve() -> None:
    """Execute the commands of the benchmark until standard input ends."""
    load = Load()
    commands: dict[str, Callable[..., Awaitable[Answer]]] = {
        "connect": load.connect,
        "hammer": load.hammer,
        "series": load.series,
        "poll": load.poll,
        "wake": load.wake,
        "script": load.script,
        "woken": load.woken,
    }
    await serve_commands({}, commands)
    load.close()


if __name__ == "__main__":
    run_child(serve)
