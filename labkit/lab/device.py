"""The handle of a virtual device."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from labkit.core.errors import LabError
from labkit.devices.polls import Key, Polls
from labkit.fleet.device import Credentials, Point, VirtualDevice
from labkit.lab.portal import Portal, Task
from labkit.lab.show import card

if TYPE_CHECKING:
    import httpx

    from labkit.platform import Platform


class HeldPoll:
    """A long poll under way."""

    def __init__(self, task: Task[Point | None]) -> None:
        self._task = task

    @property
    def done(self) -> bool:
        """Has the platform answered?"""
        return self._task.done

    def result(self) -> str | None:
        """Wait for the answer: the value that came, or None when none came in time (304)."""
        point = self.point()
        return None if point is None else point.value

    def point(self) -> Point | None:
        """As `result`, with the alias and Last-Modified."""
        return self._task.result()

    def __repr__(self) -> str:
        return "<poll: answered>" if self.done else "<poll: waits>"


class Device:
    """A virtual device of a product; it reaches the platform by HTTPS only."""

    def __init__(self, portal: Portal, platform: Platform, product: str, virtual: VirtualDevice) -> None:
        self._portal = portal
        self._platform = platform
        self._product = product
        self._virtual = virtual

    @property
    def identity(self) -> str:
        return self._virtual.identity

    @property
    def credentials(self) -> Credentials:
        """What the device holds: its token, password or certificate."""
        return self._virtual.credentials

    def activate(self) -> Self:
        """Provision, or replace the credentials that the device has."""
        self._portal.run(self._virtual.activate)
        return self

    def use(self, credentials: Credentials) -> Self:
        """Show these credentials from now on: `device.use(old)`, `device.use(Credentials(token="…"))`."""
        self._portal.run(self._virtual.use, credentials)
        return self

    def write(self, values: Mapping[str, object] | None = None, **more: object) -> None:
        """Store the value of each alias: `write(temperature=21.5)`."""
        self._portal.run(self._virtual.write, {**(values or {}), **more})

    def read(self, *aliases: str) -> dict[str, str]:
        """The newest value of each alias that has one."""
        return self._portal.run(self._virtual.read, aliases)

    def write_and_read(self, values: Mapping[str, object], *aliases: str) -> dict[str, str]:
        """Hybrid: store, then read."""
        return self._portal.run(self._virtual.write_and_read, values, aliases)

    def poll(self, alias: str, timeout: float = 30, since: str | int | None = None) -> str | None:
        """Wait up to `timeout` seconds of lab time for the next value.

        Raises LabError on a virtual clock, where nothing would ever end the wait.
        """
        if self._platform.clock.rate == 0 and timeout > 0:
            raise LabError(
                "the clock stands still, so this poll would never end; use start_poll(), then "
                "lab.clock.advance() or a write, then result()"
            )
        return HeldPoll(self._portal.begin(self._virtual.poll, alias, timeout, since)).result()

    def start_poll(self, alias: str, timeout: float = 30, since: str | int | None = None) -> HeldPoll:
        """Begin a long poll; returns once the lab holds it, or has answered it."""
        polls, key = self._platform.polls, (self._product, self.identity, alias)
        count = self._portal.call(polls.count, *key)
        poll = self._portal.begin(self._virtual.poll, alias, timeout, since)
        self._portal.run(_held_or_done, polls, key, count + 1, poll)
        return HeldPoll(poll)

    def held(self, alias: str, count: int = 1) -> Task[None]:
        """Ends once the lab holds `count` polls of this alias, whichever client they come from."""
        return self._portal.begin(self._platform.polls.held, self._product, self.identity, alias, count)

    def record(self, points: Mapping[str, Mapping[float, object]]) -> None:
        """Store values at timestamps: {alias: {Unix seconds: value}}."""
        self._portal.run(self._virtual.record, points)

    def content(self) -> list[str]:
        """The ids of the content that the product offers."""
        return self._portal.run(self._virtual.content)

    def content_info(self, id: str) -> str:
        """`content type,bytes,updated,description` of a content item."""
        return self._portal.run(self._virtual.content_info, id)

    def download(self, id: str, range: str | None = None) -> bytes:
        """A content item, or the part that `range` names: `bytes=0-99`."""
        return self._portal.run(self._virtual.download, id, range)

    def timestamp(self) -> int:
        """The server's clock in Unix seconds."""
        return self._portal.run(self._virtual.timestamp)

    def request(self, method: str, path: str, *, credentials: bool = True, **options: Any) -> httpx.Response:
        """Send any request to the product and get the answer as it came; `options` as httpx takes them."""
        return self._portal.run(self._virtual.request, method, path, credentials=credentials, **options)

    def curl(self, path: str = "/timestamp") -> str:
        """A curl line that does a GET as this device, without its secret."""
        address = self._virtual.address
        show = {"token": "-H 'X-Platform-CIK: …' ", "password": f"-u '{self.identity}:…' "}.get(
            self._virtual.auth, "--cert … --key … "
        )
        return f"curl --cacert ca.pem {show}'{address.url(self._virtual.domain, path)}'"

    def __repr__(self) -> str:
        return f"<device {self._product}/{self.identity}>"

    def _repr_html_(self) -> str:
        held = getattr(self.credentials, self._virtual.auth) is not None
        state = "holds one" if held else "has none yet: activate()"
        return card(f"device {self.identity}", {"product": self._product, self._virtual.auth: state})


async def _held_or_done(polls: Polls, key: Key, count: int, poll: Task[Point | None]) -> None:
    held = asyncio.ensure_future(polls.held(*key, count))
    answered = asyncio.ensure_future(asyncio.wait([asyncio.wrap_future(poll.future)]))
    await asyncio.wait({held, answered}, return_when=asyncio.FIRST_COMPLETED)
    answered.cancel()
    held.cancel()
