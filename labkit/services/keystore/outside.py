"""Client of an external Redis or Valkey, which has its own clock and its own persistence."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import cast

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from labkit.core.errors import ServiceError, SettingsError
from labkit.labtime.clock import Clock
from labkit.services.keystore.arguments import LONGEST_LIST
from labkit.services.keystore.commands import Command, Reply
from labkit.services.keystore.contents import read_command, reply_values


class ExternalRedis:
    """External Redis server. Raises SettingsError if the URL is wrong or the lab's clock is not the wall clock."""

    def __init__(self, clock: Clock, url: str) -> None:
        if clock.rate != 1:
            raise SettingsError(
                f"keystore: an outside Redis runs on the wall clock, the lab's clock on rate {clock.rate:g}; "
                "expected a lab on the wall clock, or no keystore setting for the embedded store"
            )
        try:
            self._client = Redis.from_url(url, protocol=3)
        except ValueError as error:
            raise SettingsError(f"keystore: expected redis://host:port, {error}") from None
        self._client.response_callbacks.clear()  # raw replies, since `commands.plain` converts them

    async def start(self) -> None:
        """Connect to the server. Raises SettingsError if no Redis answers at the URL."""
        try:
            await self._client.execute_command("PING")  # type: ignore[no-untyped-call]
        except (RedisError, OSError) as error:
            await self._client.aclose()
            raise SettingsError(f"keystore: no Redis answers: {error}") from None

    async def stop(self) -> None:
        await self._client.aclose()

    async def execute(self, command: Command) -> Reply:
        """Run a command. Raises ServiceError: 400 with Redis' own text, 503 if Redis cannot be reached."""
        try:
            reply = await self._client.execute_command(*command)  # type: ignore[no-untyped-call]
            return cast("Reply", reply)
        except ResponseError as error:
            code = getattr(error, "status_code", None)
            raise ServiceError(400, f"{code} {error}" if code else str(error)) from None
        except (RedisError, OSError) as error:
            raise ServiceError(503, f"the key-value store cannot be reached: {error}") from None

    async def usage(self, namespace: bytes) -> tuple[int, int]:
        """Return number and bytes of a solution's keys."""
        number = size = 0
        async for key in self._all(namespace):
            kind = cast("bytes", await self.execute((b"TYPE", namespace + key)))
            if kind != b"none":  # it may have expired meanwhile
                reply = await self.execute(read_command(kind, namespace + key))
                number, size = number + 1, size + len(key) + sum(map(len, reply_values(reply)))
        return number, size

    async def count(self, namespace: bytes) -> int:
        """Return the number of a solution's keys."""
        return len({key async for key in self._all(namespace)})

    async def _all(self, namespace: bytes) -> AsyncIterator[bytes]:
        """Yield every key of a solution without its prefix, some perhaps twice, as SCAN does."""
        after = 0
        while True:
            after, keys = await self.scan(namespace, after, LONGEST_LIST)
            for key in keys:
                yield key[len(namespace) :]
            if not after:
                return

    async def scan(self, namespace: bytes, cursor: int, count: int) -> tuple[int, Sequence[bytes]]:
        """Return the next cursor, 0 at the end, and keys of a solution among about so many keys of all."""
        reply = await self.execute(
            (b"SCAN", str(cursor).encode(), b"MATCH", namespace + b"*", b"COUNT", str(count).encode())
        )
        after, keys = cast("tuple[bytes, list[bytes]]", reply)
        return int(after), keys
