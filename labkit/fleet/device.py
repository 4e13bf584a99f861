"""A virtual device: knows its identity and its credentials, and speaks the device HTTPS API (document 1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlencode

from labkit.core.certificates import KeyPair, client_certificate
from labkit.core.errors import LabkitError
from labkit.fleet.flow import Address, FlowClient

if TYPE_CHECKING:
    import httpx

FORM = "application/x-www-form-urlencoded; charset=utf-8"
PEM = "application/x-pem-file; charset=utf-8"
Values = Mapping[str, object]
Secret = Callable[[int], Awaitable[str]]


class DeviceError(LabkitError):
    """The platform refused what the device asked for.

    action: which device, and what for; status: the HTTP status; reason: the body, as text; response: all of it.
    """

    def __init__(self, action: str, response: httpx.Response) -> None:
        self.action = action
        self.response = response
        self.status = response.status_code
        self.reason = response.text
        super().__init__(f"{action}: {self.status} {self.reason}".rstrip())


@dataclass(frozen=True, slots=True)
class Point:
    """What a long poll brought. `modified` is Last-Modified as it was sent."""

    alias: str
    value: str
    modified: str


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a device holds to prove its identity; at most one of them is set by activation."""

    token: str | None = None
    password: str | None = None
    certificate: KeyPair | None = None

    def __repr__(self) -> str:
        held = [name for name in ("token", "password", "certificate") if getattr(self, name) is not None]
        return f"<credentials: {', '.join(held) or 'none'}>"  # what they are is secret


class VirtualDevice:
    """A device of a product.

    auth: token, password or certificate; secret: makes a new password of the length it is given.
    """

    def __init__(self, address: Address, domain: str, auth: str, identity: str, secret: Secret) -> None:
        self.identity = identity
        self.auth = auth
        self.token: str | None = None
        self.password: str | None = None
        self.address = address
        self.domain = domain
        self._secret = secret
        self._flow = FlowClient(address, domain)

    @property
    def certificate(self) -> KeyPair | None:
        """The certificate that the device shows, if it has one."""
        return self._flow.certificate

    @property
    def credentials(self) -> Credentials:
        """What the device holds now."""
        return Credentials(self.token, self.password, self.certificate)

    async def use(self, credentials: Credentials) -> None:
        """Show these credentials from now on, as a thief would, or a device that was flashed with them."""
        self.token, self.password = credentials.token, credentials.password
        if credentials.certificate is not self.certificate:
            await self.use_certificate(credentials.certificate)

    async def use_certificate(self, certificate: KeyPair | None) -> None:
        """Show another certificate from the next connection on."""
        await self._flow.close()
        self._flow.certificate = certificate

    async def request(
        self, method: str, path: str, *, credentials: bool = True, **options: Any
    ) -> httpx.Response:
        """Send any request, with the device's credentials unless told otherwise; the answer as it came."""
        headers = dict(options.pop("headers", None) or {})
        if credentials and self.token is not None:
            headers.setdefault("X-Platform-CIK", self.token)
        elif credentials and self.password is not None:
            options.setdefault("auth", (self.identity, self.password))
        return await self._flow.request(method, path, headers=headers, **options)

    async def activate(self) -> None:
        """Provision; when the device has credentials already, replace them."""
        if self.auth == "certificate":
            await self._activate_certificate()
        elif self.auth == "password":
            password = await self._secret(24)
            fields = {"id": self.identity, "password": password}
            await self._expect("activate", 204, "POST", "/provision/activate", form=fields)
            self.password = password
        else:
            response = await self._expect(
                "activate", 200, "POST", "/provision/activate", form={"id": self.identity}
            )
            self.token = response.text

    async def _activate_certificate(self) -> None:
        new = KeyPair.from_pem(*client_certificate(self.identity))
        if self.certificate is not None:
            await self._expect(
                "activate",
                204,
                "POST",
                "/provision/activate",
                content=new.certificate_pem,
                headers={"Content-Type": PEM},
            )
            await self.use_certificate(new)
            return
        await self.use_certificate(new)
        try:  # with any request; this one tells whether it was provisioned
            await self._expect("activate", 200, "GET", "/provision/download")
        except DeviceError:
            await self.use_certificate(None)
            raise

    async def write(self, values: Values) -> None:
        """Store the value of each alias."""
        await self._expect("write", 204, "POST", "/onep:v1/stack/alias", form=values)

    async def read(self, aliases: Sequence[str]) -> dict[str, str]:
        """The newest value of each alias that has one."""
        response = await self._expect("read", (200, 204), "GET", _alias_path(aliases))
        return _form(response)

    async def write_and_read(self, values: Values, aliases: Sequence[str]) -> dict[str, str]:
        """Hybrid: store, then read."""
        response = await self._expect("write and read", (200, 204), "POST", _alias_path(aliases), form=values)
        return _form(response)

    async def poll(self, alias: str, timeout: float, since: str | int | None = None) -> Point | None:
        """Wait up to `timeout` seconds of lab time for the next datapoint; None when none came (304).

        since: Unix seconds, or what `modified` of the last point was.
        """
        headers = {"Request-Timeout": str(round(timeout * 1000))}
        if since is not None:
            headers["If-Modified-Since"] = str(since)
        response = await self._expect(
            "poll", (200, 304), "GET", _alias_path([alias]), headers=headers, patience=None
        )
        if response.status_code == 304:
            return None
        (name, value), *_ = _form(response).items()
        return Point(name, value, response.headers["Last-Modified"])

    async def record(self, points: Mapping[str, Mapping[float, object]]) -> None:
        """Store values at timestamps: {alias: {Unix seconds: value}}."""
        pairs: list[tuple[str, object]] = []
        for alias, values in points.items():
            pairs.append(("alias", alias))
            pairs += [(str(timestamp), value) for timestamp, value in values.items()]
        await self._expect("record", 204, "POST", "/onep:v1/stack/record", form=pairs)

    async def content(self) -> list[str]:
        """The ids of the content that the product offers."""
        return (await self._expect("list", 200, "GET", "/provision/download")).text.splitlines()

    async def content_info(self, id: str) -> str:
        """The meta line of a content item."""
        path = f"/provision/download?id={quote(id, safe='')}&info=true"
        return (await self._expect("info", 200, "GET", path)).text.rstrip("\r\n")

    async def download(self, id: str, range: str | None = None) -> bytes:
        """A content item; `range` as in the header Range: `bytes=0-99`."""
        headers = {} if range is None else {"Range": range}
        path = f"/provision/download?id={quote(id, safe='')}"
        return (await self._expect("download", (200, 206), "GET", path, headers=headers)).content

    async def timestamp(self) -> int:
        """The server's clock in Unix seconds."""
        return int((await self._expect("timestamp", 200, "GET", "/timestamp", credentials=False)).text)

    async def close(self) -> None:
        await self._flow.close()

    async def _expect(
        self,
        action: str,
        statuses: int | tuple[int, ...],
        method: str,
        path: str,
        form: Values | Sequence[tuple[str, object]] | None = None,
        **options: Any,
    ) -> httpx.Response:
        """Send a request; raises DeviceError unless the status is among those expected."""
        if form is not None:
            pairs = form.items() if isinstance(form, Mapping) else form
            options["content"] = urlencode([(name, _text(value)) for name, value in pairs])
            options["headers"] = {"Content-Type": FORM, **options.get("headers", {})}
        response = await self.request(method, path, **options)
        if response.status_code not in ((statuses,) if isinstance(statuses, int) else statuses):
            raise DeviceError(f"{self.identity}: {action}", response)
        return response


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _alias_path(aliases: Sequence[str]) -> str:
    return "/onep:v1/stack/alias?" + "&".join(quote(alias, safe="") for alias in aliases)


def _form(response: httpx.Response) -> dict[str, str]:
    return dict(parse_qsl(response.text, keep_blank_values=True))
