"""The process of one lab on demand: it serves the lab until its starter ends it, or until its lease is over.

A socket connects it with its starter. The first line of the process is `+` with its addresses as JSON, or `-` with
problem details. After that it answers each line of the starter with its number of requests.
"""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import socket
import sys
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from labkit.control.control import Control
from labkit.control.over_http.access import new_token
from labkit.control.over_http.listener import control_listener
from labkit.control.over_http.problem import problem_of
from labkit.core.errors import LabError, LabkitError
from labkit.core.host_time import monotonic
from labkit.core.process import loop_factory, serve_for_long
from labkit.edge.certificates import Certificates
from labkit.labtime.clock import Clock
from labkit.platform import Platform
from labkit.settings import ControlSettings, LabSettings

RENEW, COUNT, OVER = b"renew\n", b"count\n", b"over\n"


@dataclass(frozen=True)
class LabRecipe:
    """Content of a lab on demand, for another process.

    state: file of a snapshot; certificates: of the authority that all labs share; files: folder below which paths in
    control requests may be.
    """

    settings: LabSettings
    seed: int | None
    state: Path | None
    certificates: Certificates
    files: Path | None

    async def start(self) -> Platform:
        """Start the platform. Raises LabkitError, and leaves nothing running, if it cannot start."""
        clock = Clock(1.0 if self.seed is None else 0.0)
        platform = Platform(self.settings, seed=self.seed, clock=clock, certificates=self.certificates)
        await platform.start()
        try:
            if self.state is not None:
                await Control(platform).lab.restore(self.state.read_bytes())
        except BaseException as error:
            await platform.stop()
            if isinstance(error, OSError):
                raise LabError(f"state: cannot read {self.state}: {error.strerror}") from None
            raise
        return platform


class Lease:
    """Count of a lab's requests, and the time at which the lab ends without another one.

    seconds: of real time after a request; is_waiting: whether requests wait, such as long polls.
    """

    def __init__(self, seconds: float, is_waiting: Callable[[], bool]) -> None:
        self.requests = 0
        self._seconds = seconds
        self._is_waiting = is_waiting
        self._open = 0
        self.renew()

    def renew(self) -> None:
        """Begin the lease anew."""
        self._end = monotonic() + self._seconds

    def count(self, _: object = None) -> None:
        """Count a request, which renews the lease."""
        self.requests += 1
        self.renew()

    @contextmanager
    def request(self) -> Iterator[None]:
        """Count a request that is open within the block, and keeps the lease."""
        self.count()
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            self.renew()

    async def wait(self) -> None:
        """Return once the lease is over."""
        while True:
            if self._open or self._is_waiting():
                self.renew()
            if (left := self._end - monotonic()) <= 0:
                return
            await asyncio.sleep(left)


async def serve(start: Callable[[], Awaitable[Platform]], files: Path | None, channel: socket.socket) -> None:
    """Serve a lab until the starter closes its end of the channel, or the lease is over."""
    reader, writer = await asyncio.open_connection(sock=channel)
    try:
        platform = await start()
    except LabkitError as error:
        writer.write(b"-%b\n" % problem_of(error).body())
        await writer.drain()
        return
    context = platform.context
    lease = Lease(context.settings.guard.lease, lambda: bool(len(context.holding)))
    context.journal.watch_kind("request", lease.count)
    listener = control_listener(
        platform, ControlSettings(), files, token=new_token({}), in_request=lease.request
    )
    async with listener as control:
        started = {
            "url": control.url,
            "token": control.token,
            "https_port": context.address.https_port,
            "proxy": context.address.proxy,
            "hosts": [site.host for site in context.hosts],
            "seed": context.identifiers.seed,
            "lease": context.settings.guard.lease,
        }
        writer.write(b"+%b\n" % json.dumps([os.getpid(), started]).encode())
        ends = [asyncio.ensure_future(each) for each in (_answer(reader, writer, lease), lease.wait())]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if not ends[0].done():
            writer.write(OVER)
        for each in ends:
            each.cancel()
    await platform.stop()


async def _answer(reader: StreamReader, writer: StreamWriter, lease: Lease) -> None:
    while line := await reader.readline():
        if line == RENEW:
            lease.renew()
        writer.write(b"%d\n" % lease.requests)


def main() -> None:
    """Serve a lab in a process that is no fork: standard input brings its recipe, and where the starter listens."""
    recipe, port, key = pickle.load(sys.stdin.buffer)
    serve_for_long()
    channel = socket.create_connection(("127.0.0.1", port))
    channel.sendall(key)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(serve(recipe.start, recipe.files, channel))


if __name__ == "__main__":
    main()
