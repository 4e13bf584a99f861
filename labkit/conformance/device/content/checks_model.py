"""Model check of content: contents of two products that change, and downloads of any range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.conformance.device.content.game import Contents
from labkit.conformance.old_models import Model, model_check

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

IDS = ("a", "A", " é&+%", "a/b")
STATIC = ("=alphabet.txt", "=Alphabet.txt", "=plain.bin", "=none")
DATA = (b"x", b"", b"0123456789", bytes(range(256)) * 4, b"\xff\x00\r\n" * 17_000)
TYPES = ("text/plain", "application/x-one", "application/octet-stream")
DESCRIPTIONS = ("", "plain", 'a, "b"', "two\r\nlines", "grün 温")
ENDS = ("0", "1", "SIZE-1", "SIZE", "SIZE+1", "", "5", "00", "99999999999999999999999")
ODD = ("bytes=5", "bytes=a-b", "items=0-1", "bytes=0-0,2-3", "bytes 0-1", "bytes=--1")


@dataclass(frozen=True)
class Call:
    """A method of the game, with the number of the product and further arguments."""

    action: str
    product: int
    arguments: tuple[Any, ...] = ()

    async def __call__(self, game: Contents) -> None:
        await getattr(game, self.action)(self.product, *self.arguments)


@dataclass(frozen=True)
class Advance:
    """Let time pass."""

    ticks: int  # 1024 ticks are a second

    async def __call__(self, game: Contents) -> None:
        await game.advance(self.ticks)


def commands() -> SearchStrategy[Any]:
    """Return the commands: requests of devices, and changes between them."""
    from hypothesis import strategies as st

    one_of = st.sampled_from
    own, ids, ends = one_of(("a", *IDS)), one_of(("a", "a", *IDS, *STATIC)), one_of(ENDS)
    none = st.just("")
    both = st.one_of(st.tuples(ends, ends), st.tuples(none, ends), st.tuples(ends, none))
    ranges = both.map(lambda each: f"bytes={each[0]}-{each[1]}")
    odd = one_of(ODD)

    def call(action: str, *args: SearchStrategy[Any]) -> SearchStrategy[Call]:
        return st.builds(Call, st.just(action), one_of([0, 0, 1]), st.tuples(*args))

    return st.one_of(
        call("add", own, one_of(DATA), one_of(TYPES), one_of(DESCRIPTIONS)),
        call("download", ids, ranges),
        call("download", ids, ranges),
        call("download", ids, st.none() | odd),
        call("info", ids),
        call("list"),
        st.builds(Advance, one_of((1024, 512, 1023, 2048))),
        call("remove", own),
    )


RULES = (
    "DEV-CONT-1 DEV-CONT-2 DEV-CONT-3 DEV-CONT-4 DEV-CONT-5 DEV-CONT-7 DEV-CONT-8 DEV-CONT-9 DEV-CONT-11 DEV-CONT-12 "
    "DEV-CONT-13 DEV-CONT-14 DEV-CONT-15 DEV-CONT-17 DEV-CONT-18 DEV-CONT-19 DEV-CONT-20 DEV-TLS-1"
)

contents = model_check(
    "content/model",
    "contents of two products, whole and in any range, while they change, as a model has them",
    Model(tuple(RULES.split()), commands, Contents),
)
