"""Operations on the lab as a whole: settle, drain, restart, reset, and follow what happens in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, overload

from labkit.control.bounds import Content, Count, Id, Line, Script, Seconds, Values, ends_after
from labkit.control.clock import number_of
from labkit.control.data import Base64, Data, Table
from labkit.control.following import Followed, Missed, Once
from labkit.control.journal import Entry, entry
from labkit.control.messaging import Mail
from labkit.control.paging import EXAMINED, Cursor, Limit, ListPage, page, read_cursor
from labkit.core.errors import LabError, UnknownError, unknown
from labkit.core.marks import Mark
from labkit.core.records import Record
from labkit.core.slow import SlowCall
from labkit.devices.polls import Poll
from labkit.faults.delays import Held
from labkit.labtime.story_work import CURRENT
from labkit.platform import Platform
from labkit.settings import OverlapSettings
from labkit.snapshots import content as contents
from labkit.snapshots import states


class DatabaseControl:
    """Queries of the platform's stored data."""

    def __init__(self, platform: Platform) -> None:
        self._database = platform.context.database

    @ends_after(10)
    async def sql(self, query: Script) -> Table:
        """Return the result of a SELECT. Keys and secrets read as NULL.

        Raises LabError for invalid SQL, for a statement that would change data, and for one that takes longer than
        `guard.sql` seconds or returns more than `guard.sql_size` bytes. A query that takes longer than 10 ms continues
        on a copy of the data, and so blocks no device.
        """
        columns, rows, hidden = await self._database.select(query)
        return Table.model_construct(columns=columns, rows=rows, hidden=hidden)


class PollInfo(Data):
    """An open long poll. since: Unix time after which a value answers; until: lab time of its end without one."""

    product: str
    identity: str
    alias: str
    since: int
    until: float | None


class PollPage(ListPage[PollInfo]):
    """Page of polls."""


class PollsControl:
    """Lists and counts of the open long polls of a lab, and waits for them."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def all(
        self,
        product: Id | None = None,
        identity: Id | None = None,
        limit: Limit = 100,
        cursor: Cursor | None = None,
    ) -> PollPage:
        """Return the open polls, oldest first. product, identity: only those of this product, of this device."""
        [after] = read_cursor(PollPage, cursor, 0)

        def made(poll: Poll) -> PollInfo | None:
            of, name, alias = poll.key
            if product not in (None, of) or identity not in (None, name):
                return None
            return PollInfo(product=of, identity=name, alias=alias, since=poll.since, until=poll.until)

        most = limit if product is identity is None else EXAMINED
        found = self._platform.devices.polls.after(after, most + 1)
        return await page(PollPage, found, limit, lambda each: (each.number,), made)

    async def count(self, product: Id, identity: Id, alias: Id) -> int:
        """Return the number of open polls of one alias of a device."""
        return self._platform.devices.polls.count(product, identity, alias)

    async def count_of_device(self, product: Id, identity: Id) -> int:
        """Return the number of open polls of a device, for all aliases."""
        aliases = self._platform.devices.products.get(product).settings.resources
        return sum(self._platform.devices.polls.count(product, identity, each) for each in aliases)

    async def newest(self) -> int:
        """Return the number of the newest long poll of the lab; 0 before the first one."""
        return self._platform.devices.polls.number

    async def wait_for_newer(self, product: Id, identity: Id, number: Count, alias: Id | None = None) -> None:
        """Return once a poll waits that began after the one with this number.

        alias: which it reads, any one unless given. Other than with counts it does not matter if polls end meanwhile.
        """
        polls = self._platform.devices.polls
        resources = self._platform.devices.products.get(product).settings.resources
        aliases = resources if alias is None else (alias,)
        while not any(polls.is_newer(product, identity, each, number) for each in aliases):
            await polls.wait_for_next()

    async def wait_for_more_of_device(self, product: Id, identity: Id, count: Count) -> None:
        """Return once a device has more than `count` open polls, for all aliases."""
        while await self.count_of_device(product, identity) <= count:
            await self._platform.devices.polls.wait_for_next()

    async def wait_for_count(self, product: Id, identity: Id, alias: Id, count: Count = 1) -> None:
        """Return once one alias of a device has at least `count` open polls."""
        await self._platform.devices.polls.wait_for_count(product, identity, alias, count)


Happening = Record | Mail | Mark | None  # None: a reset
MOST_SNAPSHOT = contents.MOST  # bytes
snapshot_seed = contents.seed_of
MOST_KEPT = 100  # snapshots with a name
WORD = re.compile(r"[A-Za-z0-9_-]{1,64}")
SHOWN = 5  # delayed operations that an error names


class Drained(Data):
    """Result of a drain: the work that it has waited for.

    seconds: of lab time by which the clock was moved; waited_for: number of operations and events that faults had
    delayed, by description: `acme, delayed by 'slow'`.
    """

    seconds: float
    waited_for: dict[str, int]


class SnapshotContent(Data):
    """A snapshot of a lab. content: as its file has it."""

    content: Base64


class SnapshotInfo(Data):
    """A snapshot that the lab keeps in memory. time: lab time in seconds; size: bytes."""

    name: str
    time: float
    size: int


class LabEvent(Data):
    """Event of a lab: a complete record of the journal, a mail, a mark of the lab itself, or a reset."""

    record: Entry | None = None
    mail: Mail | None = None
    mark: Mark | None = None
    reset: bool = False

    @classmethod
    def of(cls, happening: Happening) -> LabEvent:
        """Return the event of something that happened."""
        if isinstance(happening, Record):
            return cls(record=entry(happening))
        if isinstance(happening, Mark):
            return cls(mark=happening)
        return cls(reset=True) if happening is None else cls(mail=happening)


class LabControl:
    """Operations on the lab as a whole."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._event = Once(LabEvent.of)
        self._kept: dict[str, tuple[SnapshotInfo, bytes]] = {}  # by name

    async def seed(self) -> int | None:
        """Return the seed that the lab was started with, None if it has none."""
        return self._platform.context.identifiers.seed

    async def slow(self) -> list[SlowCall]:
        """Return the newest 1000 calls that held the lab's event loop for more than 50 ms of real time."""
        return list(self._platform.context.slow.calls)

    async def settle(self) -> None:
        """Return once every request and call is answered or waits as a long poll, and every event is handled."""
        await self._platform.settle()

    async def drain(self, within: Seconds = 3600.0) -> Drained:
        """Advance a virtual clock until no fault delays an operation or an event, and return what it waited for.

        After a restart, it waits until the platform listens again. `settle` waits for none of these. within: most
        seconds of lab time to advance. Raises LabError with what faults still delay after these, on a running clock,
        and while the run of a fleet drives the clock. In a story, waits while its fleets go on.
        """
        if number_of(within, "within") < 0:
            raise LabError(f"within: expected seconds, 0 or more, not {within!r}")
        clock = self._platform.context.clock
        began = clock.now()
        await self._go_on_to(began)  # settles, or refuses a clock that it cannot move
        end = clock.after(within)
        seen: dict[Held, None] = {}
        while held := self._held():
            seen.update(dict.fromkeys(held))
            due = min(each.due for each in held)
            if due > end:
                await self._go_on_to(end)
                raise LabError(_still_held(within, self._held(), end))
            await self._go_on_to(max(due, clock.now()))
        return Drained(seconds=clock.now() - began, waited_for=dict(Counter(each.text for each in seen)))

    def _held(self) -> list[Held]:
        """Return what only lab time ends: delays of faults, late events, and the time without power after a restart."""
        held, down_until = self._platform.context.faults.held(), self._platform.edge.down_until
        return held if down_until is None else [Held("the platform without power", down_until), *held]

    async def _go_on_to(self, when: float) -> None:
        """Advance the clock to a time; in a story, wait until then, since its scheduler moves the clock."""
        work = CURRENT.get()
        if work is None:
            await self._platform.context.clock.advance_to(when)
        else:
            await work.wait_until(when)

    async def overlap(self, overlap: OverlapSettings) -> None:
        """Set what overlaps from now on: service calls that take lab time, devices in step, the order of handlers.

        Calls that are under way go on as they began, and so do the runs of fleets that have begun.
        """
        self._platform.context.faults.overlap(overlap)

    async def restart(self, down: Seconds = 0.0) -> None:
        """Simulate a power loss and restart the platform: see `Platform.restart`.

        down: seconds of lab time for which the platform refuses connections. With 0, returns once the platform listens
        again; otherwise once it refuses connections. Raises LabError for a negative or invalid `down`, and while the
        run of a fleet drives the clock.
        """
        if number_of(down, "down") < 0:
            raise LabError(f"down: expected seconds, 0 or more, not {down!r}")
        if self._platform.story is None or CURRENT.get() is None:
            self._platform.context.clock.expect_undriven()
        await self._platform.restart(float(down))

    async def downtime(self) -> float:
        """Return the seconds of lab time for which the platform still refuses connections after a restart, else 0."""
        await self._platform.power.wait_for_restart()  # before it is over, nobody knows how long it is down
        until = self._platform.edge.down_until
        return 0.0 if until is None else max(0.0, until - self._platform.context.clock.now())

    async def reset(self) -> None:
        """Delete devices, datapoints, content, Keystore, users, mails, handsets, provider inboxes and the journal.

        Products, solutions and providers stay: providers with the people and applications of their settings, solutions
        with the subscriptions of their settings.
        """
        await self._platform.reset()

    async def expect_still(self, act: Line) -> None:
        """Return once nothing is under way that a snapshot cannot contain.

        act: what needs this, for the error: `snapshot`. Raises LabError for work that waits, such as a poll.
        """
        await self._platform.expect_still(act)

    @overload
    async def snapshot(
        self, handles: Values | None = None, journal: bool = True, name: None = None
    ) -> SnapshotContent: ...

    @overload
    async def snapshot(
        self, handles: Values | None = None, journal: bool = True, *, name: str
    ) -> SnapshotInfo: ...

    @ends_after(600)
    async def snapshot(
        self, handles: Values | None = None, journal: bool = True, name: Id | None = None
    ) -> SnapshotContent | SnapshotInfo:
        """Return the whole state of the lab, or keep it under a name until the lab ends, also over a reset.

        handles: plain data to keep with it; journal: whether to keep its records; name: a word, whose earlier snapshot
        is replaced; the lab then returns what it keeps, without the content. Raises LabError while a fleet, a story or
        a poll is under way, for handlers and services in Python, and where the lab keeps too much already.
        """
        if name is not None and WORD.fullmatch(name) is None:
            raise LabError(f"name: expected at most 64 letters, digits, - and _, not {name!r:.80}")
        content = await states.take(self._platform, handles or {}, journal=journal)
        if name is None:
            return SnapshotContent(content=content)
        others = [info.size for info, _ in self._kept.values() if info.name != name]
        if len(others) >= MOST_KEPT or sum(others) + len(content) > MOST_SNAPSHOT:
            raise LabError(
                f"the lab keeps at most {MOST_KEPT} snapshots, of {MOST_SNAPSHOT // 2**30} GiB in all: remove one"
            )
        info = SnapshotInfo(name=name, time=self._platform.context.clock.now(), size=len(content))
        self._kept[name] = info, content
        return info

    async def snapshots(self) -> list[SnapshotInfo]:
        """Return the snapshots that the lab keeps, by name."""
        return [self._kept[name][0] for name in sorted(self._kept)]

    async def remove_snapshot(self, name: Id) -> None:
        """Remove a snapshot that the lab keeps. Raises UnknownError for an unknown name."""
        self._kept_content(name)
        del self._kept[name]

    @ends_after(600)
    async def restore(
        self, content: Content | None = None, trusted: bool = False, name: Id | None = None
    ) -> dict[str, Any]:
        """Replace the state of the lab by that of a snapshot, and return the `handles` that were kept with it.

        content: of the snapshot, or name: of one that the lab keeps; trusted: whether folders of solutions that the
        content names may be read; otherwise they are this lab's own. Raises UnknownError for an unknown name, LabError,
        and changes nothing, for a snapshot that is damaged, of another version or of another kind of lab.
        """
        if (content is None) == (name is None):
            raise LabError("restore: expected either the content of a snapshot, or a name")
        if name is not None:
            content, trusted = self._kept_content(name), True
        assert content is not None
        return await states.restore(self._platform, content, trusted=trusted)

    def _kept_content(self, name: str) -> bytes:
        if name not in self._kept:
            raise UnknownError(unknown("snapshot", name, sorted(self._kept)))
        return self._kept[name][1]

    async def follow(self, records: bool = True) -> AsyncIterator[LabEvent | Missed]:
        """Return each record, mail, mark and reset from now on. records: whether to return those of the journal.

        A reader that is too slow gets the number of events that it missed.
        """
        journal, mailbox = self._platform.context.journal, self._platform.mailbox

        def subscribe(add: Callable[[Happening], object]) -> Callable[[], None]:
            ends = [mailbox.watch(add), journal.marks.watch(add), journal.watch_clear(lambda: add(None))]
            if records:
                ends.append(journal.watch(add, ended=True))

            def stop() -> None:
                for end in ends:
                    end()

            return stop

        return Followed(subscribe, self._event)


def _still_held(within: float, held: Sequence[Held], now: float) -> str:
    """Return the text of an error about what faults delay longer than a drain may last."""
    first = sorted(held, key=lambda each: each.due)[:SHOWN]
    shown = [f"{each.text}, for {each.due - now:g} s more" for each in first]
    further = [f"and {len(held) - SHOWN} more"] if len(held) > SHOWN else []
    return f"within: faults still delay after {within:g} s of lab time: {'; '.join([*shown, *further])}"
