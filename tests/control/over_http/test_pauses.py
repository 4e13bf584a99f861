"""Large arguments and results: the lab handles other requests meanwhile."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from pydantic import TypeAdapter

from labkit.control.over_http import bodies
from labkit.control.over_http.bodies import read_body
from labkit.control.over_http.operations import PART, SEVERAL, operations
from labkit.control.over_http.problem import ControlProblem
from labkit.platform import Platform
from tests.cases import cases
from tests.control.over_http.caller import Caller


async def test_a_large_result_does_not_hold_the_lab_up(caller: Caller, platform: Platform) -> None:
    for number in range(20_000):
        platform.context.journal.record(
            "log", "acme", f"line {number}", detail={"level": "info", "n": [number]}
        )
    longest = 0.0
    ended = asyncio.Event()

    async def watch() -> None:
        nonlocal longest
        loop = asyncio.get_running_loop()
        while not ended.is_set():
            begin = loop.time()
            await asyncio.sleep(0.001)
            longest = max(longest, loop.time() - begin)

    watching = asyncio.create_task(watch())
    records = await caller.result("journal.select", kind="log")
    ended.set()
    await watching
    assert len(records) == 20_000
    assert records[-1]["detail"] == {"level": "info", "n": [19_999]}
    assert longest < 2  # a bound that a busy machine keeps; the figure on a free one is in the note


class Parts:
    """Encoder of results that counts the items, or characters, that it encodes at once."""

    def __init__(self, kind: type[Any]) -> None:
        self._adapter: TypeAdapter[Any] = TypeAdapter(kind)
        self.lengths: list[int] = []

    def dump_json(self, result: list[object] | str) -> bytes:
        assert threading.current_thread() is not threading.main_thread()
        self.lengths.append(len(result))
        return self._adapter.dump_json(result)


@cases(
    ("result", "kind", "longest"),
    [
        (["é", None, [1]] * 5_000, list[object], SEVERAL),
        ([{"a": "\\"}] * 15_001, list[object], SEVERAL),
        ('é"\\\U0001f600\n' * 2**20, str, PART),
        ("a" * (PART + 1), str, PART),
    ],
)
async def test_a_large_result_is_encoded_in_a_thread_and_in_parts(
    result: list[object] | str, kind: type[Any], longest: int
) -> None:
    """Other tasks wait for a part at most, since no other thread runs while one is encoded."""
    operation = replace(operations()["journal.canonical"])
    parts = operation.__dict__["result"] = Parts(kind)
    assert json.loads(await operation.encode_result(result)) == result
    assert max(parts.lengths) == longest
    assert sum(parts.lengths) == len(result)


class Pieces:
    """A request whose body comes in pieces."""

    content_length = None
    headers: Mapping[str, str] = {}

    def __init__(self, *pieces: bytes) -> None:
        self._rest = [*pieces, b""]
        self.content = self

    async def readany(self) -> bytes:
        return self._rest.pop(0)


class Drip(Pieces):
    """A body of which a byte comes now and then, without end."""

    async def readany(self) -> bytes:
        await asyncio.sleep(0.001)
        return b" "


async def test_a_body_that_comes_too_slowly_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "PATIENCE", 0.05)
    request: Any = Drip()
    with pytest.raises(ControlProblem, match="or is slower than 64 KiB/s"):
        await read_body(request, asyncio.Semaphore().acquire)


class Piece(bytes):
    """A piece of a body, which notes how many bytes are searched at once."""

    searched: ClassVar[list[int]] = []

    def count(self, *args: Any) -> int:
        self.searched.append(len(self))
        return super().count(*args)


async def test_a_large_body_is_searched_in_the_pieces_in_which_it_comes() -> None:
    piece = 2**16
    text = b'"' + b"x" * (4 * 2**20) + b'"'
    request: Any = Pieces(*(Piece(text[begin : begin + piece]) for begin in range(0, len(text), piece)))
    assert await read_body(request, asyncio.Semaphore().acquire) == text
    assert max(Piece.searched) == piece
    request = Pieces(*[b"[" * 50_000] * 4)
    with pytest.raises(ControlProblem, match="more than 150,000 values"):
        await read_body(request, asyncio.Semaphore().acquire)
