"""Numbered connections of polling clients in the model of device values: values count as seen per connection."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any

from labkit.conformance.connection_pool import Exchange
from labkit.conformance.target import Target
from labkit.fleet.connection import DeviceConnection


class Line:
    """A client, with one connection at a time. number: of its current connection, unique in the game."""

    def __init__(self, connection: DeviceConnection, number: int) -> None:
        self.connection = connection
        self.number = number
        self.busy = False

    def request(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str],
        content: str | None = None,
        patience: float | None = None,
    ) -> Coroutine[Any, Any, Exchange]:
        """Send a request and return its answer; the line is busy until then."""
        self.busy = True
        return self._request(method, path, headers, content or "", patience)

    async def _request(
        self, method: str, path: str, headers: Mapping[str, str], content: str, patience: float | None
    ) -> Exchange:
        try:
            answer = await self.connection.request(
                method, path, headers=headers, content=content, patience=patience
            )
        finally:
            self.busy = False
        return Exchange(method, path, headers, content.encode(), answer)


class Lines:
    """The lines of a game, by product and in order of creation."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._lines: dict[str, list[Line]] = {}
        self._count = 0

    def free(self, product: str, first: int) -> Line:
        """Return a line without a pending request, with this index or the next possible one, and mark it busy."""
        lines = self._lines.setdefault(product, [])
        line = next((line for line in lines[first:] if not line.busy), None)
        if line is None:
            line = Line(self._target.own_connection(product), self._next())
            lines.append(line)
        line.busy = True
        return line

    def idle(self, product: str, index: int) -> Line | None:
        """Return the line with this index, if it has an open connection without a pending request."""
        lines = self._lines.get(product, [])
        line = lines[index] if index < len(lines) else None
        return line if line is not None and not line.busy and line.connection.open else None

    def renew(self, line: Line) -> None:
        """Give a line a new connection number, since its connection has ended."""
        line.number = self._next()

    def renumber(self) -> None:
        """Give all lines new connection numbers, since all connections have ended."""
        for lines in self._lines.values():
            for line in lines:
                self.renew(line)

    def _next(self) -> int:
        self._count += 1
        return self._count
