"""The whole platform, put together; the only file that knows all the rooms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import web
from sqlalchemy import Connection as DatabaseConnection

from labkit.core.activity import Activity
from labkit.core.clock import Clock
from labkit.core.database import Database
from labkit.core.errors import LabError, SettingsError
from labkit.core.events import Events
from labkit.core.identifiers import Identifiers
from labkit.core.journal import Journal
from labkit.core.tables import metadata
from labkit.device_api.api import DeviceApi
from labkit.device_api.rooms import Rooms
from labkit.devices.content import Content
from labkit.devices.polls import Polls
from labkit.devices.products import Product, Products
from labkit.devices.registry import Registry
from labkit.devices.state import State
from labkit.edge.certificates import Certificates, certificates
from labkit.edge.face import GuardTimes
from labkit.edge.listener import Edge
from labkit.http.connection import Connection
from labkit.http.dates import HttpDate
from labkit.http.outbound import OutboundClient
from labkit.providers.mail import Mailbox
from labkit.providers.social.pages import Pages
from labkit.providers.social.provider import Provider, Surroundings
from labkit.providers.social.room import Social
from labkit.services.calls import Services
from labkit.services.config import Config
from labkit.services.email import Email
from labkit.services.keystore import Keystore
from labkit.services.operation import Caller
from labkit.services.user.keys import Keys
from labkit.services.user.parts import Consumer, Parts
from labkit.services.user.passwords import Passwords
from labkit.services.user.service import User
from labkit.settings import LabSettings, ProductSettings, SocialSettings, SolutionSettings, unique
from labkit.solutions.events import of_device
from labkit.solutions.room import Solutions
from labkit.solutions.solution import Solution


class Platform:
    """A platform of the documents, on the running event loop.

    settings: what lab.yaml says, or None for an empty lab on free ports; seed: makes identifiers and
    the journal repeatable and implies the virtual clock; clock: another clock than that.
    """

    def __init__(
        self, settings: LabSettings | None = None, *, seed: int | None = None, clock: Clock | None = None
    ) -> None:
        self.settings = settings if settings is not None else LabSettings(https_port=0)
        unique(self.settings)
        self.clock = clock if clock is not None else Clock(1.0 if seed is None else 0.0)
        self.dates = HttpDate()
        self.identifiers = Identifiers(seed)
        self.journal = Journal(self.clock.micros)
        self.database = Database(self.settings.data)
        self.activity = Activity()
        self.events = Events(self.activity, self._event_failed, self._event_held)
        self.products = Products(self.settings.domain)
        self.registry = Registry(self.database, self.clock, self.identifiers)
        self.content = Content(self.database, self.clock)
        self.state = State(self.database)
        self.polls = Polls(self.clock, self.activity)
        self.mailbox = Mailbox(self.clock.now)
        self.keystore = Keystore(
            self.clock,
            self.database,
            url=self.settings.keystore,
            prefix=self.settings.domain,  # two labs may share an outside Redis
            identifiers=self.identifiers,
        )
        guard = self.settings.guard
        self.social = Social(
            Surroundings(
                self.settings.domain,
                self.url,
                self.clock,
                self.identifiers,
                self.journal,
                guard.way_out,
                guard.body,
                Pages(),
            )
        )
        self.outbound = OutboundClient(
            self.settings.domain, self.settings.host, lambda: self.ca_pem, guard.way_out
        )
        self.keys = Keys(self.database, self.identifiers)
        self.user = User(
            Parts(
                self.clock,
                self.database,
                self.identifiers,
                self.keys,
                Passwords(),
                self._consumer,
                self.outbound,
                self._account,
            )
        )
        self.configuration: dict[str, dict[str, dict[str, Any]]] = {}
        self.services = Services(
            [
                self.keystore,
                self.user,
                Email(self.mailbox, self._sender),
                Config(self._described, self.configuration, self._service_names),
            ],
            self.journal,
            self.configuration,
        )
        self.solutions = Solutions(
            domain=self.settings.domain,
            journal=self.journal,
            clock=self.clock,
            identifiers=self.identifiers,
            services=self.services,
            configuration=self.configuration,
            url=self.url,
            script_cpu=self.settings.guard.script_cpu,
            body_guard=self.settings.guard.body,
        )
        self.api = DeviceApi(
            Rooms(
                self.clock,
                self.registry,
                self.content,
                self.state,
                self.polls,
                self.events,
                self._emit,
                self.dates,
            ),
            self.journal,
            self.settings.wires(),
            self.settings.guard.body,
        )
        self._running = AsyncExitStack()
        self.edge: Edge
        self.ca_pem: str  # the certificate of the lab's authority, for clients to trust

    # ---- life

    async def start(self) -> Self:
        """Start, with all that the settings name. Raises SettingsError and leaves nothing behind if it cannot."""
        async with AsyncExitStack() as stack:
            stack.callback(self.clock.close)
            self.database.start(metadata)
            self.identifiers.start = self.database.starts
            stack.callback(self.database.close)
            await self.keystore.start()
            stack.push_async_callback(self.keystore.stop)
            stack.push_async_callback(self.outbound.close)
            stack.push_async_callback(self.solutions.close)
            stack.push_async_callback(self.events.close)
            self.clock.settle_with(self.settle)
            authority = self._certificates()
            self.ca_pem = authority.ca_pem.decode()
            self.edge = Edge(
                authority=authority,
                knows=self.serves,
                wants_client_certificates=self._wants_client_certificates,
                names=self._names,
                handler=self._handle,
                connected=self._connected,
                refused=self._refused,
                connection_id=lambda: self.identifiers.alphanumeric("connection", 20),
                on_error=self._failed,
                date=lambda: self.dates.at(self.clock.seconds()),
                guard=GuardTimes(**self.settings.guard.model_dump(exclude={"script_cpu", "way_out"})),
            )
            # The port is part of the URLs that a solution's set-up may ask for, so it comes first.
            await self.edge.start(self.settings.host, self.settings.https_port, self.settings.http_port)
            stack.push_async_callback(self.edge.stop)
            for provider in self.settings.providers.social:
                self.add_provider(provider)
            for product in self.settings.products:
                await self.add_product(product)
            for solution in self.settings.solutions:
                await self.add_solution(solution)
            self._running = stack.pop_all()
        return self

    async def stop(self) -> None:
        """End every connection, then everything else. What was acknowledged is stored."""
        await self._running.aclose()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def call(self, solution: str, service: str, operation: str, parameters: object = None) -> object:
        """Call a service operation for a solution, as its scripts do. Gives the result or the error object."""
        with self.activity:
            return await self.services.call(Caller(solution), service, operation, parameters)

    async def settle(self) -> None:
        """Return once every request and call is answered or held as a poll, and every event is handled."""
        await self.activity.idle()

    async def reset(self) -> None:
        """Forget devices, datapoints, content, Keystore, users, mails, what happened at providers, and journal.

        Products, solutions and providers stay, these with the people and applications of their settings.
        """
        await self.settle()
        for solution in self.solutions:
            await self.keystore.clear(Caller(solution.id))
        await self.database.run(_empty)
        self.registry.forget_all()
        self.state.forget_all()
        self.keys.forget_all()
        self.mailbox.clear()
        self.social.clear()
        self.journal.clear()
        for product in self.products:
            await self.fill(product.settings)

    # ---- products and solutions

    async def add_product(self, settings: ProductSettings) -> Product:
        """Raises SettingsError where the id or the domain is taken, or a content file cannot be read."""
        if any(room.at(settings.domain or "") is not None for room in (self.solutions, self.social)):
            raise SettingsError(f"product {settings.id!r}: domain {settings.domain} is taken")
        product = self.products.add(settings)
        await self.fill(settings)
        return product

    async def fill(self, settings: ProductSettings) -> None:
        """Whitelist the identities and add the content that settings name. Raises SettingsError for a file."""
        if settings.identities:
            await self.registry.allow(settings.id, settings.identities)
        for item in settings.content:
            try:
                data = item.file.read_bytes()
            except OSError as error:
                raise SettingsError(f"product {settings.id!r}: {item.file}: {error.strerror}") from error
            id = item.id or item.file.name
            present = await self.content.info(settings.id, id)
            whole = await self.content.read(settings.id, id, 0, len(data)) if present else b""
            if present is None or whole != data:  # a restart on a data file does not touch what is the same
                await self.content.add(settings.id, id, data, item.type, item.description)

    async def add_solution(self, settings: SolutionSettings) -> Solution:
        """Raises SettingsError where the id or domain is taken, a product is unknown or the folder is wrong."""
        for product in settings.products:
            self.products.get(product)
        if any(room.at(settings.domain or "") is not None for room in (self.products, self.social)):
            raise SettingsError(f"solution {settings.id!r}: domain {settings.domain} is taken")
        return await self.solutions.add(settings)

    def add_provider(self, settings: SocialSettings) -> Provider:
        """Add an identity provider, or add to one that is there. Raises SettingsError where something is taken."""
        if settings.name not in self.social:
            host = f"{settings.name}.social.{self.settings.domain}"
            if self.serves(host):
                raise SettingsError(f"provider {settings.name!r}: domain {host} is taken")
        return self.social.add(settings)

    # ---- names

    def url(self, host: str, path: str = "") -> str:
        """The URL of a path at a host of this lab: the one function that makes URLs which leave the lab."""
        port = "" if self.edge.https_port == 443 else f":{self.edge.https_port}"
        return f"https://{host}{port}{path}"

    def _certificates(self) -> Certificates:
        path = self.database.path
        return certificates(self.settings.tls, None if path is None else Path(f"{path}.tls"))

    def _names(self) -> list[str]:
        domain = self.settings.domain
        own = {product.domain for product in self.products} | {each.domain for each in self.solutions}
        below = tuple(f".{each}.{domain}" for each in ("m2", "apps", "social"))
        return [f"*{each}" for each in below] + sorted(name for name in own if not name.endswith(below))

    def serves(self, host: str) -> bool:
        """Is this host (lower case, no port) one of this lab's?"""
        return (  # asked with every request
            self.products.at(host) is not None
            or self.solutions.at(host) is not None
            or self.social.at(host) is not None
        )

    def _wants_client_certificates(self) -> bool:
        return any(product.settings.auth == "certificate" for product in self.products)

    def _sender(self, solution: str) -> str:
        return self.solutions.sender(solution)

    def _service_names(self) -> list[str]:
        return [service.name for service in self.services]

    def _described(self, solution_id: str) -> Mapping[str, Any]:
        solution = self.solutions.get(solution_id)
        return {
            "id": solution.id,
            "name": solution.id,
            "domain": self.url(solution.domain).removeprefix("https://"),
            "products": list(solution.products),
            "business_id": "labkit",
        }

    def _consumer(self, name: str) -> Consumer | None:
        """The identity provider that a social consumer means."""
        if name not in self.social:
            return None
        provider = self.social.get(name)
        return Consumer(provider.kind.protocol, **provider.endpoints())

    # ---- the way of a request

    async def _connected(self, connection: Connection) -> None:
        product = self.products.at(connection.host)
        if product is not None:
            with self.activity:
                await self.api.connected(product, connection)

    async def _handle(self, connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        with self.activity:
            product = self.products.at(connection.host)
            if product is not None:
                return await self.api.handle(product, connection, request)
            solution = self.solutions.at(connection.host)
            if solution is not None:
                return await self.solutions.serve(solution, connection, request)
            provider = self.social.at(connection.host)
            if provider is None:
                raise LabError(f"nothing is served at {connection.host}")
            return await provider.serve(request)

    def _refused(self, reason: str, detail: str) -> None:
        self.journal.record("refused", "edge", reason, detail={"reason": detail})

    def _failed(self, error: BaseException) -> None:
        self.journal.record(
            "error", "platform", f"{type(error).__name__}: {error}", status=500, detail={"error": repr(error)}
        )

    # ---- events

    def _emit(
        self, product: str, identity: str, event: str, payload: Callable[[], Mapping[str, object]], cause: int
    ) -> None:
        actor = f"{product}/{identity}"
        sequence = self.journal.record("event", actor, event, cause=cause, detail=payload)
        meant = of_device(event)
        for solution in self.solutions.linked(product):
            if solution.handles(*meant, product):
                delivery = partial(self.solutions.deliver, solution, *meant, cause=sequence, product=product)
                self.events.emit(actor, solution.id, delivery, payload())

    def _account(self, caller: Caller, payload: Mapping[str, object]) -> None:
        """A user account of the calling solution was created, updated or deleted."""
        solution = self.solutions.get(caller.solution)
        actor = f"{solution.id}/user"
        sequence = self.journal.record("event", actor, "account", cause=caller.cause, detail=payload)
        if solution.handles("user", "account"):
            delivery = partial(self.solutions.deliver, solution, "user", "account", cause=sequence)
            self.events.emit(actor, solution.id, delivery, payload)

    def _event_failed(self, error: BaseException) -> None:
        self._failed(error)

    def _event_held(self, source: str, queued: int) -> None:
        self.journal.record("backpressure", source, "waits: too many of its events are queued", size=queued)


def _empty(connection: DatabaseConnection) -> None:
    for table in reversed(metadata.sorted_tables):
        if table.info.get("reset", True):
            connection.execute(table.delete())
