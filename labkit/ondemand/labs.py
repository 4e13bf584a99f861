"""The labs on demand of one served lab: how they are started, listed and ended."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import secrets
import signal
import socket
import subprocess
import sys
from asyncio import StreamReader, StreamWriter
from base64 import b64encode
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from aiohttp import web
from pydantic import BaseModel

from labkit.conformance import fork_server
from labkit.conformance.fork_server import ForkedProcess, ForkServer
from labkit.control.lab import snapshot_seed
from labkit.control.labs import LabEnd, RunningLab, StartedLab
from labkit.control.over_http.client import ControlClient
from labkit.control.over_http.files import within
from labkit.control.over_http.problem import ControlProblem, ProblemDetails, raised_error
from labkit.core.errors import FullError, LabError, LabkitError, SettingsError, UnknownError
from labkit.core.host_time import monotonic
from labkit.fleet.descriptors import provide
from labkit.ondemand import process, template
from labkit.ondemand.process import COUNT, OVER, RENEW, LabRecipe
from labkit.platform import Platform
from labkit.settings import REVEAL, LabSettings

# macOS forks, but its system libraries fail in forks.
FORKS = fork_server.AVAILABLE and sys.platform == "linux"
TEMPLATES = 8
GRACE = 10.0  # seconds of real time in which a process has to end
ANSWER = 1.0  # seconds for its number of requests, which a script may delay
REMEMBERED = 1000  # ended labs whose reason is known
TOLD = 16  # ports of ended labs at which requests are still answered
OWN = {"host": "127.0.0.1", "https_port": 0, "proxy_port": 0, "data": None, "control": None}
ENDED = "it was ended"
DIED = "its process ended: it was killed, or found no memory"


class LabProcess:
    """A running lab on demand. ended: the reason of its end."""

    def __init__(
        self, info: StartedLab, note: str, pid: int, reader: StreamReader, writer: StreamWriter
    ) -> None:
        self.info = info
        self.pid = pid
        self.requests = 0
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._note = note
        self._began = monotonic()
        self._is_ending = False
        self._asked: deque[asyncio.Future[None]] = deque()
        self._writer = writer
        self._reading = asyncio.create_task(self._read(reader))

    def shown(self) -> RunningLab:
        """Return the lab as `labs.all` lists it."""
        return RunningLab(
            **self.info.model_dump(include={"id", "url", "seed", "lease"}),
            note=self._note,
            age=monotonic() - self._began,
            requests=self.requests,
        )

    async def ask(self, line: bytes) -> None:
        """Send a line, and return once it is answered, or the lab has ended."""
        answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._asked.append(answered)
        self._writer.write(line)
        either: list[asyncio.Future[Any]] = [answered, self.ended]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)

    async def end(self) -> None:
        """End the lab, and return once its process has ended."""
        self._is_ending = True
        with suppress(OSError):
            self._writer.write_eof()
        if not (await asyncio.wait([self.ended], timeout=GRACE))[0]:
            with suppress(ProcessLookupError):
                os.kill(self.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        await self.ended

    async def _read(self, reader: StreamReader) -> None:
        reason = DIED
        with suppress(OSError):
            while line := await reader.readline():
                if line == OVER:
                    reason = f"no request renewed its lease of {self.info.lease:g} s"
                else:
                    self.requests = int(line)
                    self._asked.popleft().set_result(None)
        self._writer.close()
        self.ended.set_result(ENDED if self._is_ending else reason)


class FollowedLab(AsyncIterator[LabEnd]):
    """Stream that renews the lease of a lab, and has its end as the one item."""

    def __init__(self, lab: LabProcess) -> None:
        self._lab = lab
        self._told = False

    async def __anext__(self) -> LabEnd:
        if self._told:
            raise StopAsyncIteration
        while not self._lab.ended.done():
            await self._lab.ask(RENEW)
            await asyncio.wait([self._lab.ended], timeout=self._lab.info.lease / 3)
        self._told = True
        return LabEnd(id=self._lab.info.id, reason=self._lab.ended.result())

    async def aclose(self) -> None:
        """End the stream."""


class Template:
    """A template process as the served lab sees it. orders: its socket for orders."""

    def __init__(self, process: ForkedProcess, orders: socket.socket) -> None:
        self._process = process  # the fork server kills it once this is closed
        self._orders = orders

    def order(self) -> socket.socket:
        """Have a lab forked, and return the socket that connects its process. Raises OSError if the template died."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._orders, [template.ORDER], [theirs.fileno()])
            except OSError:
                ours.close()
                raise
        return ours

    def leave(self) -> None:
        """Let the process end once its labs have."""
        self._orders.close()

    def is_gone(self) -> bool:
        """Return whether the process has ended."""
        return self._process.poll() is not None

    def close(self) -> None:
        """Stop waiting for the end of the process."""
        self._process.close()


class OnDemandLabs:
    """The labs on demand of a served lab: a LabStarter.

    platform: of the served lab, whose settings and certificates the others have; most: labs at one time; ca_file: with
    the certificate of its CA; files: folder below which paths in control requests may be.
    """

    def __init__(self, platform: Platform, most: int, ca_file: Path, files: Path | None) -> None:
        self._platform = platform
        self._most = most
        self._ca_file = ca_file.absolute()
        self._files = files
        self._labs: dict[str, LabProcess] = {}
        self._starting = 0
        self._reasons: dict[str, str] = {}  # why labs ended, by id
        self._told: deque[web.ServerRunner] = deque()
        self._tasks: set[asyncio.Task[Any]] = set()
        provide(most, strict=False)  # a socket for each
        self._waits = ThreadPoolExecutor(most)  # for the end of each process that is no fork
        self._server = ForkServer(template.__name__) if FORKS else None
        self._templates: dict[object, asyncio.Task[Template]] = {}  # the one used last is the last one
        self._leaving: list[Template] = []

    async def start(
        self, settings: LabSettings, seed: int | None, state: Path | None, note: str
    ) -> StartedLab:
        if len(self._labs) + self._starting >= self._most:
            raise FullError(f"{self._most} labs are running, the most that --labs allows: end one of them")
        self._starting += 1
        try:
            recipe = await asyncio.to_thread(self._recipe, settings, seed, state)
            return await self._start(recipe, note)
        finally:
            self._starting -= 1

    async def renew(self, id: str) -> None:
        lab = self._find(id)
        await lab.ask(RENEW)
        if lab.ended.done():
            raise UnknownError(_gone(id, lab.ended.result()))

    async def end(self, id: str) -> None:
        await self._find(id).end()

    async def all(self) -> list[RunningLab]:
        asking = [asyncio.create_task(each.ask(COUNT)) for each in self._labs.values()]
        if asking:
            for each in (await asyncio.wait(asking, timeout=ANSWER))[1]:
                each.cancel()
        return [each.shown() for each in self._labs.values()]

    async def page(self, id: str) -> str:
        info = self._find(id).info
        async with ControlClient(info.url, info.token) as client:
            return await client.page()

    def follow(self, id: str) -> AsyncIterator[LabEnd]:
        return FollowedLab(self._find(id))

    def _find(self, id: str) -> LabProcess:
        if (found := self._labs.get(id)) is None:
            reason = self._reasons.get(id)
            raise UnknownError(f"no lab {id[:100]!r} runs" if reason is None else _gone(id, reason))
        return found

    def _recipe(self, given: LabSettings, seed: int | None, state: Path | None) -> LabRecipe:
        """Return what a lab is made of. Raises SettingsError for a setting that no lab on demand can have."""
        given, state = within(self._files, given), within(self._files, state)
        for name in (*OWN, "tls"):
            if name in given.model_fields_set:
                raise SettingsError(
                    f"{name}: not for a lab on demand: it has free ports at 127.0.0.1, its data in memory, and the CA "
                    "and the control of the lab that starts it"
                )
        named = {name: getattr(given, name) for name in given.model_fields_set}
        settings = self._platform.context.settings.model_copy(update={**named, **OWN})
        if settings.http_port is not None:
            settings = settings.model_copy(update={"http_port": 0})
        if settings.keystore is not None:
            raise SettingsError(f"keystore: {settings.keystore}: labs on demand would share it")
        if seed is None and state is None:
            seed = self._platform.context.identifiers.seed
        elif seed is None and state is not None:
            with suppress(OSError):  # which the lab's process tells
                seed = snapshot_seed(state.read_bytes())
        return LabRecipe(settings, seed, state, self._platform.edge.certificates, self._files)

    async def _start(self, recipe: LabRecipe, note: str) -> StartedLab:
        reader, writer = await (self._forked(recipe) if self._server is not None else self._alone(recipe))
        try:
            first = await reader.readline()
            if first[:1] != b"+":
                raise _refusal(first[1:])
            pid, started = json.loads(first[1:])
            info = StartedLab(id=secrets.token_hex(8), ca_file=str(self._ca_file), **started)
        except BaseException:
            writer.close()
            raise
        lab = self._labs[info.id] = LabProcess(info, note, pid, reader, writer)
        lab.ended.add_done_callback(lambda _: self._forget(lab))
        return info

    def _forget(self, lab: LabProcess) -> None:
        id, reason = lab.info.id, lab.ended.result()
        del self._labs[id]
        self._reasons[id] = reason
        if len(self._reasons) > REMEMBERED:
            del self._reasons[next(iter(self._reasons))]
        if reason != ENDED:
            self._spawn(self._tell(lab, _gone(id, reason)))

    async def _tell(self, lab: LabProcess, text: str) -> None:
        """Answer the requests to the control of a lab that ended by itself with the reason."""

        async def gone(request: web.BaseRequest) -> web.Response:
            return ControlProblem(410, text, error=LabError.__name__).response()

        runner = web.ServerRunner(web.Server(gone, access_log=None))
        await runner.setup()
        self._told.append(runner)
        with suppress(OSError):  # another program has the port by now
            await web.TCPSite(runner, "127.0.0.1", int(lab.info.url.rpartition(":")[2])).start()
        if len(self._told) > TOLD:
            await self._told.popleft().cleanup()

    def _spawn(self, coroutine: Any) -> asyncio.Task[Any]:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # --- where the system forks

    async def _forked(self, recipe: LabRecipe) -> tuple[StreamReader, StreamWriter]:
        key = await asyncio.to_thread(_key, recipe)
        for each in list(self._templates):
            if (made := _made(self._templates[each])) is not None and made.is_gone():
                self._leave(each)
        if (making := self._templates.pop(key, None)) is None:
            making = self._spawn(self._make(recipe))
        self._templates[key] = making
        self._leaving = [each for each in self._leaving if not each.is_gone()]
        unused = [each for each in self._templates if self._templates[each].done() and each != key]
        for each in unused[: max(len(self._templates) - TEMPLATES, 0)]:
            self._leave(each)
        try:
            channel = (await asyncio.shield(making)).order()
        except (LabkitError, OSError) as error:
            if self._templates.get(key) is making:
                self._leave(key)
            if isinstance(error, LabkitError):
                raise
            raise LabError("the process that forks labs with these settings has ended") from None
        return await asyncio.open_connection(sock=channel)

    async def _make(self, recipe: LabRecipe) -> Template:
        return await asyncio.to_thread(self._fork_template, recipe)

    def _fork_template(self, recipe: LabRecipe) -> Template:
        assert self._server is not None
        self._server.wait()
        argument = b64encode(pickle.dumps(recipe)).decode()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                function = f"{template.__name__}:{template.run.__name__}"
                files = [theirs.fileno(), 2, 2]
                made = fork_server.start(self._server.address, function, argument, files)
            if (answer := ours.recv(2**16)) != template.READY:
                made.close()
                raise _refusal(answer)
        except BaseException:
            ours.close()
            raise
        return Template(made, ours)

    def _leave(self, key: object) -> None:
        if (made := _made(self._templates.pop(key))) is not None:
            made.leave()
            self._leaving.append(made)

    # --- where it does not

    async def _alone(self, recipe: LabRecipe) -> tuple[StreamReader, StreamWriter]:
        """Start a process of its own, which connects to this one."""
        key = secrets.token_bytes(32)
        arrived: asyncio.Future[tuple[StreamReader, StreamWriter]] = (
            asyncio.get_running_loop().create_future()
        )

        async def connected(reader: StreamReader, writer: StreamWriter) -> None:
            if await reader.readexactly(len(key)) == key and not arrived.done():
                arrived.set_result((reader, writer))

        listener = await asyncio.start_server(connected, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        order = pickle.dumps((recipe, port, key))
        command = [sys.executable, "-m", process.__name__]
        run = partial(subprocess.run, command, input=order, check=False)
        ended = asyncio.get_running_loop().run_in_executor(self._waits, run)
        either: list[asyncio.Future[Any]] = [arrived, ended]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        listener.close()
        if not arrived.done():
            raise LabError("the process of the lab ended before it listened")
        return arrived.result()

    async def aclose(self) -> None:
        """End all labs, templates and their server."""
        await asyncio.gather(*(each.end() for each in list(self._labs.values())))
        for key in list(self._templates):
            self._leave(key)
        if self._server is not None:
            await asyncio.to_thread(self._server.close)
        for left in self._leaving:
            left.close()
        await asyncio.to_thread(self._waits.shutdown)
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for each in self._told:
            await each.cleanup()


def _made(task: asyncio.Task[Template]) -> Template | None:
    """Return what a task has made; None before that, and if it failed."""
    is_made = task.done() and not task.cancelled() and task.exception() is None
    return task.result() if is_made else None


def _gone(id: str, reason: str) -> str:
    return f"the lab {id} has ended: {reason}"


def _refusal(body: bytes) -> LabkitError:
    """Return the error in the problem details of a process; without any, that it has ended."""
    if not body:
        return LabError(f"a lab on demand cannot start: {DIED}")
    problem = ProblemDetails.model_validate_json(body)
    return raised_error(problem.error, problem.detail, problem.status)


def _key(recipe: LabRecipe) -> object:
    """Return what two recipes have in common whose labs have one template, with the state of the files they name."""
    files = [recipe.state] if recipe.state is not None else []
    named = [path for each in (*files, *_paths(recipe.settings)) for path in (each, *each.rglob("*"))]
    stamps = sorted((str(path), path.stat().st_mtime_ns) for path in named if path.exists())
    return recipe.settings.model_dump_json(context=REVEAL), recipe.seed, recipe.state, tuple(stamps)


def _paths(value: Any) -> Iterator[Path]:
    """Yield the paths in settings."""
    if isinstance(value, Path):
        yield value
    elif isinstance(value, BaseModel | Mapping):
        for each in dict(value).values():
            yield from _paths(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _paths(each)
