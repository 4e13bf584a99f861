"""The target of checks: a lab in this process, or any platform that a target file describes."""

from __future__ import annotations

import asyncio
import itertools
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from labkit.conformance.blocking import in_thread
from labkit.conformance.connection_pool import ConnectionPool
from labkit.conformance.ready import read_ready, some_of
from labkit.conformance.set_up import SetUpError, set_up
from labkit.conformance.verdict import Unavailable
from labkit.core.errors import SettingsError, UnknownError, unknown
from labkit.core.identifiers import Identifiers
from labkit.fleet.connection import DeviceConnection, DeviceServer
from labkit.fleet.device import DeviceClient, VirtualDevice
from labkit.fleet.flow import FlowClient, LabAddress
from labkit.settings import ApplicationSettings, LabSettings, MessagingService, ProductSettings, load

if TYPE_CHECKING:
    from labkit.fleet.browser import AsyncBrowser, Connections
    from labkit.fleet.httpx_transport import LabTransport
    from labkit.lab.lab import Lab
    from labkit.lab.product import Product

T = TypeVar("T")

LAB_YAML = Path(str(files("labkit.conformance") / "lab.yaml"))
LOCAL_TARGET = "lab"  # name of the target that is a lab in the process of its checks
CONTROLLED = frozenset({"clock", "journal", "mailbox", "handsets", "settings", "polls"})
LOCAL = CONTROLLED | {"files"}


@dataclass(frozen=True, slots=True)
class TargetProduct:
    """A product of lab.yaml and its domain at the target."""

    settings: ProductSettings
    domain: str

    @property
    def id(self) -> str:
        """The product id of lab.yaml."""
        return self.settings.id


class Target:
    """A platform that serves the products and solutions of `conformance/lab.yaml`.

    address: where it listens; domains: of products and solutions, by id; settings: those of lab.yaml; lab: the
    handle, if the platform is a lab in this process or offers control over HTTP, else None; seed: makes the names of
    this run repeatable, for a lab that is discarded afterwards; at other targets every run has new names; fresh:
    whether no earlier run used the platform. `guard` has the guard times that lab.yaml sets.
    """

    def __init__(
        self,
        name: str,
        address: LabAddress,
        domains: dict[str, str],
        settings: LabSettings,
        *,
        lab: Lab | None = None,
        seed: int | None = None,
        http_port: int | None = None,
        fresh: bool = False,
    ) -> None:
        self.name = name
        self.address = address
        self.http_port = http_port
        self.offers = frozenset() if lab is None else LOCAL if fresh else CONTROLLED
        if lab is not None and lab.clock.rate:
            self.offers -= {"clock"}
        self.fresh = fresh
        self.reused_solutions: set[str] = (
            set()
        )  # ids of solutions that a check made and reuses when it runs again
        self._lab = lab
        self._domains = domains
        self.guard = settings.guard
        self._settings = {each.id: each for each in settings.products}
        self._services = {each.id: each.services for each in settings.solutions}
        self._messaging = settings.providers.messaging.accounts
        self._social = {each.name: each.applications for each in settings.providers.social}
        self._domain = settings.domain
        self._identifiers = Identifiers(seed if fresh else None)
        self._chances = Identifiers(seed or 0)
        self._run = self._identifiers.hex("run", 8)
        self._count = itertools.count(1)
        self._whitelisted: defaultdict[str, set[str]] = defaultdict(set)
        self._clients: list[VirtualDevice | FlowClient | DeviceConnection | ConnectionPool | Connections] = []
        self._shared: dict[str, FlowClient] = {}
        self._lasting: LabTransport | None = None  # connections that successive checks share
        self._connections: dict[str, DeviceConnection] = {}
        self._pools: dict[str, ConnectionPool] = {}
        self._products: dict[str, Product] = {}  # the lab's handles
        self._tasks: list[asyncio.Task[Any]] = []
        self._calls = 0  # calls of the lab's handle that have not returned
        self._stuck: tuple[str, str] | None = (
            None  # check whose call of the lab's handle did not return in time
        )
        self.was_asked = False  # whether the last check had a client of the target

    @classmethod
    def local(
        cls,
        lab: Lab,
        seed: int | None = None,
        settings: LabSettings | None = None,
        domains: dict[str, str] | None = None,
    ) -> Self:
        """Return the target for a lab in this process that loaded `conformance/lab.yaml`.

        settings: the content of lab.yaml, if it was read before; domains: of products and solutions, if known.
        """
        from labkit.lab.observer import LabObserver

        LabObserver(lab).keep_mistakes()  # checks misspell calls on purpose
        settings = settings or load(LAB_YAML)
        if domains is None:
            domains = {each.id: lab.product(each.id).domain for each in settings.products}
            domains |= {each.id: lab.solution(each.id).domain for each in settings.solutions}
        return cls(
            "lab", lab.address, domains, settings, lab=lab, seed=seed, http_port=lab.http_port, fresh=True
        )

    @classmethod
    def remote(cls, ready: str | dict[str, Any]) -> Self:
        """Return the target for a platform elsewhere; it has to be closed.

        ready: the line that `labkit serve --json` prints, a file with it, or the URL of its control. An optional key
        `host` is its address. `control` in the line, with its token there or in LABKIT_TOKEN, or the URL, lets checks
        use what they need beyond HTTPS. Raises SettingsError if the line cannot be read or a key is missing.
        """
        found = read_ready(ready)
        if found.control is None:
            return cls("remote", found.address, found.domains, load(LAB_YAML), http_port=found.http_port)
        from labkit.lab.lab import Lab

        lab = Lab.connect(*found.control)
        return cls("remote", lab.address, lab.domains, load(LAB_YAML), lab=lab, http_port=lab.http_port)

    def close(self) -> None:
        """Close the connection to the control of a lab elsewhere, if there is one."""
        if self.name != LOCAL_TARGET and self._lab is not None:
            self._lab.close()

    def expect_complete(self) -> None:
        """Raise SettingsError, with the file to serve, if the target lacks products or solutions of lab.yaml."""
        lacking = [
            f"{kind} {some_of(missing)}"
            for kind, known in (("products", self._settings), ("solutions", self._services))
            if (missing := [each for each in known if each not in self._domains])
        ]
        if lacking:
            serve = f"start it with `labkit serve --conformance`, or serve {LAB_YAML}"
            raise SettingsError(f"target: it lacks the {' and the '.join(lacking)}; {serve}")

    # ---- products, identities and clients

    def product(self, id: str) -> TargetProduct:
        """Return a product of lab.yaml."""
        return TargetProduct(self._settings[id], self._domains[id])

    def seed(self, name: str) -> int:
        """Return a seed for random choices: new for each call, the same in each run with one seed.

        It does not depend on the names of a run, so that a target with new names in each run gets the same requests.
        """
        return int(self._chances.hex(f"seed {name}", 16), 16)

    def identity(self) -> str:
        """Return an identity that no run has used."""
        return f"check-{self._run}-{next(self._count)}"

    def whitelisted(self, product: str) -> str:
        """Return a whitelisted identity of a product, each at most once, in no order.

        An earlier run may have used it: `endpoints.first_use` skips those. Raises SetUpError if none is left.
        """
        left = [each for each in self._settings[product].identities if each not in self._whitelisted[product]]
        if not left:
            raise SetUpError(f"set-up: all whitelisted identities of {product} are used up")
        chosen = left[int(self._identifiers.hex(f"whitelisted {product}", 12), 16) % len(left)]
        self._whitelisted[product].add(chosen)
        return chosen

    def device(
        self, product: str, identity: str | None = None, client: DeviceClient | None = None
    ) -> VirtualDevice:
        """Return a device of a product, not activated, by default with a fresh identity. client: a client to share."""
        described = self.product(product)
        device = VirtualDevice(
            self.address,
            described.domain,
            described.settings.auth,
            identity or self.identity(),
            self.password,
            client or FlowClient(self.address, described.domain, shared=self._lasting),
        )
        if client is None:
            self._clients.append(device)
        return device

    def shared_client(self, id: str) -> FlowClient:
        """Return the client of a product's or solution's domain that all callers share until the check ends."""
        if id not in self._shared:
            self._shared[id] = self.client(id)
        return self._shared[id]

    def connection(self, id: str) -> DeviceConnection:
        """Return a shared, lightweight connection, which sends one request at a time, each in one write.

        id: of a product or a solution, also of a solution that a check made itself.
        """
        if id not in self._connections:
            domain = self._domains.get(id, f"{id}.apps.{self._domain}")
            self._connections[id] = DeviceConnection(DeviceServer(self.address, domain))
            self._clients.append(self._connections[id])
        return self._connections[id]

    def own_connection(self, id: str) -> DeviceConnection:
        """Return a new connection to a product, not shared."""
        connection = DeviceConnection(DeviceServer(self.address, self._domains[id]))
        self._clients.append(connection)
        return connection

    def pool(self, id: str) -> ConnectionPool:
        """Return a shared pool of lightweight connections, for several requests at a time."""
        if id not in self._pools:
            self._pools[id] = ConnectionPool(DeviceServer(self.address, self._domains[id]))
            self._clients.append(self._pools[id])
        return self._pools[id]

    async def password(self, length: int) -> str:
        """Return a new password of random letters and digits."""
        return self._identifiers.alphanumeric("password", length)

    async def activated(self, product: str) -> VirtualDevice:
        """Return a fresh, provisioned device of a product. Raises SetUpError if the target does not provision it."""
        device = self.device(product)
        with set_up(f"a device of {product}"):
            await device.activate()
        return device

    def client(self, id: str) -> FlowClient:
        """Return an HTTPS client of a product's or a solution's domain, without credentials."""
        if id not in self._domains:
            raise UnknownError(unknown("product or solution", id, self._domains))
        client = FlowClient(self.address, self._domains[id], shared=self._lasting)
        self._clients.append(client)
        return client

    def browser(self) -> AsyncBrowser:
        """Return a new person's browser, which visits products, solutions and identity providers by their URLs."""
        from labkit.fleet.browser import AsyncBrowser, Connections

        connections = Connections(self.address, self._lasting)
        self._clients.append(connections)
        return AsyncBrowser(connections, self._serves)

    def url(self, id: str, path: str) -> str:
        """Return the URL of a path at a product or a solution."""
        return self.address.url(self._domains[id], path)

    def application(self, provider: str) -> ApplicationSettings:
        """Return lab.yaml's application at an identity provider: id and secret to create a social with."""
        return self._social[provider][0]

    def configured(self, solution: str, service: str) -> dict[str, Any]:
        """Return lab.yaml's configuration of a service of a solution."""
        return dict(self._services[solution].get(service, {}))

    def messaging_service(self, account: int, service: int) -> MessagingService:
        """Return a notify service of lab.yaml at the messaging provider."""
        return self._messaging[account].services[service]

    def _serves(self, host: str) -> bool:
        return host in self._domains.values() or host.endswith(f".{self._domain}")

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a task beside the check, such as a long poll; it is cancelled when the check ends."""
        task = asyncio.create_task(work)
        self._tasks.append(task)
        return task

    async def close_connections(self) -> None:
        """Close the connections of all devices and clients; they open new ones."""
        for client in self._clients:
            await client.close()
        if self._lasting is not None:
            await self._lasting.aclose()

    @asynccontextmanager
    async def lasting_connections(self) -> AsyncIterator[None]:
        """Let checks reuse the connections of earlier checks, for clients without a certificate, inside this context.

        A platform decides by the content of a request, whatever its connection carried before; opening a connection
        costs as much as several requests.
        """
        self._lasting = self.address.connections()
        try:
            yield
        finally:
            lasting, self._lasting = self._lasting, None
            await lasting.aclose()

    @asynccontextmanager
    async def scope(self) -> AsyncIterator[Self]:
        """End a check's tasks and the connections of its devices and clients when this context ends."""
        try:
            yield self
        finally:
            tasks, self._tasks = self._tasks, []
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            clients, self._clients = self._clients, []
            self.was_asked = bool(clients)
            self._shared.clear()
            self._connections.clear()
            self._pools.clear()
            for client in clients:
                await client.close()

    # ---- features of a lab in this process, or with control

    @property
    def lab(self) -> Lab:
        """The lab's handle. Its calls block: from a check, use `in_lab`."""
        if self._lab is None:
            raise Unavailable("the target is no lab in this process, and offers no control")
        return self._lab

    async def in_lab(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Call the lab's handle: `await target.in_lab(target.lab.clock.advance, seconds=30)`."""

        def call() -> T:
            try:
                return function(*args, **kwargs)
            finally:
                self._calls -= 1

        self._calls += 1
        return await in_thread(call)

    @property
    def stuck(self) -> tuple[str, str] | None:
        """Name and first requirement of a check whose call of the lab's handle still goes on after its end, or None."""
        return self._stuck if self._calls else None

    def mark_stuck(self, check: str, requirement: str) -> None:
        """Record that a check, by its name and first requirement, ended while it waited for the lab's handle."""
        self._stuck = check, requirement

    async def handle(self, product: str) -> Product:
        """Return the lab's handle of a product, cached (where the lab has a handle)."""
        if product not in self._products:
            self._products[product] = await self.in_lab(self.lab.product, product)
        return self._products[product]

    async def wait_for_polls(self, device: VirtualDevice, alias: str, count: int = 1) -> None:
        """Wait until `count` polls of this device and alias are pending (where the lab has a handle)."""
        product = next(name for name, domain in self._domains.items() if domain == device.domain)
        # where the poll is answered at once, the end of the check cancels this wait
        await (await self.handle(product)).held(device.identity, alias, count, within=60.0)

    async def settle(self) -> None:
        """Wait until every event is handled (where the lab has a handle)."""
        await self.in_lab(self.lab.settle)

    async def journaled_calls(self, operations: str) -> str:
        """Return the journal's records of service calls whose names contain a text (where the lab has a handle)."""
        calls = await self.in_lab(self.lab.journal.select, "call")
        return repr([record.detail for record in calls if operations in record.summary])

    def lab_time(self) -> float:
        """Return the lab's clock in seconds since 1970 (where the lab has a handle)."""
        return self.lab.clock.time

    async def advance(self, seconds: float) -> None:
        """Advance the virtual clock (where the lab has a handle)."""
        await self.in_lab(self.lab.clock.advance, seconds)


@contextmanager
def open_target(target: str = LOCAL_TARGET, seed: int | None = None) -> Iterator[Target]:
    """Provide a target for checks; a lab is started for it by default, and closed afterwards. Raises SettingsError."""
    if target != LOCAL_TARGET:
        with closing(Target.remote(target)) as found:
            yield found
        return
    from labkit.lab.lab import Lab

    with Lab(seed, config=LAB_YAML) as lab:
        yield Target.local(lab, seed)
