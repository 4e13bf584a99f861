"""Shared state of a lab and its handles: the platform's thread, its operations, and the open clients."""

from __future__ import annotations

import ctypes
import sys
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar

from labkit.control.addresses import Listening
from labkit.control.control import Control, LabOperations
from labkit.control.messaging import MessagingInfo
from labkit.core.errors import LabError, LabWarning, SlowWarning
from labkit.core.handle import callers_place, cells_shell, warn
from labkit.core.progress import is_watched
from labkit.fleet.flow import LabAddress
from labkit.fleet.shared_faults import SharedFaults
from labkit.lab.fleet_limits import FleetLimits
from labkit.lab.portal import Portal, Task
from labkit.lab.unused_parts import LabParts
from labkit.labtime.turns import Turn, current

if TYPE_CHECKING:
    from labkit.control.paging import ListPage
    from labkit.lab.story_calls import StoryCalls

WITHOUT_POWER = (
    "Connection refused: the platform was restarted and is without power for {0:g} s of lab time more; "
    "lab.clock.advance(seconds={0:g}) or lab.drain() lets them pass"
)
PAGE = 1000  # items of a list that one call returns
HANDLING = 0.5  # real seconds in which the handlers of a cell's events have to end, for their errors to be told there
P = ParamSpec("P")
T = TypeVar("T")


class Client(Protocol):
    """Interface of objects with open connections, which are closed with their lab."""

    async def close(self) -> None: ...


class Runtime:
    """A lab's operations on a thread of their own, until `close`, until no handle is left, or the process ends.

    start: starts, resumes or finds the platform, on the loop of that thread. Raises SettingsError or LabError, and
    leaves nothing behind, if the platform cannot start or does not answer.
    """

    def __init__(self, start: Callable[[], Awaitable[LabOperations]]) -> None:
        self.portal = Portal()
        self.device_faults = SharedFaults()
        self.fleet_limits = FleetLimits()
        self.parts = LabParts()
        self.story: StoryCalls | None = None  # while one is played
        try:
            self.control, self.seed, self.messaging, listening = self.portal.run(_started, start)
        except BaseException:
            self.portal.close()
            raise
        self.portal.time = self.control.lab_time
        clients: list[Client] = []
        self._clients = clients
        self._connected: list[
            Callable[[], Awaitable[object]]
        ] = []  # functions that end the connections of clients
        # The finalizer must not refer to the runtime, nor to a handle, which refers to the runtime.
        self._finish = weakref.finalize(self, _finish, self.portal, self.control, clients)
        is_here = isinstance(self.control, Control)
        self._activity = self.control.stories.activity if is_here else None
        functions = self.control.functions
        if is_here:
            self.device_faults.newest_record = lambda: functions.last_record
        self._mistakes = functions.mistakes if is_here else None
        self._kept: list[str] | None = None  # warnings that `take_mistakes` returns
        self._unread: Collection[str] = () if self._mistakes is None else self._mistakes.unread
        self._place: tuple[str, int] | None = None  # of the cell's last call
        self._told: set[str] = set()  # failures of handlers, at a prompt
        self._slow = self.control.unread_slow if isinstance(self.control, Control) else deque()
        self.dashboard_faults: dict[
            str, list[str]
        ] = {}  # names of those that dashboards have added, by product
        self.address = LabAddress("", 0, "")
        self.http_port: int | None = None
        self.proxy: str | None = None
        self._learn_address(listening)

    def _learn_address(self, listening: Listening) -> None:
        """Keep the address at which the lab listens; all clients have the same object."""
        self.address.host, self.address.https_port = listening.host, listening.https_port
        self.address.ca_pem = listening.ca_pem
        self.http_port, self.proxy = listening.http_port, listening.proxy

    @contextmanager
    def forking(self) -> Iterator[None]:
        """Suspend the lab of this process within the block, in which the process can be forked.

        Raises LabError, and changes nothing, while something is under way that cannot be copied.
        """
        control = self.control
        assert isinstance(control, Control)
        if self.story is not None:
            raise LabError("fork: the lab is in a story: do it before or after `with lab.story()`")
        self.portal.run(control.prepare_fork, self.disconnect)
        try:
            yield
        finally:
            self.portal.run(control.resume_here)

    async def disconnect(self) -> None:
        """End the connections of the lab's handles; the next request of each opens one."""
        for disconnect in self._connected:
            await disconnect()

    def continue_apart(self) -> None:
        """In a fork, within `forking`: continue with a platform, a thread and ports of this process's own."""
        control = self.control
        assert isinstance(control, Control)
        self._inherited = self.portal, self._finish  # of the other process: never used again, and never freed
        self._finish.detach()
        self.portal = Portal()
        self.portal.run(control.resume_apart)
        self._finish = weakref.finalize(self, _finish, self.portal, control, self._clients)
        self._learn_address(self.portal.run(control.addresses.listening))

    def run(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of an async function. Raises LabError on a closed lab or from the loop's own thread.

        Outside of a story, warns of mistakes in the calls of handlers, once for each handler.
        """
        if self.story is not None:
            return self.story.run(function, *args, **kwargs)
        if (turn := self.handler_turn()) is not None and not self.portal.here:
            return self.portal.run(self.control.stories.asked, turn, partial(function, *args, **kwargs))
        result = self.portal.run(self._admitted, partial(function, *args, **kwargs))
        if self._mistakes is not None and self._kept is None:
            if cells_shell() is not None:
                self._place = callers_place() or self._place
            elif str(getattr(sys, "ps1", "")).startswith(">>>") and is_watched() and callers_place():
                for text in self._mistakes.take_failures():
                    if text not in self._told:
                        self._told.add(text)
                        warn(text)
        if (self._unread or self._slow) and callers_place() is not None:
            while self._slow and is_watched():
                warn(self._slow.popleft(), SlowWarning)
            for text in self.take_mistakes() if self._unread else ():
                warn(text)
        return result

    def listed(
        self,
        function: Callable[..., Awaitable[ListPage[T]]],
        *args: object,
        limit: int | None = None,
        **kwargs: object,
    ) -> list[T]:
        """Return the items of a list that an operation returns in pages. limit: most items, None for all.

        Raises LabError for a limit that is no number from 1 on.
        """
        if limit is not None and (type(limit) is not int or limit < 1):
            raise LabError(f"limit: expected a number from 1 on, or None for all, not {limit!r}")
        found: list[T] = []
        cursor: str | None = None
        while limit is None or len(found) < limit:
            most = PAGE if limit is None else min(limit - len(found), PAGE)
            page = self.run(function, *args, limit=most, cursor=cursor, **kwargs)
            found += page.items
            if (cursor := page.cursor) is None:
                break
        return found[:limit]

    def keep_mistakes(self) -> None:
        """Warn of no mistakes any more: `take_mistakes` returns them."""
        self._unread, self._kept = (), []

    def take_mistakes(self) -> list[str]:
        """Remove and return the unread mistakes as sentences: those in calls of handlers, and kept warnings.

        None of a lab elsewhere.
        """
        kept, self._kept = self._kept or [], None if self._kept is None else []
        return [*dict.fromkeys(kept), *([] if self._mistakes is None else self._mistakes.take())]

    def warn(self, text: str) -> None:
        """Warn, at the caller's line, of what a call of a handle does not do as meant; or keep the warning."""
        if self._kept is None:
            warn(text)
        else:
            self._kept.append(text)

    def warn_of_failures(self) -> None:
        """Warn of errors that ended handlers since the last cell, if this cell has called the lab: one line each.

        Events that the calls have raised are waited for, a moment, unless a fleet goes on raising others. Only people
        who look on are told: of a notebook that a program runs, the outputs are compared.
        """
        place, self._place = self._place, None
        if place is None or self.story is not None or self._mistakes is None or not is_watched():
            return
        if not (self.closed or self.control.fleet_runs.is_any_running):
            handled = self.portal.begin(self.control.lab.settle)
            wait([handled.future], HANDLING)
            handled.cancel()
        for text in self._mistakes.take_failures():
            warnings.warn_explicit(text, LabWarning, *place)

    def handler_turn(self) -> Turn | None:
        """Return the turn of the lab's handler that runs in this thread, None if none does."""
        turn = current()
        return turn if turn is not None and turn.activity is self._activity else None

    def begin(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> Task[T]:
        """Start an async function on the platform's loop and return at once."""
        if self.story is not None:
            return self.story.begin(function, *args, **kwargs)
        return self.portal.begin(self._admitted, partial(function, *args, **kwargs))

    async def _admitted(self, function: Callable[[], Awaitable[T]]) -> T:
        if isinstance(self.control, Control):  # a lab elsewhere does so itself
            return await self.control.perform(function)
        return await function()

    async def asked(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of a request to the platform, on the lab's loop.

        Raises LabError instead of the request's own error if it got no answer since the lab elsewhere is gone, and
        httpx.ConnectError that says so while the platform is without power.
        """
        import httpx

        try:
            return await function(*args, **kwargs)
        except httpx.TransportError as error:
            down = await self.control.lab.downtime()
            if down and isinstance(error, httpx.ConnectError):
                raise httpx.ConnectError(WITHOUT_POWER.format(down), request=error.request) from error
            raise

    def keep(self, client: Client, disconnect: Callable[[], Awaitable[object]] | None = None) -> None:
        """Register a client to be closed with the lab. disconnect: ends its connections, which it opens again."""
        self._clients.append(client)
        if disconnect is not None:
            self._connected.append(disconnect)

    def forget(self, client: Client) -> None:
        """Remove a client that is closed already."""
        if client in self._clients:
            self._clients.remove(client)

    def close(self) -> None:
        """Close connections, platform and thread. Raises LabError in a story.

        Does nothing at a second call, and in a process that was forked since.
        """
        if self.story is not None:
            raise LabError("the lab is in a story: leave `with lab.story()` before close()")
        self._finish()

    @property
    def closed(self) -> bool:
        """Whether the lab has been closed."""
        return not self._finish.alive


async def _started(
    start: Callable[[], Awaitable[LabOperations]],
) -> tuple[LabOperations, int | None, MessagingInfo, Listening]:
    """Start a platform, and return it with what its handles know of it: in one call, since each takes its time."""
    control = await start()
    try:
        known = await control.lab.seed(), await control.messaging.info(), await control.addresses.listening()
        return control, *known
    except BaseException:
        await control.stop()
        raise


def _finish(portal: Portal, control: LabOperations, clients: list[Client]) -> None:
    async def finish() -> None:
        for client in list(clients):
            await client.close()
        await control.stop()

    if portal.forked:
        # Freed, it would end its loop, which has no thread here, and touch files of the other process: kept for ever.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object((portal, control, clients)))
        return
    if portal.here:  # the last handle was released by code on the loop, which cannot wait for its own end
        threading.Thread(target=_finish, args=(portal, control, clients)).start()
        return
    try:
        portal.run(finish)
    finally:
        portal.close()
