"""Solutions with a small service, served over plain HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, cast

from aiohttp import ClientResponse, web
from aiohttp.test_utils import RawTestServer, TestClient
from yarl import URL

from labkit.context import Configuration, Context
from labkit.core.directory import Directory
from labkit.core.errors import ServiceError
from labkit.core.journal import Journal
from labkit.core.records import Record
from labkit.edge.frame import respond
from labkit.http.connection import Connection
from labkit.http.reply import as_response
from labkit.http.request import SiteRequest
from labkit.labtime.clock import Clock
from labkit.labtime.events import HandlerOutcome
from labkit.services.calls import Services
from labkit.services.operation import Caller, Service, operation
from labkit.services.scripts import ScriptsService
from labkit.services.timer import TimerService
from labkit.settings import SolutionSettings
from labkit.solutions.solution import PlatformSolution
from labkit.solutions.solutions import Solutions
from tests.context import Entry, make_context, open_database


class Store(Service):
    """A service that stores values, separately for each solution."""

    name: ClassVar[str] = "Store"

    def __init__(self) -> None:
        self.values: dict[tuple[str, str], object] = {}
        self.gate = asyncio.Event()

    @operation
    async def put(self, caller: Caller, key: str, value: Any) -> dict[str, object]:
        """Store a value."""
        self.values[caller.solution, key] = value
        return {}

    @operation
    async def get(self, caller: Caller, key: str) -> dict[str, object]:
        """Return the stored value; 404 if there is none."""
        if (caller.solution, key) not in self.values:
            raise ServiceError(404, f"no {key}")
        return {"value": self.values[caller.solution, key]}

    @operation
    async def wait(self, caller: Caller) -> dict[str, object]:
        """Return once the test opens the gate."""
        await self.gate.wait()
        return {}

    @operation
    async def send(self, caller: Caller, to: str, from_: str = "") -> dict[str, object]:
        """Return the arguments."""
        return {"to": to, "from": from_}


@dataclass
class SolutionRig:
    """The solutions of a test, with all parts that it may inspect."""

    context: Context
    solutions: Solutions
    store: Store
    client: TestClient[web.BaseRequest, None] = field(init=False)

    @property
    def journal(self) -> Journal:
        return self.context.journal

    @property
    def clock(self) -> Clock:
        return self.context.clock

    @property
    def directory(self) -> Directory[PlatformSolution]:
        return cast("Directory[PlatformSolution]", self.context.solutions)

    @property
    def configuration(self) -> Configuration:
        return self.context.configuration

    async def add(
        self, id: str = "acme", path: Path | Sequence[Path] = (), **settings: Any
    ) -> PlatformSolution:
        folders = (path,) if isinstance(path, Path) else tuple(path)
        for product in settings.get("products", ()):
            if product not in self.context.products:
                self.context.products.add(product, Entry(product))
        return await self.solutions.add(SolutionSettings(id=id, path=folders, **settings))

    async def request(self, method: str, path: str, id: str = "acme", **options: Any) -> ClientResponse:
        options.setdefault("allow_redirects", False)
        options["headers"] = {**options.get("headers", {}), "Host": f"{id}.apps.lab.localhost"}
        return await self.client.request(method, URL(path, encoded=True), **options)

    async def get(self, path: str, id: str = "acme", **options: Any) -> ClientResponse:
        return await self.request("GET", path, id, **options)

    def records(self, kind: str) -> list[Record]:
        return self.journal.select(kind=kind)


async def handle(
    solution: PlatformSolution, service: str, event: str, argument: Any, **concerns: Any
) -> HandlerOutcome | None:
    """Run a solution's handler of an event and return its outcome; None if there is no handler."""
    registration = solution.find(service, event, concerns.pop("product", None))
    return (
        None
        if registration is None
        else await solution.handle(registration, (service, event), argument, **concerns)
    )


@asynccontextmanager
async def solution_rig(
    more: Callable[[Context], Service] | None = None, clock: Clock | None = None, **guard: Any
) -> AsyncIterator[SolutionRig]:
    """Provide solutions with a Store, and optionally another service, on a context of their own."""
    context = make_context(clock=clock, guard=guard)
    open_database(context)
    store = Store()
    services = Services(context, [store, *([more(context)] if more else [])])
    context.events.declare([*TimerService.events, *ScriptsService.events])
    solutions = Solutions(context, services, str, str)
    await services.start()
    made = SolutionRig(context, solutions, store)

    def received(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> SiteRequest:
        return SiteRequest(message, payload, protocol, writer, task, asyncio.get_running_loop())

    async def serve(request: web.BaseRequest) -> web.StreamResponse:
        assert isinstance(request, SiteRequest)
        site = context.hosts.find(request.host)
        assert site is not None
        return as_response(await respond(context, site, Connection(request.host, "192.0.2.7"), request))

    server = RawTestServer(serve)
    await server.start_server(request_factory=received)
    made.client = TestClient(server)
    await made.client.start_server()
    try:
        yield made
    finally:
        await made.client.close()
        await solutions.stop()
        await services.stop()
        context.database.close()
