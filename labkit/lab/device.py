"""The handle of a virtual device."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from labkit.control.clock import seconds_of
from labkit.core.errors import LabError
from labkit.core.handle import Handle
from labkit.fleet.device import Credentials, Point, VirtualDevice
from labkit.lab.arguments import alias_list, duration, timed_values, unknown_resource, value_texts
from labkit.lab.client import rooted
from labkit.lab.delays import ask
from labkit.lab.polls import DevicePolls, HeldPoll, PollWait
from labkit.lab.runtime import Runtime
from labkit.lab.show import card

if TYPE_CHECKING:
    import httpx

    from labkit.control.products import ProductInfo

P = ParamSpec("P")
T = TypeVar("T")


def new_device(runtime: Runtime, product: ProductInfo, identity: str) -> Device:
    """Return a new handle of the virtual device with this identity of a product."""
    virtual = VirtualDevice(
        runtime.address,
        product.domain,
        product.settings.auth,
        identity,
        partial(runtime.control.identities.password, product.id, identity),
    )
    runtime.keep(virtual, virtual.close)
    runtime.parts.devices.add(identity)
    return Device(runtime, product.id, virtual)


class Device(Handle):
    """A virtual device of a product. It reaches the platform by HTTPS only, as a real device does."""

    def __init__(self, runtime: Runtime, product: str, virtual: VirtualDevice) -> None:
        self._runtime = runtime
        self._product = product
        self._virtual = virtual
        self._known: set[str] = set()  # aliases that have had a resource
        self._waiting = DevicePolls(runtime, product, virtual.identity)

    @property
    def identity(self) -> str:
        """Identity of the device."""
        return self._virtual.identity

    @property
    def credentials(self) -> Credentials:
        """The device's credentials: its token, password or certificate."""
        return self._virtual.credentials

    def activate(self) -> Self:
        """Provision the device: get credentials from the platform, or replace those that it has."""
        self._ask(self._virtual.activate)
        return self

    def use(self, credentials: Credentials) -> Self:
        """Authenticate with these credentials from now on: `device.use(old)`, `device.use(Credentials(token="…"))`."""
        self._runtime.run(self._virtual.use, credentials)
        return self

    def write(self, values: Mapping[str, object] | None = None, /, **more: object) -> None:
        """Store a value for each alias: `write(temperature=21.5)`, `write({"temperature": 21.5})`.

        values, more: value by alias. The platform ignores an alias without a resource, of which this warns.
        """
        texts = value_texts(values, more)
        self._warn_of_unknown(texts)
        self._ask(self._virtual.write, texts)

    def read(self, *aliases: str | Iterable[str]) -> dict[str, str]:
        """Return the newest value of each alias; an alias without a value is left out.

        aliases: names of resources, or lists of them.
        """
        named = alias_list(aliases)
        self._warn_of_unknown(named)
        return self._ask(self._virtual.read, named)

    def write_and_read(self, values: Mapping[str, object], *aliases: str | Iterable[str]) -> dict[str, str]:
        """Store values, and return the newest value of each alias, in one request (the hybrid procedure).

        values: value by alias, to store; aliases: names of resources to read.
        """
        texts, named = value_texts(values, {}), alias_list(aliases)
        self._warn_of_unknown([*texts, *named])
        return self._ask(self._virtual.write_and_read, texts, named)

    def poll(
        self, alias: str, timeout: float = 30, since: str | float | datetime | None = None
    ) -> str | None:
        """Wait up to `timeout` seconds of lab time for the next value, and return it; None if no value came.

        alias: name of the resource; since: as in `start_poll`. Raises LabError on a virtual clock, where nothing would
        end the wait, unless a story or the run of a fleet moves it.
        """
        if duration(timeout, "timeout") > 0 and self._waiting.does_clock_stand_still():
            raise LabError(
                "the clock stands still, so this poll would never end; use start_poll(), then "
                "lab.clock.advance() or a write, then result()"
            )
        self._warn_of_unknown([alias])
        point = self._waiting.begin(alias, self._poll, alias, timeout, since).point()
        return None if point is None else point.value

    def start_poll(
        self, alias: str, timeout: float = 30, since: str | float | datetime | None = None
    ) -> HeldPoll:
        """Start a long poll, and return it once the platform holds it open or has answered it.

        alias: name of the resource; one that the product does not have never gets a value, of which this warns.
        timeout: seconds of lab time, at most 300. since: Unix seconds, a datetime, or `modified` of the last point. A
        client that passes on `modified` each time misses a value only if its answer is lost five times, if another
        client of the device got the value and this one polls over a new connection, or if the client closes its
        connection in order just as the answer is sent (labkit.devices.polls). Raises DeviceError for arguments that the
        platform refuses with 400.
        """
        duration(timeout, "timeout")
        self._warn_of_unknown([alias])
        return self._waiting.begin_and_wait(alias, self._poll, alias, timeout, since)

    async def _poll(self, alias: str, timeout: float, since: str | float | datetime | None) -> Point | None:
        if isinstance(since, float | datetime):
            since = int(seconds_of(since, "since"))
        return await self._virtual.poll(alias, timeout, since)

    def held(self, alias: str, count: int = 1, within: float = 5.0) -> PollWait:
        """Return a wait that ends once the platform holds `count` polls of this alias open, from any client.

        within: seconds of real time after which its `result()` raises LabError.
        """
        return PollWait(self._waiting, alias, count, duration(within, "within"))

    def record(self, points: Mapping[str, Mapping[float | datetime, object]]) -> None:
        """Store values with timestamps. points: `{alias: {Unix seconds or datetime: value}}`."""
        texts = timed_values(points)
        self._warn_of_unknown(texts)
        self._ask(self._virtual.record, texts)

    def content(self) -> list[str]:
        """Return the ids of the content items that the product offers."""
        return self._ask(self._virtual.content)

    def content_info(self, id: str) -> str:
        """Return the description of the content item `id`: `content type,bytes,updated,description`."""
        return self._ask(self._virtual.content_info, id)

    def download(self, id: str, range: str | None = None) -> bytes:
        """Return the content item `id`, or a part of it. range: the bytes to get, such as `bytes=0-99`."""
        return self._ask(self._virtual.download, id, range)

    def timestamp(self) -> int:
        """Return the platform's time in Unix seconds."""
        return self._ask(self._virtual.timestamp)

    def request(self, method: str, path: str, *, credentials: bool = True, **options: Any) -> httpx.Response:
        """Send any HTTP request to the product and return the unchanged response.

        method: GET, POST and so on. path: with its query. credentials: whether to authenticate. options: further
        arguments of httpx's `request`. Raises LabError for a long poll on a virtual clock, where nothing would end the
        wait.
        """
        import httpx

        may_wait = "Request-Timeout" in httpx.Headers(options.get("headers"))
        asking = self._waiting.answer if may_wait else self._ask
        return asking(self._virtual.request, method, rooted(path), credentials=credentials, **options)

    def curl(self, path: str = "/timestamp") -> str:
        """Return a curl command that sends a GET of `path` as this device, without its secret."""
        address = self._virtual.address
        show = {"token": "-H 'X-Platform-CIK: …' ", "password": f"-u '{self.identity}:…' "}.get(
            self._virtual.auth, "--cert … --key … "
        )
        return f"curl --cacert ca.pem {show}'{address.url(self._virtual.domain, rooted(path))}'"

    def _warn_of_unknown(self, aliases: Iterable[str]) -> None:
        """Warn of aliases without a resource, which the platform ignores. An alias that has one is asked for once."""
        fresh = [each for each in aliases if each not in self._known]
        if not fresh:
            return
        resources = self._runtime.run(self._runtime.control.products.get, self._product).settings.resources
        self._known |= resources.keys()
        for each in fresh:
            if each not in resources:
                self._runtime.warn(unknown_resource(each, self._product, resources))

    def _ask(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        return ask(self._runtime, f"{self._product}/{self.identity}", function, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<device {self._product}/{self.identity}>"

    def _repr_html_(self) -> str:
        held = getattr(self.credentials, self._virtual.auth) is not None
        state = "holds one" if held else "has none yet: activate()"
        return card(f"device {self.identity}", {"product": self._product, self._virtual.auth: state})
