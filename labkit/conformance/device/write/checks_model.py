"""Model check of device values: write, read, hybrid, record and long polls of several devices in random order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.conformance.check import model_check
from labkit.conformance.device.write.game import Values
from labkit.conformance.device.write.model import Group, Pairs
from labkit.conformance.models.search import LONG_SEQUENCES, Model

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

ALIASES = ("text", "Text", "number", "level", "mode", "flag", "TEXT", "unknown")
# One of each kind of character that a decoding or encoding might lose.
CHARACTERS = "a1 Z+&=%;#?/\\\"'\t\n\r\0\x7f.~_-éß€Ωя中\u0301\u200b\u2028\ufeff\ufffd😀𐀀"
NUMBERS = ("1", "0", "-1", "21.5", "1e3", "x", "")
LEVELS = ("50", "0", "100", "-0.001", "100.001", "101", "-1")
STAMPS = (
    *("@-5", "@-1", "@0", "@-4.5", "@-4.001", "@-4", "@-0.999", "@1", "@2", "@60", "@61", "@59.999"),
    *(
        "-1",
        "-2",
        "-0.5",
        "-1.25",
        "-0.001",
        "0",
        "1",
    ),  # counted back from the exact time
)
SINCE = (None, "last", "@0", "last", None, "@-1", "@-5", "0", "@1", "@2", "@-4", "last", None)
TIMEOUTS = (300_000, 300_000, 300_000, 0, 125, 1000, 2000, 2500)
SOON = ("@1", "@2", "@0", "@-1", "@-5", "-0.75")
TICKS = (1024, 1, 512, 1023, 2048, 5120, 128, 61440)


@dataclass(frozen=True)
class Write:
    """Write pairs; with aliases to read, by a hybrid request."""

    device: int
    pairs: Pairs
    read: tuple[str, ...] = ()

    async def __call__(self, game: Values) -> None:
        await game.write(self.device, self.pairs, self.read)


@dataclass(frozen=True)
class AtOnce:
    """Write to all devices concurrently."""

    first: int
    pairs: Pairs

    async def __call__(self, game: Values) -> None:
        await game.at_once(self.first, self.pairs)


@dataclass(frozen=True)
class Read:
    """Read aliases. equals: in the form a=&b=."""

    device: int
    aliases: tuple[str, ...]
    equals: bool

    async def __call__(self, game: Values) -> None:
        await game.read(self.device, self.aliases, self.equals)


@dataclass(frozen=True)
class Record:
    """Record points."""

    device: int
    groups: tuple[Group, ...]

    async def __call__(self, game: Values) -> None:
        await game.record(self.device, self.groups)


@dataclass(frozen=True)
class Poll:
    """Begin polls of one alias, over successive connections."""

    device: int
    alias: str
    since: tuple[str | None, ...]  # one for each of several polls
    timeout: int
    by: int  # index of the first poll's connection

    async def __call__(self, game: Values) -> None:
        for number, each in enumerate(self.since):
            await game.poll(self.device, self.alias, each, self.timeout, self.by + number)


@dataclass(frozen=True)
class CancelPoll:
    """Cancel a pending poll."""

    poll: int

    async def __call__(self, game: Values) -> None:
        await game.cancel_poll(self.poll)


@dataclass(frozen=True)
class HangUp:
    """End an idle connection."""

    device: int
    by: int
    reset: bool

    async def __call__(self, game: Values) -> None:
        await game.hang_up(self.device, self.by, self.reset)


@dataclass(frozen=True)
class Ask:
    """Send a request that is no poll over an idle connection."""

    device: int
    by: int

    async def __call__(self, game: Values) -> None:
        await game.ask(self.device, self.by)


@dataclass(frozen=True)
class Again:
    """Write a value, let clients poll it from its own second, and end some of their connections."""

    device: int
    value: str
    by: tuple[int, ...]
    reset: tuple[bool | None, ...]

    async def __call__(self, game: Values) -> None:
        await game.write(self.device, [("text", self.value)])
        await game.compare_polls()  # its answers affect the following polls
        for by, reset in zip(self.by, self.reset, strict=False):
            await game.poll(self.device, "text", "@0", 0, by)
            if reset is not None:
                await game.hang_up(self.device, by, reset)


@dataclass(frozen=True)
class Advance:
    """Let time pass."""

    ticks: int  # of 1/1024 s

    async def __call__(self, game: Values) -> None:
        await game.advance(self.ticks)


def commands() -> SearchStrategy[Any]:
    """Return the commands of devices."""
    from hypothesis import strategies as st

    one_of, tuples = st.sampled_from, st.tuples
    devices = one_of([0, 0, 0, 1, 2, 3])  # mostly one, so that much happens to it
    texts = st.lists(one_of(CHARACTERS), max_size=4).map("".join) | one_of(["x" * 400, "é" * 300])
    values = {"number": one_of(NUMBERS), "level": one_of(LEVELS), "mode": one_of(["on", "off", "ON"])}
    values["flag"] = one_of(["true", "false", "maybe"])

    # made once: Hypothesis takes about as long to look at a new strategy as to draw from it
    of_alias = {alias: tuples(st.just(alias), values.get(alias, texts)) for alias in ALIASES}
    points = {
        alias: tuples(
            st.just(alias),
            st.lists(tuples(one_of(STAMPS), values.get(alias, texts)), min_size=1, max_size=4).map(tuple),
        )
        for alias in ALIASES[:6]
    }
    pair: SearchStrategy[tuple[str, str]] = one_of(ALIASES).flatmap(of_alias.__getitem__)
    group: SearchStrategy[Group] = one_of(ALIASES[:6]).flatmap(points.__getitem__)
    pairs = st.lists(pair, min_size=1, max_size=4, unique_by=lambda each: each[0]).map(tuple)
    plain = st.lists(tuples(one_of(ALIASES[:3]), one_of(["1", "2", "3"])), min_size=1, max_size=2).map(tuple)
    aliases = st.lists(one_of(("text", "text", *ALIASES)), min_size=1, max_size=5).map(tuple)
    writes = st.builds(Write, devices, pairs)
    simple = st.builds(Write, devices, tuples(tuples(st.just("text"), one_of("abc"))))
    records = st.builds(Record, devices, st.lists(group, min_size=1, max_size=2).map(tuple))
    one_point = tuples(st.just("text"), tuples(tuples(one_of(SOON), one_of("abc"))))
    recorded = st.builds(Record, devices, tuples(one_point))
    since = st.lists(one_of(SINCE), min_size=1, max_size=3).map(tuple)
    by = one_of([0, 0, 1, 2])
    polls = st.builds(Poll, devices, one_of(ALIASES), since, one_of(TIMEOUTS), by)
    polled = st.builds(Poll, devices, st.just("text"), since, one_of(TIMEOUTS), by)
    ends = st.lists(one_of([True, True, False, None]), min_size=8, max_size=8).map(tuple)
    again = st.builds(Again, devices, one_of("abc"), st.lists(by, min_size=1, max_size=8).map(tuple), ends)
    return st.one_of(
        simple,
        simple,
        writes,
        st.builds(Read, devices, aliases, st.booleans()),
        polled,
        recorded,
        st.builds(Advance, one_of(TICKS)),
        polls,
        records,
        st.builds(Write, devices, pairs | plain, aliases),
        st.builds(AtOnce, devices, plain),
        st.builds(CancelPoll, st.integers(0, 3)),
        st.builds(HangUp, devices, by, st.booleans()),
        st.builds(Ask, devices, by),
        again,
    )


RULES = (
    "DEV-ALIAS-1 DEV-ALIAS-5 DEV-ALIAS-6 DEV-READ-1 DEV-READ-2 DEV-READ-4 DEV-READ-5 DEV-READ-6 DEV-HYBRID-1 "
    "DEV-HYBRID-2 DEV-HYBRID-4 DEV-HYBRID-5 DEV-REC-1 DEV-REC-4 DEV-REC-6 DEV-REC-7 DEV-REC-12 DEV-REC-14 DEV-REC-16 "
    "DEV-POLL-1 DEV-POLL-2 DEV-POLL-3 DEV-POLL-5 DEV-POLL-6 DEV-POLL-7 DEV-POLL-11 DEV-POLL-14 DEV-POLL-19 DEV-POLL-21 "
    "DEV-POLL-22 DEV-POLL-23 DEV-POLL-24 DEV-POLL-25 DEV-POLL-27 DEV-POLL-28 DEV-POLL-29 DEV-POLL-30 DEV-POLL-32 "
    "DEV-AUTH-7 DEV-TLS-1 DEV-ALIAS-9 DEV-EVT-1 DEV-EVT-2 DEV-EVT-3 "
    "DEV-EVT-4 DEV-EVT-5 DEV-EVT-6 DEV-EVT-7"
)

values = model_check(
    "write/model",
    "values of devices that write, record, read and poll in any order, as a model has them",
    Model(tuple(RULES.split()), commands, Values, LONG_SEQUENCES),
)
