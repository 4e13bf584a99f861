"""A client of the device API, for checks: write, read, record and poll as a device, with each answer as it came."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlencode

from labkit.conformance import expect
from labkit.conformance.connection_pool import Exchange
from labkit.conformance.target import Target
from labkit.conformance.verdict import Mismatch, NotReached
from labkit.fleet.device import FORM, VirtualDevice

if TYPE_CHECKING:
    import httpx

ALIAS = "/onep:v1/stack/alias"
RECORD = "/onep:v1/stack/record"
SHORT_SLEEP = 0.2  # seconds, while a wall clock is waited for
GRACE = 3.0  # seconds of real time in which an answer that is due has to come
AT_ONCE = 0.05  # seconds of real time in which an answer that is not due would have come
LONG = 300_000  # milliseconds: the longest that a poll may wait

UNIX_SECONDS = re.compile(r"[1-9][0-9]{9}")  # from 2001 to 2286
DATE_TOLERANCE = 60.0  # seconds between /timestamp and the Date of its answer, which may be of another clock

Pairs = Mapping[str, object] | Iterable[tuple[str, object]]


async def write(device: VirtualDevice, pairs: Pairs | str, *read: str) -> httpx.Response:
    """POST the pairs, or a body as it is; with aliases to read it is a hybrid request."""
    return await _post(device, _path(read), pairs)


async def record(device: VirtualDevice, pairs: Pairs | str) -> httpx.Response:
    """POST to /record: pairs, or a body as it is."""
    return await _post(device, RECORD, pairs)


async def read(device: VirtualDevice, *aliases: str) -> httpx.Response:
    """GET aliases."""
    return await device.request("GET", _path(aliases), headers={"Accept": FORM})


async def stored(device: VirtualDevice, *aliases: str) -> dict[str, str]:
    """The newest values of those aliases that have one."""
    return values(expect.status(await read(device, *aliases), 200, 204))


async def value(device: VirtualDevice, alias: str) -> str | None:
    """The newest value of an alias; None if there is none."""
    return (await stored(device, alias)).get(alias)


def values(response: httpx.Response) -> dict[str, str]:
    """The pairs of a form body."""
    return dict(parse_qsl(response.text, keep_blank_values=True))


async def now(device: VirtualDevice) -> int:
    """Return the server's clock in Unix seconds. Raises NotReached where the server does not tell it."""
    return seconds_of(await device.request("GET", "/timestamp", credentials=False))


def seconds_of(response: httpx.Response | Exchange) -> int:
    """Return the Unix seconds in an answer to GET /timestamp.

    Raises NotReached for what cannot be the server's time: what is computed from it would only be wrong elsewhere.
    """
    text, date = response.text, response.headers.get("date")
    try:
        known = None if date is None else parsedate_to_datetime(date).timestamp()
    except ValueError:  # no date: another check's matter
        known = None
    if response.status_code == 200 and UNIX_SECONDS.fullmatch(text):
        seconds = int(text)
        if known is None or abs(seconds - known) <= DATE_TOLERANCE:
            return seconds
    shown = response.shown() if isinstance(response, Exchange) else expect.exchange(response)
    wanted = "the time in Unix seconds" + (f", Date being {date!r}" if date else "")
    actual = f"{response.status_code} {text[:100]!r}"
    raise NotReached("DEV-TIME-1", Mismatch("the server's time, GET /timestamp", wanted, actual, shown))


async def datapoint(
    target: Target, device: VirtualDevice, alias: str, since: int = 0
) -> tuple[int, str | None]:
    """Timestamp and value of the first datapoint after `since`, which a poll from there tells at once."""
    poll = await begin(target, device, alias, since=since)
    response = expect.status(await poll.answer(), 200)
    stamp = response.headers.get("Last-Modified", "")
    expect.true("Last-Modified has Unix seconds", stamp.isdecimal(), stamp, response)
    return int(stamp), values(response).get(alias)


class Poll:
    """A long poll under way."""

    def __init__(self, target: Target, task: asyncio.Task[httpx.Response], timeout: int) -> None:
        self._target = target
        self._task = task
        self._timeout = timeout

    async def answer(self) -> httpx.Response:
        """The answer, which is due. Raises Mismatch where it does not come."""
        done, _ = await asyncio.wait({self._task}, timeout=GRACE)
        if not done:
            raise Mismatch("the poll", "an answer", f"none within {GRACE:g} seconds")
        return self._task.result()

    async def waits(self) -> None:
        """It is not answered yet. Raises Mismatch where an answer came."""
        done, _ = await asyncio.wait({self._task}, timeout=AT_ONCE)
        if done:
            response = self._task.result()
            raise Mismatch("the poll", "that it waits", response.status_code, expect.exchange(response))

    async def run_out(self) -> httpx.Response:
        """The answer once its Request-Timeout is over."""
        await self.lapse(self._timeout / 1000)
        return await self.answer()

    async def lapse(self, seconds: float) -> None:
        """Let lab time go by; where no clock can be moved on, it does so by itself."""
        if "clock" in self._target.offers:
            await self._target.advance(seconds)

    async def leave(self) -> None:
        """Break it off, as a client that goes away: its connection is closed."""
        self._task.cancel()
        await asyncio.wait({self._task})


async def begin(
    target: Target,
    device: VirtualDevice,
    alias: str,
    *,
    timeout: int = LONG,
    since: int | str | None = None,
) -> Poll:
    """Begin a long poll; returns once it is sent, and where the target can tell, once it is held or answered.

    timeout: milliseconds; since: what If-Modified-Since says.
    """
    sent = asyncio.Event()

    headers = {"Accept": FORM, "Request-Timeout": str(timeout)}
    if since is not None:
        headers["If-Modified-Since"] = str(since)
    task = target.start(
        device.request("GET", _path([alias]), headers=headers, extensions={"sent": sent.set}, patience=None)
    )
    await _first(task, target.start(sent.wait()))
    if "polls" in target.offers:
        await _first(task, target.start(target.held(device, alias)))
    return Poll(target, task, timeout)


async def until(target: Target, device: VirtualDevice, second: int) -> None:
    """Return once the target's clock has reached a second: it is moved on, or waited for."""
    while (left := second - await now(device)) > 0:
        if "clock" in target.offers:
            await target.advance(left)
        else:
            await asyncio.sleep(min(left, SHORT_SLEEP))


async def _first(task: asyncio.Task[Any], other: asyncio.Task[Any]) -> None:
    await asyncio.wait({task, other}, return_when=asyncio.FIRST_COMPLETED)
    other.cancel()


async def _post(device: VirtualDevice, path: str, pairs: Pairs | str) -> httpx.Response:
    if not isinstance(pairs, str):
        pairs = urlencode(list(pairs.items() if isinstance(pairs, Mapping) else pairs))
    return await device.request("POST", path, content=pairs, headers={"Content-Type": FORM})


def _path(aliases: Iterable[str]) -> str:
    query = "&".join(quote(alias, safe="") for alias in aliases)
    return f"{ALIAS}?{query}" if query else ALIAS
