"""Websockets of a solution: the handshake, and the runs of the route's script for each message."""

from __future__ import annotations

from typing import Literal, cast
from urllib.parse import unquote

from labkit.context import Context
from labkit.http.error import HttpError
from labkit.http.sites import SiteExchange
from labkit.http.websocket import Upgrade, WebSocketLink, upgrade
from labkit.services.websocket import Websocket
from labkit.services.websocket.service import as_message
from labkit.solutions.folders.scripts import WEBSOCKET
from labkit.solutions.handlers import explain
from labkit.solutions.lua.convert import FixedTable
from labkit.solutions.solution import PlatformSolution
from labkit.solutions.web import request as requests
from labkit.solutions.web.admission import admit
from labkit.solutions.web.websocket_info import WebsocketInfo

Step = Literal["open", "data", "excess", "close"]  # excess: a message that is dropped
SECOND = 1.0
REMOVED = 1001  # close code of a websocket whose route is gone


class WebsocketExchange(SiteExchange):
    """Request that opens a websocket."""

    __slots__ = ()

    @property
    def method(self) -> str:
        return WEBSOCKET


class SolutionWebsockets:
    """The websockets of a solution. find: returns the solution as it is now, None once it is removed."""

    def __init__(self, solution: str, context: Context) -> None:
        self.solution = solution
        self.context = context

    @property
    def service(self) -> Websocket:
        return cast(Websocket, self.context.services.get(Websocket.name))

    def find(self) -> PlatformSolution | None:
        """Return the solution as it is now: it may have been replaced since a websocket was opened."""
        return cast("PlatformSolution | None", self.context.solutions.find(self.solution))

    async def open(self, solution: PlatformSolution, exchange: SiteExchange) -> Upgrade:
        """Answer a handshake. Raises HttpError to refuse it: 403 for a page of an origin that CORS does not allow."""
        await exchange.acts_as()
        request = exchange.request
        path, _, query = (request.rel_url.raw_path_qs or "/").partition("?")
        match = solution.websocket(path)
        if match is None or match.route is None:  # a fault has changed the path
            raise HttpError(404, "unknown path")
        origin = request.headers.get("Origin")
        own = self.context.url(solution.domain).rstrip("/")
        if origin is not None and origin.lower() != own.lower() and not solution.cors.allows(origin):
            raise HttpError(403, "pages of this origin may not open a websocket (CORS settings)")
        asked, address = requests.query(query), exchange.connection.peer_ip
        now = self.context.clock.now()
        admit(match.route, solution.web, solution.rates, request.headers, asked, address, now)
        if self.service.count(self.solution) >= (most := solution.web.websockets):
            raise HttpError(
                503, f"{most} websockets of this solution are open (services.webservice.websockets)"
            )
        socket = SolutionWebsocket(
            self,
            path,
            WebsocketInfo(
                socket_id="",
                server_ip=self.context.address.host,
                uri=self.context.url(solution.domain, request.rel_url.raw_path_qs).replace("http", "ws", 1),
                route=match.route.path,
                headers=FixedTable(requests.headers(request.headers)),
                parameters=FixedTable({**asked, **match.parameters}),
                ip=address,
                timestamp=self.context.clock.micros(),
            ),
            exchange.identify().sequence,
        )
        answer = upgrade(request, socket.begin)
        identifiers = self.context.identifiers
        socket.id = socket.info.socket_id = identifiers.hex(f"{self.solution} websocket", 32)
        exchange.add_detail(socket_id=socket.id)
        return answer


class SolutionWebsocket:
    """An open websocket. Its messages are handled one after the other, in order.

    info: what does not change from message to message; path: raw, which selects the route of each message; upgrade:
    sequence number of the handshake's record.
    """

    __slots__ = ("_link", "_owner", "_path", "_upgrade", "id", "info", "solution")

    def __init__(self, owner: SolutionWebsockets, path: str, info: WebsocketInfo, upgrade: int) -> None:
        self.solution = owner.solution
        self.id = info.socket_id
        self._owner = owner
        self._path = path
        self.info = info
        self._upgrade = upgrade
        self._link: WebSocketLink

    def begin(self, link: WebSocketLink) -> None:
        """Begin, once the handshake is answered."""
        self._link = link
        link.on_message, link.on_end = self._message_came, self.ended
        self._owner.service.add(self)
        self.queue("open")

    def table(self) -> dict[str, object]:
        """Return the fields of `websocketInfo`, of its opening."""
        return self.info.table()

    async def send(self, message: str | bytes) -> None:
        """Send a message. Raises ConnectionError if the websocket has ended."""
        if (faults := self._owner.context.faults.messages) is None:
            await self._send(message)
            return
        passage = await faults.apply("sent", unquote(self._path), self.solution, message, self._upgrade)
        for _ in range(passage.times if passage.cut != "inside" else 0):
            await self._send(message)
        if passage.cut is not None:
            self._link.cut(passage.reason, message if passage.cut == "inside" else None)

    async def _send(self, message: str | bytes) -> None:
        if self._link.is_paused and self._link.is_open:
            async with self._owner.context.turns.released():  # only the client can end the wait
                await self._link.send(message)
        else:
            await self._link.send(message)
        self.record("sent", message)

    def close(self, code: int = 1000, reason: str = "", *, quiet: bool = False) -> None:
        """Send a close frame. quiet: no script runs for the end."""
        self._link.quiet |= quiet
        self._link.close(code, reason or "closed by the solution")

    # --- called by the link

    def _message_came(self) -> None:
        context = self._owner.context
        step: Step = "data"
        if (limit := context.settings.limits.websocket_messages) and (solution := self._owner.find()):
            late = solution.rates.wait("", self.id, limit, context.clock.now(), SECOND)
            step = "excess" if late else "data"
        self.queue(step)

    def ended(self, code: int, reason: str, quiet: bool) -> None:
        """Record the end, and run the script for it unless `quiet`. The link calls it once."""
        self._owner.service.remove(self)
        detail = {"socket_id": self.id, "code": code, "reason": reason}
        self._owner.context.journal.record(
            "message", self.solution, self._summary("ended"), cause=self._upgrade, detail=detail
        )
        if not quiet:
            self.queue("close")

    # --- the runs

    def queue(self, step: Step) -> None:
        """Have a message, the beginning or the end handled after those that came before."""
        self._owner.context.events.queue(f"websocket/{self.id}", self.solution, self._handle, step)

    async def _handle(self, step: Step) -> None:
        """Handle one message, the opening or the end, as faults let it pass."""
        if step in ("open", "close"):
            await self._run(step, None, self._upgrade)
            return
        message = await self._link.next()
        if self._link.has_messages:  # others have their turn between two of them
            await self._owner.context.backlog.turn()
        cause = self.record("received", message)
        if step == "excess":
            limit = self._owner.context.settings.limits.websocket_messages
            text = f"dropped, since more than {limit} came in a second, by limits.websocket_messages"
            self._owner.context.journal.record(
                "warning", self.solution, f"{self._summary('message')} {text}", cause=cause, status=429
            )
            return
        if (faults := self._owner.context.faults.messages) is None:
            await self._run(step, message, cause)
            return
        passage = await faults.apply("received", unquote(self._path), self.solution, message, cause)
        for _ in range(passage.times):
            await self._run(step, message, cause)
        if passage.cut is not None:
            self._link.cut(passage.reason)

    async def _run(self, step: Step, message: str | bytes | None, cause: int) -> None:
        """Run the route's script for one event, and send what it answers."""
        solution = self._owner.find()
        match = None if solution is None else solution.websocket(self._path)
        if solution is None or match is None or match.route is None:
            self.close(REMOVED, "the route is gone", quiet=True)
            return
        info = self.info.at(step, message)
        info.timestamp = self._owner.context.clock.micros()
        outcome = await solution.handle_websocket(match.route, info, cause)
        if outcome is None or step == "close":
            return
        try:
            await self.send(as_message(outcome))
        except ConnectionError:
            pass  # the end has a record of its own
        except (TypeError, ValueError, RecursionError) as error:
            text = f"{self._summary('answer')} cannot be sent: {explain(error)}"
            self._owner.context.journal.record("error", self.solution, text, cause=cause, status=500)

    def record(self, what: str, message: str | bytes) -> int:
        """Record a message in the journal, and return the record's number. what: `sent` or `received`."""
        context = self._owner.context
        is_text = isinstance(message, str)
        size = len(message.encode("utf-8", "surrogateescape") if isinstance(message, str) else message)
        detail: dict[str, object] = {"socket_id": self.id}
        if context.settings.journal.values:
            detail["message"] = message if isinstance(message, str) else message.decode("utf-8", "replace")
        return context.journal.record(
            "message",
            self.solution,
            f"{WEBSOCKET} {self.info.route} {what} {'text' if is_text else 'bytes'}",
            cause=self._upgrade,
            size=size,
            detail=detail,
            holds=size,  # which saves measuring it
        )

    def _summary(self, what: str) -> str:
        return f"{WEBSOCKET} {self.info.route} {what}"
