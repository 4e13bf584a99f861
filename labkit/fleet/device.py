"""Virtual device: a client of the device HTTPS API (document 1) with an identity and credentials."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qsl, quote, quote_plus

from labkit.core.certificates import KeyPair, client_certificate
from labkit.core.errors import LabError, LabkitError
from labkit.fleet.flow import FlowClient, LabAddress

if TYPE_CHECKING:
    import httpx

FORM = "application/x-www-form-urlencoded; charset=utf-8"
PEM = "application/x-pem-file; charset=utf-8"
PLAIN_PAIR = r"[A-Za-z0-9_.~-]+=[A-Za-z0-9_.~-]*"
PLAIN_FORM = re.compile(f"{PLAIN_PAIR}(?:&{PLAIN_PAIR})*")
# Statuses of success, by kind of request.
DONE, STORED, FOUND, POLLED, SENT = (200,), (204,), (200, 204), (200, 304), (200, 206)
Values = Mapping[str, object]
Secret = Callable[[int], Awaitable[str]]


class DeviceError(LabkitError):
    """The platform refused a request of a device.

    action: identity and action; status: the HTTP status; reason: the body as text; response: the whole answer, of the
    type of the device's client (httpx.Response or Answer). The argument `hint` ends the message.
    """

    def __init__(self, action: str, response: Any, hint: str = "") -> None:
        self.action = action
        self.response = response
        self.status = response.status_code
        self.reason = response.text
        refused = self.status >= 400  # the body of any other answer may be a secret
        super().__init__(
            f"{action}: {self.status} {self.reason if refused else 'was not expected'}".rstrip() + hint
        )

    @property
    def conflicts(self) -> dict[str, int]:
        """Timestamp of the first conflict of each alias, of a `record` that was refused (409); empty of any other."""
        pairs = parse_qsl(self.reason) if self.status == 409 else []
        return {alias: int(timestamp) for alias, timestamp in pairs if timestamp.isdecimal()}


@dataclass(frozen=True, slots=True)
class Point:
    """Value that a long poll returned. modified: the header Last-Modified as received.

    alias: name of the resource; value: its value as text.
    """

    alias: str
    value: str
    modified: str


@dataclass(frozen=True, slots=True)
class Credentials:
    """Credentials by which a device proves its identity; activation sets at most one of them.

    token: 40 characters; password: a password; certificate: a certificate with its key.
    """

    token: str | None = None
    password: str | None = None
    certificate: KeyPair | None = None

    def __repr__(self) -> str:
        present = [name for name in ("token", "password", "certificate") if getattr(self, name) is not None]
        return f"<credentials: {', '.join(present) or 'none'}>"  # the values are secret


def check_points(points: object) -> None:
    """Raise LabError unless `points` is {alias: {timestamp: value}}."""
    if not isinstance(points, Mapping) or not all(isinstance(each, Mapping) for each in points.values()):
        raise LabError(f"record: expected {{alias: {{Unix seconds: value}}}}, not {points!r}")


class DeviceResponse(Protocol):
    """Answer of a device's client."""

    @property
    def status_code(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def content(self) -> bytes: ...
    @property
    def text(self) -> str: ...


class DeviceClient(Protocol):
    """HTTP client of a device: FlowClient (httpx), or in a fleet DeviceConnection."""

    certificate: KeyPair | None

    def request(self, method: str, path: str, **options: Any) -> Coroutine[Any, Any, Any]: ...
    async def close(self) -> None: ...


class VirtualDevice:
    """Virtual device of a product, without behaviour.

    auth: token, password or certificate; secret: function that returns a new password of a given length; client: HTTP
    client, by default a FlowClient.
    """

    def __init__(
        self,
        address: LabAddress,
        domain: str,
        auth: str,
        identity: str,
        secret: Secret,
        client: DeviceClient | None = None,
    ) -> None:
        self.identity = identity
        self.auth = auth
        self.token: str | None = None
        self.password: str | None = None
        self.address = address
        self.domain = domain
        self._secret = secret
        self._client: DeviceClient = client if client is not None else FlowClient(address, domain)

    @property
    def certificate(self) -> KeyPair | None:
        """The certificate that the device presents, if it has one."""
        return self._client.certificate

    @property
    def credentials(self) -> Credentials:
        """The device's current credentials."""
        return Credentials(self.token, self.password, self.certificate)

    async def use(self, credentials: Credentials) -> None:
        """Replace the credentials without a request, like a thief or a device that was flashed with them."""
        self.token, self.password = credentials.token, credentials.password
        if credentials.certificate is not self.certificate:
            await self.use_certificate(credentials.certificate)

    def acting_as(self, identity: str, credentials: Credentials, client: DeviceClient) -> VirtualDevice:
        """Return another device of the product, with its credentials and a client of its own."""
        other = VirtualDevice(self.address, self.domain, self.auth, identity, self._secret, client)
        other.token, other.password = credentials.token, credentials.password
        return other

    async def use_certificate(self, certificate: KeyPair | None) -> None:
        """Present another certificate from the next connection on."""
        await self._client.close()
        self._client.certificate = certificate

    def request(
        self, method: str, path: str, *, credentials: bool = True, **options: Any
    ) -> Coroutine[Any, Any, httpx.Response]:
        """Send any request and return the answer, whatever its status (in a fleet, an Answer).

        credentials: add the device's credentials.
        """
        headers = dict(options.pop("headers", None) or {})
        if credentials and (self.token is not None or "auth" not in options):
            self._add_credentials(headers)
        return self._client.request(method, path, headers=headers, **options)

    async def activate(self, anew: bool = False, password: str | None = None) -> None:
        """Provision the device, or replace its credentials.

        anew: without showing the credentials that it has, which the platform may have lost; a refusal keeps them.
        password: to send, by default a new one; a device that keeps it can `use` it if the answer is lost. Raises
        LabError for a password of a device without passwords.
        """
        if password is not None and self.auth != "password":
            raise LabError(f"activate: a device with auth={self.auth!r} sends no password")
        before = self.credentials
        if anew:
            await self.use(Credentials())
        try:
            await self._activate(password)
        except BaseException:
            if anew:
                await self.use(before)
            raise

    async def _activate(self, password: str | None) -> None:
        if self.auth == "certificate":
            await self._activate_certificate()
        elif self.auth == "password":
            password = password or await self._secret(24)
            fields = {"id": self.identity, "password": password}
            await self._post("activate", STORED, "/provision/activate", fields.items())
            self.password = password
        else:
            given = [("id", self.identity)]
            self.token = (await self._post("activate", DONE, "/provision/activate", given)).text

    async def _activate_certificate(self) -> None:
        new = KeyPair.from_pem(*client_certificate(self.identity))
        if self.certificate is not None:
            await self._expect(
                "activate",
                STORED,
                self.request,
                "POST",
                "/provision/activate",
                content=new.certificate_pem,
                headers={"Content-Type": PEM},
            )
            await self.use_certificate(new)
            return
        await self.use_certificate(new)
        try:  # any request activates; this one shows whether it succeeded
            await self._expect("activate", DONE, self.request, "GET", "/provision/download")
        except DeviceError:
            await self.use_certificate(None)
            raise

    def write(self, values: Values) -> Coroutine[Any, Any, object]:
        """Store the value of each alias."""
        return self._post("write", STORED, "/onep:v1/stack/alias", values.items())

    async def read(self, aliases: Sequence[str]) -> dict[str, str]:
        """Return the newest value of each alias that has one."""
        response = await self._expect("read", FOUND, self.request, "GET", _alias_path(aliases))
        return _form(response)

    async def write_and_read(self, values: Values, aliases: Sequence[str]) -> dict[str, str]:
        """Store values, then read aliases, in one hybrid request. Return as `read`."""
        return _form(await self._post("write and read", FOUND, _alias_path(aliases), values.items()))

    async def poll(self, alias: str, timeout: float, since: str | int | None = None) -> Point | None:
        """Return the next datapoint, or None after `timeout` seconds of lab time without one (304).

        since: Unix seconds, or `modified` of the last point, so that nothing is missed (labkit.devices.polls).
        """
        headers = {"Request-Timeout": str(round(timeout * 1000))}
        if since is not None:
            headers["If-Modified-Since"] = str(since)
        response = await self._expect(
            "poll", POLLED, self.request, "GET", _alias_path([alias]), headers=headers, patience=None
        )
        if response.status_code == 304:
            return None
        (name, value), *_ = _form(response).items()
        return Point(name, value, response.headers["last-modified"])

    async def record(self, points: Mapping[str, Mapping[float, object]]) -> None:
        """Store values at timestamps: {alias: {Unix seconds: value}}."""
        pairs: list[tuple[str, object]] = []
        for alias, values in points.items():
            pairs.append(("alias", alias))
            pairs += [(str(timestamp), value) for timestamp, value in values.items()]
        await self._post("record", STORED, "/onep:v1/stack/record", pairs)

    async def content(self) -> list[str]:
        """Return the ids of the product's content items."""
        return (
            await self._expect("list", DONE, self.request, "GET", "/provision/download")
        ).text.splitlines()

    async def content_info(self, id: str) -> str:
        """Return the info line of a content item."""
        path = f"/provision/download?id={quote(id, safe='')}&info=true"
        return (await self._expect("info", DONE, self.request, "GET", path)).text.rstrip("\r\n")

    async def download(self, id: str, range: str | None = None) -> bytes:
        """Return a content item; `range` as in the header Range: `bytes=0-99`."""
        headers = {} if range is None else {"Range": range}
        path = f"/provision/download?id={quote(id, safe='')}"
        return (await self._expect("download", SENT, self.request, "GET", path, headers=headers)).content

    async def timestamp(self) -> int:
        """Return the server's clock in Unix seconds."""
        return int(
            (await self._expect("timestamp", DONE, self.request, "GET", "/timestamp", credentials=False)).text
        )

    async def close(self) -> None:
        await self._client.close()

    def _add_credentials(self, headers: dict[str, str]) -> None:
        """Add the header of the device's credentials, unless it is given."""
        if self.token is not None:
            headers.setdefault("X-Platform-CIK", self.token)
        elif self.password is not None:
            pair = b64encode(f"{self.identity}:{self.password}".encode()).decode()
            headers.setdefault("Authorization", f"Basic {pair}")

    def _post(
        self, action: str, statuses: tuple[int, ...], path: str, pairs: Iterable[tuple[str, object]]
    ) -> Coroutine[Any, Any, DeviceResponse]:
        """Send a form: see `_expect`."""
        headers = {"Content-Type": FORM}
        self._add_credentials(headers)
        ask = self._client.request  # the credentials are added already
        return self._expect(action, statuses, ask, "POST", path, headers=headers, content=encoded(pairs))

    async def _expect(
        self,
        action: str,
        statuses: tuple[int, ...],
        ask: Callable[..., Coroutine[Any, Any, Any]],
        method: str,
        path: str,
        **options: Any,
    ) -> DeviceResponse:
        """Send a request and return its answer. Raises DeviceError unless the status is one of `statuses`."""
        response: DeviceResponse = await ask(method, path, **options)
        if response.status_code not in statuses:
            unknown = response.status_code == 401 and self.token is None and self.password is None
            hint = "; the device has none before activate()" if unknown else ""
            raise DeviceError(f"{self.identity}: {action}", response, hint)
        return response


def encoded(pairs: Iterable[tuple[str, object]]) -> str:
    """Return a form body (URL standard, urlencoded): a boolean as true or false, other values as their text."""
    items = [(name, str(value).lower() if type(value) is bool else value) for name, value in pairs]
    form = "&".join([f"{name}={value!s}" for name, value in items])
    # The usual case: nothing to encode. Each pair adds one "=", so an equal count means that no text contains one.
    if form.count("=") == len(items) and PLAIN_FORM.fullmatch(form):
        return form
    return "&".join([f"{_quoted(name)}={_quoted(str(value))}" for name, value in items])


def _quoted(text: str) -> str:
    return quote_plus(text, errors="strict")


def _alias_path(aliases: Sequence[str]) -> str:
    return "/onep:v1/stack/alias?" + "&".join(quote(alias, safe="") for alias in aliases)


def _form(response: DeviceResponse) -> dict[str, str]:
    return dict(parse_qsl(response.text, keep_blank_values=True))
