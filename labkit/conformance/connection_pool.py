"""Lightweight concurrent HTTPS requests, for checks that send very many and need no feature of httpx."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from labkit.conformance import expect
from labkit.core.certificates import KeyPair
from labkit.fleet.answer import Answer
from labkit.fleet.connection import DeviceConnection, DeviceServer
from labkit.fleet.flow import PATIENCE


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its answer."""

    method: str
    path: str
    sent: Mapping[str, str]
    body: bytes
    answer: Answer

    @property
    def status_code(self) -> int:
        """The status of the answer."""
        return self.answer.status_code

    @property
    def headers(self) -> dict[str, str]:
        """The header fields of the answer, by name in lower case."""
        return self.answer.headers

    @property
    def content(self) -> bytes:
        """The body of the answer."""
        return self.answer.content

    @property
    def text(self) -> str:
        """The body of the answer as UTF-8."""
        return self.answer.text

    def shown(self) -> str:
        """Return request and answer as text, without secrets."""
        sent, came = expect.fields(self.sent.items()), expect.fields(self.headers.items())
        body = ["", self.body.decode("utf-8", "replace")] if self.body else []
        lines = [f"{self.method} {self.path}", *sent, *body, "", f"HTTP {self.status_code}", *came]
        return expect.hidden("\n".join([*lines, "", self.text] if self.content else lines))[: expect.LONGEST]


class ConnectionPool:
    """Connections to one host of a target, one request at a time on each; a new one is opened if all are busy."""

    certificate: KeyPair | None = None  # no client certificate is presented

    def __init__(self, server: DeviceServer) -> None:
        self._server = server
        self._idle: list[DeviceConnection] = []
        self._all: list[DeviceConnection] = []

    async def request(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: str | bytes | None = None,
        patience: float | None = PATIENCE,
        **others: object,
    ) -> Exchange:
        """Send a request and return the complete exchange. Raises NoAnswerError; LabError for an unknown option.

        patience: seconds of real time to wait for an answer; None waits for ever.
        """
        body = content.encode() if isinstance(content, str) else content or b""
        connection = self._idle.pop() if self._idle else self._new_connection()
        try:
            answer = await connection.request(
                method, path, headers=headers, content=body, patience=patience, **others
            )
        finally:  # a connection whose request was cancelled opens again when it is next used
            self._idle.append(connection)
        return Exchange(method, path, headers or {}, body, answer)

    async def close(self) -> None:
        """Close all connections; the next request opens one."""
        for each in self._all:
            each.abort()

    def _new_connection(self) -> DeviceConnection:
        self._all.append(DeviceConnection(self._server))
        return self._all[-1]
