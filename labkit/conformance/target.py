"""What checks run against: a lab in this process, or any platform that is described by a target file."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from labkit.conformance.apart import in_thread
from labkit.conformance.connection_pool import ConnectionPool
from labkit.conformance.set_up import SetUpError, set_up
from labkit.conformance.verdict import Unavailable
from labkit.core.errors import SettingsError
from labkit.core.identifiers import Identifiers
from labkit.fleet.connection import DeviceConnection, Server
from labkit.fleet.device import Client, VirtualDevice
from labkit.fleet.flow import Address, FlowClient
from labkit.settings import ApplicationSettings, LabSettings, MessagingService, ProductSettings, load

if TYPE_CHECKING:
    from labkit.conformance.check import Check
    from labkit.fleet.browser import Browser, Connections
    from labkit.fleet.httpx_transport import LabTransport
    from labkit.lab.lab import Lab
    from labkit.lab.product import Product

T = TypeVar("T")

LAB_YAML = Path(str(files("labkit.conformance") / "lab.yaml"))
LOCAL_TARGET = "lab"  # the target that is a lab in the process of its checks
LOCAL = frozenset({"clock", "journal", "mailbox", "handsets", "settings", "polls"})


@dataclass(frozen=True, slots=True)
class TargetProduct:
    """A product of lab.yaml as the target serves it."""

    settings: ProductSettings
    domain: str

    @property
    def id(self) -> str:
        return self.settings.id


class Target:
    """A platform that serves the products and solutions of `conformance/lab.yaml`.

    address: where it listens; domains: product and solution ids with their domains; settings: those of
    lab.yaml; lab: the handle, where the platform is a lab in this process, else None; seed: makes the names
    of this run repeatable, for a lab that forgets them afterwards; elsewhere every run has names of its own.
    `guard` has the guard times that lab.yaml asks for.
    """

    def __init__(
        self,
        name: str,
        address: Address,
        domains: dict[str, str],
        settings: LabSettings,
        *,
        lab: Lab | None = None,
        seed: int | None = None,
        http_port: int | None = None,
    ) -> None:
        self.name = name
        self.address = address
        self.http_port = http_port
        self.offers = frozenset() if lab is None else LOCAL if lab.clock.rate == 0 else LOCAL - {"clock"}
        self.fresh = lab is not None  # nobody used it before this run
        self.kept: set[str] = set()  # ids of solutions that a check made, for its next time
        self._lab = lab
        self._domains = domains
        self.guard = settings.guard
        self._settings = {each.id: each for each in settings.products}
        self._services = {each.id: each.services for each in settings.solutions}
        self._messaging = settings.providers.messaging.accounts
        self._social = {each.name: each.applications for each in settings.providers.social}
        self._domain = settings.domain
        self._identifiers = Identifiers(None if lab is None else seed)
        self._chances = Identifiers(seed or 0)
        self._run = self._identifiers.hex("run", 8)
        self._count = itertools.count(1)
        self._whitelisted: defaultdict[str, set[str]] = defaultdict(set)
        self._clients: list[VirtualDevice | FlowClient | DeviceConnection | ConnectionPool | Connections] = []
        self._shared: dict[str, FlowClient] = {}
        self._lasting: LabTransport | None = None  # connections that go from check to check
        self._connections: dict[str, DeviceConnection] = {}
        self._pools: dict[str, ConnectionPool] = {}
        self._products: dict[str, Product] = {}  # the lab's handles
        self._tasks: list[asyncio.Task[Any]] = []
        self._calls = 0  # of the lab's handle that have not returned
        self._stuck: Check | None = None  # the check whose call of the lab's handle did not return in time
        self.was_asked = False  # whether the last check had a client of the target

    @classmethod
    def local(
        cls,
        lab: Lab,
        seed: int | None = None,
        settings: LabSettings | None = None,
        domains: dict[str, str] | None = None,
    ) -> Self:
        """A lab in this process that loaded `conformance/lab.yaml`.

        settings: those, if they were read before; domains: of its products and solutions, if they are known.
        """
        settings = settings or load(LAB_YAML)
        if domains is None:
            domains = {each.id: lab.product(each.id).domain for each in settings.products}
            domains |= {each.id: lab.solution(each.id).domain for each in settings.solutions}
        return cls("lab", lab.address, domains, settings, lab=lab, seed=seed, http_port=lab.http_port)

    @classmethod
    def remote(cls, ready: str | dict[str, Any]) -> Self:
        """A platform elsewhere: the line that `labkit serve --json` prints, or a file that holds it.

        An optional key `host` names its address. Raises SettingsError where a key is missing.
        """
        try:
            data = ready if isinstance(ready, dict) else json.loads(_text(ready))
            ca_pem = Path(data["ca_file"]).read_text()
            urls = {**data["products"], **data["solutions"]}
            address = Address(data.get("host", "127.0.0.1"), int(data["https_port"]), ca_pem)
        except (OSError, ValueError, TypeError) as error:
            raise SettingsError(f"target: cannot be read: {error}") from error
        except KeyError as error:
            raise SettingsError(f"target: {error.args[0]}: is required") from error
        domains = {name: url.removeprefix("https://").split(":")[0] for name, url in urls.items()}
        return cls("remote", address, domains, load(LAB_YAML), http_port=data.get("http_port"))

    # ---- who takes part

    def product(self, id: str) -> TargetProduct:
        """A product of lab.yaml."""
        return TargetProduct(self._settings[id], self._domains[id])

    def seed(self, name: str) -> int:
        """A number to draw from, the same in each run with one seed; a new one for each time of asking.

        It names nobody, so that a target elsewhere, where names are new each time, is asked the same in each run.
        """
        return int(self._chances.hex(f"seed {name}", 16), 16)

    def identity(self) -> str:
        """An identity that nobody used before."""
        return f"check-{self._run}-{next(self._count)}"

    def whitelisted(self, product: str) -> str:
        """One of the identities that lab.yaml allows a product, each once and in no order.

        An earlier run may have used it: `calls.first_use` passes over those. Raises SetUpError where none is left.
        """
        left = [each for each in self._settings[product].identities if each not in self._whitelisted[product]]
        if not left:
            raise SetUpError(f"set-up: all whitelisted identities of {product} are used up")
        chosen = left[int(self._identifiers.hex(f"whitelisted {product}", 12), 16) % len(left)]
        self._whitelisted[product].add(chosen)
        return chosen

    def device(
        self, product: str, identity: str | None = None, client: Client | None = None
    ) -> VirtualDevice:
        """A device of a product, by default with a fresh identity; not activated. client: one to share."""
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
        """The client of a product's or a solution's domain that all share who ask here, until the check ends."""
        if id not in self._shared:
            self._shared[id] = self.client(id)
        return self._shared[id]

    def connection(self, id: str) -> DeviceConnection:
        """The same for a connection that costs little and takes one request at a time, each in one write.

        id: also of a solution that a check made itself.
        """
        if id not in self._connections:
            domain = self._domains.get(id, f"{id}.apps.{self._domain}")
            self._connections[id] = DeviceConnection(Server(self.address, domain))
            self._clients.append(self._connections[id])
        return self._connections[id]

    def own_connection(self, id: str) -> DeviceConnection:
        """A new connection to a product, which nobody shares."""
        connection = DeviceConnection(Server(self.address, self._domains[id]))
        self._clients.append(connection)
        return connection

    def pool(self, id: str) -> ConnectionPool:
        """The same for several requests at a time."""
        if id not in self._pools:
            self._pools[id] = ConnectionPool(Server(self.address, self._domains[id]))
            self._clients.append(self._pools[id])
        return self._pools[id]

    async def password(self, length: int) -> str:
        return self._identifiers.alphanumeric("password", length)

    async def activated(self, product: str) -> VirtualDevice:
        """A fresh device of a product, provisioned. Raises SetUpError where the target does not provision it."""
        device = self.device(product)
        with set_up(f"a device of {product}"):
            await device.activate()
        return device

    def client(self, id: str) -> FlowClient:
        """An HTTPS client of a product's or a solution's domain, without credentials."""
        client = FlowClient(self.address, self._domains[id], shared=self._lasting)
        self._clients.append(client)
        return client

    def browser(self) -> Browser:
        """A new person's browser, which visits products, solutions and identity providers by their URLs."""
        from labkit.fleet.browser import Browser, Connections

        connections = Connections(self.address, self._lasting)
        self._clients.append(connections)
        return Browser(connections, self._serves)

    def url(self, id: str, path: str) -> str:
        """The URL of a path at a product or a solution, for a browser and for those who send one there."""
        return self.address.url(self._domains[id], path)

    def application(self, provider: str) -> ApplicationSettings:
        """What lab.yaml registers at an identity provider: id and secret to create a social with."""
        return self._social[provider][0]

    def configured(self, solution: str, service: str) -> dict[str, Any]:
        """What lab.yaml configures for a service of a solution."""
        return dict(self._services[solution].get(service, {}))

    def messaging_service(self, account: int, service: int) -> MessagingService:
        """A notify service that lab.yaml has at the messaging provider."""
        return self._messaging[account].services[service]

    def _serves(self, host: str) -> bool:
        return host in self._domains.values() or host.endswith(f".{self._domain}")

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Do something beside the check, such as a request that is held. It ends with the check at the latest."""
        task = asyncio.create_task(work)
        self._tasks.append(task)
        return task

    async def hang_up(self) -> None:
        """End the connections of all devices and clients; they open new ones."""
        for client in self._clients:
            await client.close()
        if self._lasting is not None:
            await self._lasting.aclose()

    @asynccontextmanager
    async def lasting_connections(self) -> AsyncIterator[None]:
        """In here, a check's clients take over the connections of those before it, where they show no certificate.

        A platform goes by what a request says, whoever used its connection before; to open one costs as much as
        several requests.
        """
        self._lasting = self.address.connections()
        try:
            yield
        finally:
            lasting, self._lasting = self._lasting, None
            await lasting.aclose()

    @asynccontextmanager
    async def scope(self) -> AsyncIterator[Self]:
        """Ends what a check left under way, and the connections of the devices and clients that it used."""
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

    # ---- what only a lab in this process can do

    @property
    def lab(self) -> Lab:
        """The lab's handle. Its calls block: from a check, use `in_lab`."""
        if self._lab is None:
            raise Unavailable("the target is no lab in this process")
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
    def stuck(self) -> Check | None:
        """The check since whose end a call of the lab's handle has not returned, if there is one."""
        return self._stuck if self._calls else None

    def gave_up(self, check: Check) -> None:
        """Take note that a check ended while it waited for the lab's handle."""
        self._stuck = check

    async def handle(self, product: str) -> Product:
        """The lab's handle of a product, the same each time (a lab in this process only)."""
        if product not in self._products:
            self._products[product] = await self.in_lab(self.lab.product, product)
        return self._products[product]

    async def held(self, device: VirtualDevice, alias: str, count: int = 1) -> None:
        """Wait until the lab holds `count` polls of this device and alias (a lab in this process only)."""
        product = next(name for name, domain in self._domains.items() if domain == device.domain)
        # it ends with the check, where the poll is answered at once
        await (await self.handle(product)).held(device.identity, alias, count, within=60.0)

    async def settle(self) -> None:
        """Wait until every event is handled (a lab in this process only)."""
        await self.in_lab(self.lab.settle)

    async def journalled(self, operations: str) -> str:
        """What the journal tells of calls of operations with this in their names (a lab in this process only)."""
        calls = await self.in_lab(self.lab.journal.select, "call")
        return repr([record.detail for record in calls if operations in record.summary])

    def lab_time(self) -> float:
        """The lab's own clock, in seconds since 1970 (a lab in this process only)."""
        return self.lab.clock.time

    async def advance(self, seconds: float) -> None:
        """Move the virtual clock on (a lab in this process only)."""
        await self.in_lab(self.lab.clock.advance, seconds)


@contextmanager
def opened(target: str = LOCAL_TARGET, seed: int | None = None) -> Iterator[Target]:
    """The target that checks run against; a lab of its own is closed afterwards. Raises SettingsError."""
    if target != LOCAL_TARGET:
        yield Target.remote(target)
        return
    from labkit.lab.lab import Lab

    with Lab(seed, config=LAB_YAML) as lab:
        yield Target.local(lab, seed)


def _text(ready: str) -> str:
    return ready if ready.lstrip().startswith("{") else Path(ready).read_text()
