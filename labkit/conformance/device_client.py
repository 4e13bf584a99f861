"""Device API client for checks: write, read, record and poll as a device, each answer returned unchanged."""

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
SHORT_SLEEP = 0.2  # seconds between two looks at a wall clock
GRACE = 3.0  # seconds of real time in which an answer that is due has to arrive
AT_ONCE = 0.05  # seconds of real time in which an answer that is not due would have arrived
LONG = 300_000  # milliseconds: the longest that a poll may wait

UNIX_SECONDS = re.compile(r"[1-9][0-9]{9}")  # from 2001 to 2286
DATE_TOLERANCE = 60.0  # seconds between /timestamp and the Date of its answer, which may be of another clock

Pairs = Mapping[str, object] | Iterable[tuple[str, object]]


async def write(device: VirtualDevice, pairs: Pairs | str, *read: str) -> httpx.Response:
    """POST pairs, or a raw body, to the alias endpoint; with aliases to read it is a hybrid request."""
    return await _post(device, _path(read), pairs)


async def record(device: VirtualDevice, pairs: Pairs | str) -> httpx.Response:
    """POST pairs, or a raw body, to /record."""
    return await _post(device, RECORD, pairs)


async def read(device: VirtualDevice, *aliases: str) -> httpx.Response:
    """GET the values of aliases."""
    return await device.request("GET", _path(aliases), headers={"Accept": FORM})


async def stored(device: VirtualDevice, *aliases: str) -> dict[str, str]:
    """Return the newest values of the given aliases, without the aliases that have none."""
    return values(expect.status(await read(device, *aliases), 200, 204))


async def value(device: VirtualDevice, alias: str) -> str | None:
    """Return the newest value of an alias; None if there is none."""
    return (await stored(device, alias)).get(alias)


def values(response: httpx.Response) -> dict[str, str]:
    """Return the pairs of a form body."""
    return dict(parse_qsl(response.text, keep_blank_values=True))


async def now(device: VirtualDevice) -> int:
    """Return the server's clock in Unix seconds. Raises NotReached if GET /timestamp does not return it."""
    return seconds_of(await device.request("GET", "/timestamp", credentials=False))


def seconds_of(response: httpx.Response | Exchange) -> int:
    """Return the Unix seconds in an answer to GET /timestamp.

    Raises NotReached for a value that cannot be the server's time: a check that computes with it would blame another
    requirement.
    """
    text, date = response.text, response.headers.get("date")
    try:
        known = None if date is None else parsedate_to_datetime(date).timestamp()
    except ValueError:  # an invalid Date is tested by another check
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
    """Return timestamp and value of the first datapoint after `since`, read by a poll that is answered at once."""
    poll = await begin(target, device, alias, since=since)
    response = expect.status(await poll.answer(), 200)
    stamp = response.headers.get("Last-Modified", "")
    expect.true("Last-Modified has Unix seconds", stamp.isdecimal(), stamp, response)
    return int(stamp), values(response).get(alias)


class Poll:
    """A pending long poll."""

    def __init__(self, target: Target, task: asyncio.Task[httpx.Response], timeout: int) -> None:
        self._target = target
        self._task = task
        self._timeout = timeout

    async def answer(self) -> httpx.Response:
        """Return the answer, which is due. Raises Mismatch if it does not arrive within GRACE."""
        done, _ = await asyncio.wait({self._task}, timeout=GRACE)
        if not done:
            raise Mismatch("the poll", "an answer", f"none within {GRACE:g} seconds")
        return self._task.result()

    async def expect_pending(self) -> None:
        """Raise Mismatch if the poll has been answered."""
        done, _ = await asyncio.wait({self._task}, timeout=AT_ONCE)
        if done:
            response = self._task.result()
            raise Mismatch("the poll", "that it waits", response.status_code, expect.exchange(response))

    async def expire(self) -> httpx.Response:
        """Return the answer after its Request-Timeout has passed."""
        await self.let_pass(self._timeout / 1000)
        return await self.answer()

    async def let_pass(self, seconds: float) -> None:
        """Let lab time pass: advance the target's clock, if it can be advanced; a wall clock goes on by itself."""
        if "clock" in self._target.offers:
            await self._target.advance(seconds)

    async def disconnect(self) -> None:
        """Cancel the poll, as a client that disconnects: its connection is closed."""
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
    """Send a long poll; where the target can report it, also wait until the poll is pending or answered.

    timeout: milliseconds; since: the value of If-Modified-Since.
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
        await _first(task, target.start(target.wait_for_polls(device, alias)))
    return Poll(target, task, timeout)


async def until(target: Target, device: VirtualDevice, second: int) -> None:
    """Wait until the target's clock has reached a second; a virtual clock is advanced."""
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
