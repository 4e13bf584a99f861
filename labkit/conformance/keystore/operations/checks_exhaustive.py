"""Keystore: bits and patterns in all combinations of short texts, compared with a plain reference."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from labkit.conformance.check import check
from labkit.conformance.keystore.operations.reference import bits_of, count, first_bit, matches
from labkit.conformance.probe import Keystore
from labkit.conformance.target import Target
from labkit.conformance.verdict import Mismatch

AT_ONCE = 200  # commands of one request
TEXTS = (b"", b"\0", b"\xff", b"\xff\xff", b"\x7f\xfe", b"\x10\0\x01", b"\xff\0\x80")
BYTES = (0, 1, 2, -1, -2, -9)
PLACES = (0, 1, 3, 7, 8, 12, 17, -1, -2, -8, -13, -40)
LETTERS = "x3]-^\\"
PIECES = (
    "x",
    "3",
    "-",
    "?",
    "*",
    "[",
    "]",
    "^",
    "\\",
    "[0-3]",
    "[^x]",
    "[-x]",
    "[x",
    "[^",
    "[3-",
    "[9-0",
    r"[\]]",
    r"[^\x3]",
    r"[\3-x]",
)

Command = tuple[str, tuple[object, ...]]


@check("KEY-CMD-3", "bitpos and bitcount between all ends, of bytes and of bits")
async def bits(target: Target) -> None:
    store = Keystore(target)
    for text in TEXTS:
        key = target.identity()
        await store.set(key, "")
        places = [("setbit", (place, bit)) for place, bit in enumerate(bits_of(text))]
        await _compare(store, key, places, [0] * len(places))
        ends = [(), *((each,) for each in BYTES), *product(BYTES, BYTES)]
        of_bits = [*product(PLACES, PLACES)] if len(text) == 2 else []
        for bit in (0, 1):
            await _compare(
                store,
                key,
                [("bitpos", (bit, *each)) for each in ends]
                + [("bitpos", (bit, *each, "BIT")) for each in of_bits],
                [first_bit(text, bit, each, of_bits=False) for each in ends]
                + [first_bit(text, bit, each, of_bits=True) for each in of_bits],
            )
        counted = [each for each in ends if len(each) != 1]
        commands = [("bitcount", each) for each in counted]
        await _compare(store, key, commands, [count(text, each) for each in counted])


@check("KEY-CMD-3", "patterns of hscan, of any two pieces")
async def patterns(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    fields = ["".join(each) for length in (0, 1, 2) for each in product(LETTERS, repeat=length)]
    await store.command(key, "hmset", *(item for each in fields for item in (each, "v")))
    drawn = ["".join(each) for length in (1, 2) for each in product(PIECES, repeat=length)]
    wanted = [
        ["0", [item for each in fields if matches(pattern.encode(), each.encode()) for item in (each, "v")]]
        for pattern in drawn
    ]
    await _compare(store, key, [("hscan", (0, "MATCH", each, "COUNT", 100)) for each in drawn], wanted)


async def _compare(store: Keystore, key: str, commands: Sequence[Command], wanted: Sequence[Any]) -> None:
    """Run commands on a key, many in each request, and compare their results."""
    for first in range(0, len(commands), AT_ONCE):
        some = commands[first : first + AT_ONCE]
        calls = [
            {
                "service": "Keystore",
                "operation": "command",
                "parameters": {"command": command, "key": key, "args": args},
            }
            for command, args in some
        ]
        found = await store.ask("POST", "/calls", json=calls)
        for command, each, expected in zip(some, found, wanted[first:], strict=False):
            result = each.get("result")
            value = result.get("value") if isinstance(result, dict) else result
            if isinstance(value, list):
                value = [value[0], sorted(value[1])]
                expected = [expected[0], sorted(expected[1])]
            if value != expected:
                raise Mismatch(" ".join(map(str, (command[0], *command[1]))), expected, value)
