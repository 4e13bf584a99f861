"""The handle of a websocket that a client has open at a solution."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from labkit.control.control import Control
from labkit.core.errors import LabError
from labkit.core.handle import Handle
from labkit.fleet.websocket import ENDED, WebsocketClient, WebsocketError
from labkit.lab.runtime import Runtime

STANDS_STILL = (
    "{0}: no message has come, and the clock stands still; let lab time pass with lab.clock.advance(), or use "
    "messages() for those that have come"
)


class OpenWebsocket(Handle):
    """A websocket at a solution: `with solution.websocket("/live") as socket: socket.send("hello")`.

    Cells, and the functions of a story that act as people, use `send`, `receive` and `messages`; a behaviour of a fleet
    awaits `send_here` and `messages_here`, since it runs on the lab's own loop.
    """

    def __init__(self, runtime: Runtime, client: WebsocketClient) -> None:
        self._runtime = runtime
        self._client = client

    def send(self, message: object) -> None:
        """Send a message, and return once the platform has begun to handle it.

        message: text, bytes, or a value that is sent as JSON. Raises LabError if the websocket has ended.
        """
        self._runtime.run(self._client.send, message)

    def receive(self, timeout: float = 10.0) -> str | bytes:
        """Wait for the next message and return it: text, or bytes of a binary message.

        timeout: seconds of real time to wait on a running clock. On a virtual clock it waits until everything has
        settled, in a story while lab time passes. Raises LabError if no message comes, or if the websocket has ended.
        """
        message = self._runtime.run(self._receive, timeout)
        if message is None:
            raise WebsocketError(f"{self._client.name}: {ENDED.format(self._client.close_code)}")
        return message

    def messages(self) -> list[str | bytes]:
        """Return the messages that have come and were not read, once everything has settled."""
        self._runtime.run(self._settled)
        return self._client.unread()

    def close(self, code: int = 1000) -> None:
        """End the websocket. A second call does nothing. code: of the close frame, 1000 or 3000 to 4999."""
        if not (code == 1000 or 3000 <= code <= 4999):
            raise LabError(f"code: expected 1000, or 3000 to 4999, not {code!r}")
        self._runtime.run(self._client.close, code)
        self._runtime.forget(self._client)

    async def send_here(self, message: object) -> None:
        """Send a message like `send`, from the lab's own loop; on a virtual clock, returns once it is handled.

        message: as of `send`.
        """
        await self._client.send(message)
        await self._handled()

    async def messages_here(self) -> list[str | bytes]:
        """Return the messages that have come and were not read, on the lab's own loop."""
        await self._handled()
        await self._client.flush()
        return self._client.unread()

    @property
    def close_code(self) -> int | None:
        """Code with which the websocket has ended; None while it is open, 1006 without a close frame."""
        self._runtime.run(self._client.flush)
        return self._client.close_code

    @property
    def subprotocol(self) -> str | None:
        """Subprotocol on which client and solution have agreed."""
        return self._client.subprotocol

    async def _receive(self, timeout: float) -> str | bytes | None:
        if self._runtime.story is not None:
            return await self._client.receive()
        if (await self._runtime.control.clock.state()).moves:
            try:
                async with asyncio.timeout(timeout):
                    return await self._client.receive()
            except TimeoutError:
                raise WebsocketError(f"{self._client.name}: no message within {timeout:g} s") from None
        await self._settled()
        message = self._client.take()
        if message is None and self._client.close_code is None:
            raise WebsocketError(STANDS_STILL.format(self._client.name))
        return message

    async def _settled(self) -> None:
        await self._runtime.control.lab.settle()
        await self._client.flush()

    async def _handled(self) -> None:
        control: Any = self._runtime.control
        if isinstance(control, Control) and not (await control.clock.state()).rate:
            await control.stories.activity.ended()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        code = self._client.close_code
        return f"<{self._client.name}: {'open' if code is None else f'ended with code {code}'}>"
