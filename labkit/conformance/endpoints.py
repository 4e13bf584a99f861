"""The endpoints of the device API, for checks that send the same to all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from labkit.conformance import expect
from labkit.conformance.set_up import SetUpError
from labkit.conformance.target import Target
from labkit.conformance.verdict import Mismatch
from labkit.core.certificates import KeyPair, client_certificate
from labkit.fleet.device import FORM, VirtualDevice
from labkit.fleet.flow import FlowClient

if TYPE_CHECKING:
    import httpx

ACTIVATE = "/provision/activate"
DOWNLOAD = "/provision/download"
ALIAS = "/onep:v1/stack/alias"
RECORD = "/onep:v1/stack/record"
TIMESTAMP = "/timestamp"
CONTENT = "alphabet.txt"  # id of a content that the products of PRODUCTS offer

PRODUCTS = {
    "token": "content",
    "password": "password-open",
    "certificate": "certificate-open",
}  # one product of each type
PATIENCE = 10.0  # seconds of real time for an answer
MANY = 40  # consecutive whitelisted identities that earlier runs may have used


@dataclass(frozen=True, slots=True)
class Call:
    """A request to an endpoint. served: the status of its answer to a device that wrote `text` before."""

    title: str
    method: str
    path: str
    served: int
    form: tuple[tuple[str, str], ...] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    async def send_from(self, sender: VirtualDevice | FlowClient, headers: Headers = ()) -> httpx.Response:
        """Send the request by a device or client, with further headers."""
        options: dict[str, Any] = {"headers": [*self.headers.items(), *headers], "patience": PATIENCE}
        if self.form is not None:
            options["headers"].append(("Content-Type", FORM))
            options["content"] = urlencode(self.form)
        return await sender.request(self.method, self.path, **options)


Headers = Iterable[tuple[str, str]]

WRITE = Call("write", "POST", ALIAS, 204, (("text", "written"),))
READ = Call("read", "GET", f"{ALIAS}?text", 200)

# The endpoints that need credentials (document 1, Authentication); a poll from the beginning of time answers at once.
GUARDED = (
    WRITE,
    READ,
    Call("hybrid", "POST", f"{ALIAS}?text", 200, (("text", "written"),)),
    Call(
        "long poll", "GET", f"{ALIAS}?text", 200, None, {"Request-Timeout": "5000", "If-Modified-Since": "0"}
    ),
    Call("record", "POST", RECORD, 204, (("alias", "text"), ("1000000000", "recorded"))),
    Call("list", "GET", DOWNLOAD, 200),
    Call("info", "GET", f"{DOWNLOAD}?id={CONTENT}&info=true", 200),
    Call("download", "GET", f"{DOWNLOAD}?id={CONTENT}", 200),
)


async def activate(
    sender: VirtualDevice | FlowClient, fields: Mapping[str, str], headers: Headers = ()
) -> httpx.Response:
    """POST fields to /provision/activate."""
    return await Call("activate", "POST", ACTIVATE, 200, tuple(fields.items())).send_from(sender, headers)


async def first_use(
    target: Target, product: str, use: Callable[[str], Awaitable[httpx.Response]], taken: int
) -> httpx.Response:
    """Return the answer to the first use of a whitelisted identity.

    An identity that is answered with status `taken` was used by an earlier run, and is skipped unless the target is
    fresh. Raises SetUpError if MANY consecutive identities were used.
    """
    for _ in range(MANY):
        response = await use(target.whitelisted(product))
        if response.status_code != taken or target.fresh:
            return response
    raise SetUpError(f"set-up: {MANY} whitelisted identities of {product} in a row were used by earlier runs")


async def expect_served(device: VirtualDevice | FlowClient, headers: Headers = ()) -> None:
    """Raise Mismatch unless the device is served on every endpoint that needs credentials."""
    for call in GUARDED:
        expect.status(await call.send_from(device, headers), call.served)


async def expect_refused(device: VirtualDevice | FlowClient, *statuses: int, headers: Headers = ()) -> None:
    """Raise Mismatch unless every endpoint that needs credentials refuses, with one of these statuses (default: any
    4xx).
    """
    for call in GUARDED:
        response = await call.send_from(device, headers)
        if statuses:
            expect.status(response, *statuses)
        else:
            expect_client_error(response)


def expect_client_error(response: httpx.Response) -> None:
    """Raise Mismatch unless the status is a client error, 400 to 499."""
    if not 400 <= response.status_code <= 499:
        raise Mismatch("status", "400 to 499", response.status_code, expect.exchange(response))


def key_pair(common_name: str | None, *, expired: bool = False, issuer: KeyPair | None = None) -> KeyPair:
    """Return a new certificate for a device, with its key."""
    return KeyPair.from_pem(*client_certificate(common_name, expired=expired, issuer=issuer))


def client_with(target: Target, product: str, certificate: KeyPair | None) -> FlowClient:
    """Return a client of a product that presents a client certificate."""
    client = target.client(product)
    client.certificate = certificate
    return client
