"""A platform on the test's own loop, and clients that send bytes and store what they receive."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl

from sqlalchemy import Connection

from labkit.conformance import answers
from labkit.core.certificates import KeyPair, client_certificate
from labkit.core.records import Record
from labkit.fleet.flow import LabAddress
from labkit.platform import Platform
from labkit.settings import LabSettings, build
from labkit.storage.schema import metadata
from tests.guard import PATIENCE as PATIENCE

ALIAS = "/onep:v1/stack/alias"
RECORD = "/onep:v1/stack/record"
ACTIVATE = "/provision/activate"
DOWNLOAD = "/provision/download"
PASSWORD = "correct horse battery staple"
FORM = ("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
RESOURCES: dict[str, Any] = {
    "text": "string",
    "number": "number",
    "integer": "integer",
    "flag": "boolean",
    "level": {"format": "number", "allowed": [{"min": 0, "max": 100}]},
}
PRODUCTS = [
    {"id": "token", "resources": RESOURCES},
    {"id": "other", "resources": RESOURCES},
    {"id": "closed", "self_registration": False, "identities": ["allowed"], "resources": RESOURCES},
    {"id": "off", "provisioning": False, "identities": ["allowed"], "resources": RESOURCES},
    {"id": "password", "auth": "password", "resources": RESOURCES},
    {"id": "certificate", "auth": "certificate", "resources": RESOURCES},
    {"id": "digits", "identity_format": {"type": "base10", "length": 3}},
]

Headers = Sequence[tuple[str, str]]


class Answer(answers.Answer):
    """A response whose body can be read as a form."""

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return parse_qsl(self.body.decode(), keep_blank_values=True, strict_parsing=True)


class Client:
    """A connection to one product."""

    def __init__(self, host: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.host = host
        self.credentials: Headers = ()
        self._answers = answers.Answers(reader)
        self._writer = writer

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes | str | None = None,
        *,
        headers: Headers = (),
        form: bool = True,
    ) -> Answer:
        """Send a request and read its answer; `form`: declare the body as a form."""
        self.send(method, path, body, headers=headers, form=form)
        return await self.answer(method)

    def send(
        self,
        method: str,
        path: str,
        body: bytes | str | None = None,
        *,
        headers: Headers = (),
        form: bool = True,
    ) -> None:
        """Send a request. Surrogates in text represent bytes that are not UTF-8."""
        data = body.encode() if isinstance(body, str) else body
        fields = [("Host", self.host), *self.credentials, *headers]
        if data is not None:
            fields += [*([FORM] if form else []), ("Content-Length", str(len(data)))]
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields), "", ""]
        self.write("\r\n".join(lines).encode("utf-8", "surrogateescape") + (data or b""))

    def write(self, data: bytes) -> None:
        self._writer.write(data)

    async def answer(self, method: str = "GET") -> Answer:
        async with asyncio.timeout(PATIENCE):
            came = await self._answers.next(method)
        return Answer(came.status, came.version, came.reason, came.headers, came.body, came.chunks)

    async def rest(self) -> bytes:
        """Return all bytes until the connection ends."""
        async with asyncio.timeout(PATIENCE):
            return b"".join([piece async for piece in self._answers.rest()])

    def leave(self) -> None:
        """Close the connection at once."""
        self._writer.transport.abort()


class DeviceRig:
    """The platform, with a prepared device of each kind."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.pairs: dict[str, KeyPair] = {}  # certificates of provisioned devices, by identity
        self._clients: list[Client] = []

    async def connect(
        self, product: str = "token", pair: KeyPair | None = None, *, tls: bool = False
    ) -> Client:
        """Open a connection to a product: plain, or over TLS, with a client certificate if one is given."""
        host, listener = self.platform.devices.products.get(product).domain, self.platform.context.address
        options: dict[str, Any] = {}
        port = listener.http_port
        if tls or pair is not None:
            port = listener.https_port
            address = LabAddress("127.0.0.1", port, listener.ca_pem)
            options = {"ssl": address.context(pair), "server_hostname": host}
        client = Client(host, *await asyncio.open_connection("127.0.0.1", port, **options))
        self._clients.append(client)
        return client

    async def device(self, product: str = "token", identity: str = "d") -> Client:
        """Provision a device of a product, with its own connection."""
        if product == "certificate":
            self.pairs[identity] = pair(identity)
            client = await self.connect(product, self.pairs[identity])
            assert (await client.ask("GET", DOWNLOAD)).status == 200
            return client
        client = await self.connect(product)
        if product == "password":
            answer = await client.ask("POST", ACTIVATE, f"id={identity}&password={PASSWORD}")
            assert answer.status == 204
            client.credentials = [basic(identity, PASSWORD)]
        else:
            answer = await client.ask("POST", ACTIVATE, f"id={identity}")
            assert answer.status == 200
            client.credentials = [("X-Platform-CIK", answer.body.decode())]
        return client

    async def kept(self) -> dict[str, list[Any]]:
        """Return all that the lab stores about devices: every table, and the events so far."""

        def rows(connection: Connection) -> dict[str, list[Any]]:
            return {
                table.name: [tuple(row) for row in connection.execute(table.select())]
                for table in metadata.sorted_tables
            }

        found = await self.platform.context.database.read(rows)
        return {**found, "events": [(entry.actor, entry.summary) for entry in self.events()]}

    def events(self, summary: str | None = None) -> list[Record]:
        return [e for e in self.platform.context.journal.select("event") if summary in (None, e.summary)]

    def payloads(self, summary: str) -> list[dict[str, Any]]:
        """Return the payloads of the events of a type."""
        return [dict(event.detail or {}) for event in self.events(summary)]

    async def held(
        self, count: int, identity: str = "d", alias: str = "text", product: str = "token"
    ) -> None:
        """Return once `count` polls of an alias are pending."""
        async with asyncio.timeout(PATIENCE):
            await self.platform.devices.polls.wait_for_count(product, identity, alias, count)

    async def idle(self) -> None:
        async with asyncio.timeout(PATIENCE):
            await self.platform.settle()

    async def close(self) -> None:
        for client in self._clients:
            client.leave()


@asynccontextmanager
async def device_rig(**settings: Any) -> AsyncIterator[DeviceRig]:
    """Provide a platform whose clock stands still; afterwards there must be no error and no pending work."""
    stray: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: stray.append(context))
    values = {"https_port": 0, "http_port": 0, "products": PRODUCTS, **settings}
    async with Platform(build(LabSettings, values), seed=7) as platform:
        made = DeviceRig(platform)
        yield made
        await made.close()
        await made.idle()
    assert [entry.summary for entry in platform.context.journal.select("error")] == []
    assert stray == []
    activity = platform.context.activity
    assert (len(platform.devices.polls), activity.running, activity.arrived) == (0, 0, 0)


def basic(identity: str, password: str) -> tuple[str, str]:
    """Return the header of Basic authorization."""
    return "Authorization", "Basic " + base64.b64encode(f"{identity}:{password}".encode()).decode()


def pair(identity: str | None, **options: Any) -> KeyPair:
    """Return a device's certificate and key."""
    return KeyPair.from_pem(*client_certificate(identity, **options))


def check_refusal(answer: Answer) -> None:
    """Assert that a refusal has a short reason in plain text without internals."""
    reason = answer.body.decode()
    assert answer.header("Content-Type") == "text/plain; charset=utf-8"
    assert 0 < len(reason) <= 150
    assert "\n" not in reason
    for sign in ("Traceback", ".py", "Error", PASSWORD, "labkit", "sqlite"):
        assert sign not in reason
