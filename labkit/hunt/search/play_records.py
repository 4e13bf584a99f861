"""Records of one play with their order, and with what led to each: its cause, and the last writer of what it read."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Any

from labkit.core.canonical import CanonicalRecord
from labkit.core.record_lines import FAILED, one_line, record_line
from labkit.core.record_values import record_values
from labkit.services.keystore.commands import COMMANDS

SECOND = 1_000_000  # microseconds
LONGEST = 240  # characters of a line
FAULTS = ("fault", "release", "restart")  # kinds of records that faults leave
OVERWRITES = ("set", "setex", "psetex", "del", "delete", "mset", "mdelete")  # what was there has no effect
CHANGES = ("set", "delete", "mset", "mdelete")  # operations of the Keystore
WRITES = (
    "set",
    "write",
    "update",
    "create",
    "delete",
    "add",
    "remove",
)  # beginnings of other operations' names
OF_DEVICE = frozenset(("identity", "device_sn", "pid"))

AHEAD = 20  # writes after a read among which one of a run under way is looked for
READS, UNAWARE = "reads what is written by", "does not know of"  # how a record depends on another one

Datum = tuple[str, str, str]  # kind, owner, and name, which is empty for all of the owner
Order = tuple[int, int, int]


def data_of(record: CanonicalRecord) -> tuple[set[Datum], set[Datum]]:
    """Return what a record has read, and what it has written: keys, resources of devices, data of people."""
    detail: Mapping[str, Any] = record.detail or {}
    if record.kind == "event" and record.summary == "datapoint":
        return set(), {("resource", str(detail.get("device_sn")), str(detail.get("alias")))}
    if is_read_of_device(record):
        return {("resource", record.actor.partition("/")[2], "")}, set()
    given = detail.get("parameters")
    if record.kind != "call" or not isinstance(given, Mapping):
        return set(), set()
    service, _, name = record.summary.partition(".")
    names = {str(given["key"])} if "key" in given else set(map(str, _listed(given.get("keys"))))
    if service == "Keystore":
        command = str(given.get("command", name)).lower()
        keys = {("key", record.actor, each) for each in names | set(map(str, _pairs(given.get("values"))))}
        if name not in CHANGES and not (command in COMMANDS and COMMANDS[command].changes):
            return keys, set()
        return (set() if command in OVERWRITES else keys), keys
    if service in ("Device", "Device2"):
        owner, kind = given.get("identity", given.get("device_sn")), "resource"
        names = set(given) - OF_DEVICE
    else:
        owner, kind = (
            (f"{record.actor} {given['id']}" if service == "User" and "id" in given else None),
            "user",
        )
        names = names or set(given) - {"id"}
    if owner is None:
        return set(), set()
    found = {(kind, str(owner), each) for each in names or {""}}
    return (set(), found) if name.startswith(WRITES) else (found, set())


def is_read_of_device(record: CanonicalRecord) -> bool:
    """Return whether a record is a request by which a device has read values."""
    is_get = record.kind == "request" and "/" in record.actor and record.summary.startswith("GET ")
    return is_get and bool(record.size) and record.status == 200


class PlayRecords:
    """Records of a play.

    journal: its canonical text; began: lab time of the story's beginning in seconds since 1970, None for the first
    record. A request and a run of a handler are recorded when they begin: in the order here they stand at their ends.
    """

    def __init__(self, journal: str, began: float | None) -> None:
        self.all = [CanonicalRecord.parse(line) for line in journal.splitlines()]
        self.places = {each.name: place for place, each in enumerate(self.all)}
        self.effects: defaultdict[int, list[int]] = defaultdict(list)
        self._began = self.all[0].time if began is None and self.all else round((began or 0) * SECOND)
        for place, each in enumerate(self.all):
            if each.cause in self.places:
                self.effects[self.places[each.cause]].append(place)
        self._next: dict[int, int] = {}  # time of the actor's next request, by place
        last: dict[str, int] = {}
        for place, each in enumerate(self.all):
            if each.kind == "request":
                if each.actor in last:
                    self._next[last[each.actor]] = each.time
                last[each.actor] = place
        self._depths = {-1: 0}  # numbers of records in chains of causes
        for place in range(len(self.all)):
            for above in [*takewhile(lambda each: each not in self._depths, self.chain(place))][::-1]:
                self._depths[above] = self._depths[self.places.get(self.all[above].cause, -1)] + 1
        self.order: list[Order] = [(*self._end(place), place) for place in range(len(self.all))]
        self.data = [self._data(place) for place in range(len(self.all))]
        self._writers: defaultdict[tuple[str, str], list[Order]] = defaultdict(list)
        for order in sorted(self.order):
            for owner in {datum[:2] for datum in self.data[order[-1]][1]}:
                self._writers[owner].append(order)

    def _end(self, place: int) -> tuple[int, int]:
        """Return the lab time in microseconds at which a record's work was over, as far as known, and a rank in it."""
        record = self.all[place]
        inner = [self._end(each) for each in self.effects[place] if self.all[each].kind in ("script", "call")]
        if record.kind in ("request", "script") and inner:
            time, depth = max(inner)
            return max(record.time, time), depth + 1
        time = self._next.get(place, record.time) if is_read_of_device(record) else record.time
        return time, self._depths[place]

    def chain(self, place: int) -> Iterator[int]:
        """Iterate over a record and all that led to it."""
        found: int | None = place
        while found is not None:
            yield found
            found = self.places.get(self.all[found].cause)

    def tree(self, place: int) -> Iterator[int]:
        """Iterate over a record and all that followed from it."""
        waiting = [place]
        while waiting:
            yield (each := waiting.pop())
            waiting += self.effects[each]

    def moment(self, place: int) -> Order:
        """Return where a record is shown: at its beginning, and what a device reads at its end."""
        record = self.all[place]
        time = self.order[place][0] if is_read_of_device(record) else record.time
        return time, self._depths[place], place

    def seconds(self, place: int) -> float:
        """Return the seconds of lab time from the beginning of the story to the moment of a record."""
        return self.since_beginning(self.moment(place)[0])

    def since_beginning(self, time: int) -> float:
        """Return the seconds from the beginning of the story to a lab time in microseconds."""
        return (time - self._began) / SECOND

    def text(self, place: int) -> str:
        """Return a record with its values as a line."""
        record, values = self.all[place], record_values(self.all[place], LONGEST)
        if self.data[place][1]:  # that a write has worked, its status says
            values = values.removesuffix(", answer {}")
        kind = "request " if record.kind == "request" else ""
        return f"{kind}{one_line(record_line(record), LONGEST)}{': ' if values else ''}{values}"

    def timed(self, place: int) -> str:
        """Return a record with its moment as a line."""
        return f"{seconds_text(self.seconds(place))} s  {self.text(place)}"

    def hits(self, place: int) -> list[int]:
        """Return what faults hit the work of a record."""
        return [each for each in self.effects[place] if self.all[each].kind == "fault"]

    def target(self, hit: int) -> int | None:
        """Return what a fault hit: a request or an event, of a script the call."""
        place = self.places.get(self.all[hit].cause)
        if place is None or self.all[place].kind != "script":
            return place
        where = str((self.all[hit].detail or {}).get("where"))
        calls = [each for each in self.effects[place] if self.all[each].kind == "call" and each > hit]
        return next((each for each in calls if fnmatchcase(self.all[each].summary, where)), place)

    def writers(self, datum: Datum, first: Order, last: Order) -> list[int]:
        """Return what has written a datum between two moments, oldest first."""
        found = self._writers[datum[:2]]
        between = found[bisect_left(found, first) : bisect_left(found, last)]
        return [each[-1] for each in between if _meets(datum, self.data[each[-1]][1])]

    def before(self, place: int) -> Iterator[tuple[int, str]]:
        """Yield what a record depends on, with how: its hits, its cause, and the last writers of what it has read."""
        record, order = self.all[place], self.order[place]
        yield from ((each, "hit by") for each in self.hits(place))
        if record.kind in ("request", "script") and record.status is None:
            cuts = [each for each, found in enumerate(self.all) if found.kind == "restart"]
            yield from ((each, "ended by") for each in cuts if self.all[each].time >= record.time)
        cause = self.places.get(record.cause)
        if cause is not None:
            yield cause, "caused by"
        for datum in sorted(self.data[place][0]):
            yield from ((each, READS) for each in self._read(datum, place))
        if record.kind == "request" and "/" in record.actor and not is_read_of_device(record):
            seen = [self.order[each] for each in range(place) if self._was_read(each, record)]
            yield from ((max(seen)[-1], "after the device has read"),) if seen else ()
        if record.kind == "call" and cause is not None:
            for each in self.effects[cause]:
                if self.data[each][0] and self.order[each] < order:
                    yield each, "after"
            yield from ((each, UNAWARE) for each in self._missed(place))

    def races(self) -> list[tuple[int, int]]:
        """Return reads of what another run, under way at that moment, wrote only later, each with the write."""
        found = []
        for place, (read, _) in enumerate(self.data):
            run = self.places.get(self.all[place].cause)
            for datum in read if run is not None else ():
                later = self._writers[datum[:2]]
                first = bisect_left(later, self.order[place])
                for *_, each in later[first : first + AHEAD]:
                    other = self.places.get(self.all[each].cause)
                    if other in (None, run) or self.all[other or 0].time > self.order[place][0]:
                        continue
                    if self.order[each][0] > self.order[place][0] and _meets(datum, self.data[each][1]):
                        found.append((place, each))
        return sorted(found, key=lambda pair: (self.order[pair[1]], self.order[pair[0]]))

    def _read(self, datum: Datum, place: int) -> list[int]:
        """Return the last writer of a datum before a read; of several in its moment that of the value that was read."""
        order, answer = self.order[place], (self.all[place].detail or {}).get("answer")
        last = self.writers(datum, (0, 0, 0), order)[-1:]
        beside = [
            each
            for each in self.writers(datum, (order[0], 0, 0), (order[0] + 1, 0, 0))
            if each != place and self.all[each].cause != self.all[place].cause
        ]
        if beside and isinstance(answer, Mapping) and not self.data[place][1]:
            wanted = str(answer.get("value"))
            return [each for each in (*last, *beside) if wanted in self._values(each)][:1] or last
        return last

    def _values(self, place: int) -> set[str]:
        """Return what a call of the Keystore has written, as text."""
        detail = self.all[place].detail or {}
        found = [
            each.get("value")
            for each in (detail.get("parameters"), detail.get("answer"))
            if isinstance(each, Mapping)
        ]
        return set(map(str, found))

    def _missed(self, place: int) -> list[int]:
        """Return what another run wrote last after that of a write has read the datum, or else after what led to it."""
        record, written, found = self.all[place], self.data[place][1], []
        run, root = self.places[record.cause], [*self.chain(place)][-1]
        for datum in written - self.data[place][0]:  # incr and the like read what they change
            reads = [self.order[each] for each in self.effects[run] if _meets(datum, self.data[each][0])]
            since = min(reads, default=self.order[place])
            since = since if since < self.order[place] else (self.all[root].time + 1, 0, 0)
            found += self.writers(datum, since, self.order[place])
        return [each for each in found if self.all[each].cause != record.cause][-1:]

    def _was_read(self, place: int, write: CanonicalRecord) -> bool:
        """Return whether a record is that of a read by the device of a write, and over before it."""
        read = self.all[place]
        return read.actor == write.actor and is_read_of_device(read) and self.order[place][0] <= write.time

    def _data(self, place: int) -> tuple[set[Datum], set[Datum]]:
        """Return what a record has read and written; a call that failed has written only where a fault made it fail."""
        record = self.all[place]
        read, written = data_of(record)
        cause = self.places.get(record.cause)
        if written and (record.status or 0) >= FAILED and not (cause is not None and self.hits(cause)):
            return read, set()
        return read, written


def seconds_text(seconds: float) -> str:
    """Return seconds as text, to the microsecond."""
    return f"{seconds:.6f}".rstrip("0").rstrip(".")


def _meets(datum: Datum, others: Iterable[Datum]) -> bool:
    return any(
        each[:2] == datum[:2] and (each[2] == datum[2] or not (each[2] and datum[2])) for each in others
    )


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _pairs(value: object) -> list[Any]:
    """Return the keys of pairs, as `mset` takes them."""
    if isinstance(value, Mapping):
        return [*value]
    return [each.get("key") for each in _listed(value) if isinstance(each, Mapping)]
