"""A room of solutions with a small service of its own, served over plain HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from aiohttp import ClientResponse, web
from aiohttp.test_utils import RawTestServer, TestClient
from yarl import URL

from labkit.core.clock import Clock
from labkit.core.errors import ServiceError
from labkit.core.identifiers import Identifiers
from labkit.core.journal import Journal, Record
from labkit.services.calls import Services
from labkit.services.operation import Caller, Service, operation
from labkit.settings import SolutionSettings
from labkit.solutions.room import Solutions
from labkit.solutions.solution import Solution


class Store(Service):
    """Keeps values, a store for each solution."""

    name: ClassVar[str] = "Store"

    def __init__(self) -> None:
        self.values: dict[tuple[str, str], object] = {}
        self.gate = asyncio.Event()

    @operation
    async def put(self, caller: Caller, key: str, value: Any) -> dict[str, object]:
        """Keep a value."""
        self.values[caller.solution, key] = value
        return {}

    @operation
    async def get(self, caller: Caller, key: str) -> dict[str, object]:
        """The value kept; 404 where there is none."""
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
        """What was given."""
        return {"to": to, "from": from_}


@dataclass(frozen=True)
class Peer:
    peer_ip: str = "192.0.2.7"


@dataclass
class Place:
    """Everything that a test may look at."""

    solutions: Solutions
    journal: Journal
    clock: Clock
    store: Store
    configuration: dict[str, dict[str, dict[str, Any]]]
    client: TestClient[web.BaseRequest, None] = field(init=False)

    async def add(self, id: str = "acme", path: Path | Sequence[Path] = (), **settings: Any) -> Solution:
        folders = (path,) if isinstance(path, Path) else tuple(path)
        return await self.solutions.add(SolutionSettings(id=id, path=folders, **settings))

    async def request(self, method: str, path: str, id: str = "acme", **options: Any) -> ClientResponse:
        options.setdefault("allow_redirects", False)
        options["headers"] = {**options.get("headers", {}), "Host": f"{id}.apps.lab.localhost"}
        return await self.client.request(method, URL(path, encoded=True), **options)

    async def get(self, path: str, id: str = "acme", **options: Any) -> ClientResponse:
        return await self.request("GET", path, id, **options)

    def records(self, kind: str) -> list[Record]:
        return self.journal.select(kind=kind)


@asynccontextmanager
async def place(
    more: Service | None = None, clock: Clock | None = None, **limits: Any
) -> AsyncIterator[Place]:
    clock = clock if clock is not None else Clock(rate=0)
    journal = Journal(clock.micros)
    store = Store()
    configuration: dict[str, dict[str, dict[str, Any]]] = {}
    services = Services([store, *([more] if more else [])], journal, configuration)
    solutions = Solutions(
        domain="lab.localhost",
        journal=journal,
        clock=clock,
        identifiers=Identifiers(7),
        services=services,
        configuration=configuration,
        url=lambda host, path: f"https://{host}:8443{path}",
        **limits,
    )
    made = Place(solutions, journal, clock, store, configuration)

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        solution = solutions.at(request.host)
        assert solution is not None
        return await solutions.serve(solution, Peer(), request)

    server = RawTestServer(handle)
    made.client = TestClient(server)
    await made.client.start_server()
    try:
        yield made
    finally:
        await made.client.close()
        await solutions.close()
