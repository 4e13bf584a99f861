"""Parts of the embedded Keystore: formats and sums of floats, bits, glob patterns, and direct commands."""

from __future__ import annotations

import random
import re
import time
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import cast

import pytest
from fakeredis._helpers import compile_pattern
from hypothesis import given
from hypothesis import strategies as st

from labkit.core.errors import ServiceError
from labkit.core.identifiers import Identifiers
from labkit.labtime.clock import VIRTUAL_START, Clock
from labkit.services.keystore import geo
from labkit.services.keystore.arguments import LONGEST_VALUE
from labkit.services.keystore.contents import read_command
from labkit.services.keystore.embedded import Embedded
from labkit.services.keystore.fakeredis_socket import Socket
from labkit.services.keystore.floats import add_decimals, format_double
from labkit.services.keystore.glob import matcher
from labkit.services.keystore.rewrites import first_bit
from tests.cases import cases
from tests.guard import CPU_FACTOR
from tests.services.keystore.stores import opened


@cases(
    ("value", "shown"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (3.0, "3"),
        (-17.0, "-17"),
        (3.2, "3.2"),
        (0.1 + 0.2, "0.30000000000000004"),
        (0.0001, "0.0001"),
        (1.5e-7, "1.5e-7"),
        (-1e-10, "-1e-10"),
        (2.0**52 - 1, "4503599627370495"),
        (1e16, "1e+16"),
        (1e20, "1e+20"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (123456789012345680000.0, "123456789012345680000"),
        (12345.678, "12345.678"),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
    ],
)
def test_formats_of_floats(value: float, shown: str) -> None:
    assert format_double(value) == shown


@given(st.floats(allow_nan=False))
def test_formatted_floats_read_back_the_same(value: float) -> None:
    assert float(format_double(value)) == value


@cases(
    ("one", "other", "total"),
    [
        ("0.1", "0.2", "0.3"),
        ("10.5", "0.1", "10.6"),
        ("5.0e3", "2.0e2", "5200"),
        ("3", "-3", "0"),
        ("-0.3", "0.1", "-0.2"),
        ("1e15", "0.1", "1000000000000000.0999755859375"),
        ("0e999999999", "1.5", "1.5"),
        ("1e-30", "0", "0"),
        ("-1e-30", "0", "0"),
    ],
)
def test_sums_of_floats(one: str, other: str, total: str) -> None:
    assert add_decimals(one.encode(), other.encode()).decode() == total


DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-1000, max_value=1000, places=6)


@given(DECIMALS, DECIMALS)
def test_sums_have_the_precision_of_a_long_double(one: Decimal, other: Decimal) -> None:
    total = add_decimals(str(one).encode(), str(other).encode()).decode()
    exact = Fraction(one) + Fraction(other)
    assert abs(Fraction(total) - exact) <= 4000 * Fraction(1, 2**64) + Fraction(1, 10**17)


GLOBS = st.text(alphabet="ab*?[]^-\\", max_size=8).map(str.encode)
TEXTS = st.text(alphabet="abc]-\\", max_size=6).map(str.encode)


@given(GLOBS, st.lists(TEXTS, min_size=1, max_size=20))
def test_globs_match_like_fakeredis(pattern: bytes, texts: list[bytes]) -> None:
    matches, theirs = matcher(pattern), compile_pattern(pattern)
    for text in texts:
        assert matches(text) == bool(re.match(theirs, text)), text


@cases("pattern", [b"a*" * 40 + b"b", b"*a" * 40 + b"*b", b"*?" * 40 + b"b", b"[a-z]*" * 40 + b"B"])
def test_no_pattern_is_slow(pattern: bytes) -> None:
    matches = matcher(pattern)
    started = time.process_time()
    assert not matches(b"a" * 5_000)
    assert time.process_time() - started < 0.5


async def test_no_command_fills_the_memory_or_blocks_the_loop() -> None:
    async with opened() as lab:
        await lab.command("hset", "h", "a" * 5_000, "v")
        started = time.process_time()
        assert await lab.command("hscan", "h", 0, "MATCH", "*a" * 40 + "*b") == ["0", []]
        assert (await lab.refused("setbit", "bits", 2**32 - 1, 1))[0] == 400
        await lab.command("sadd", "s", "a")
        assert (await lab.refused("srandmember", "s", -(10**9)))[0] == 400
        assert await lab.command("incrbyfloat", "f", "0e999999999") == "0"
        assert (await lab.refused("incrbyfloat", "f", "1." + "1" * 5_000))[0] == 400
        assert time.process_time() - started < 0.5


@cases("of_bits", [False, True])
@cases(("bit", "filler", "last"), [(1, b"\x00", b"\x01"), (0, b"\xff", b"\xfe")])
def test_bitpos_of_a_value_of_the_greatest_length_takes_no_time(
    bit: int, filler: bytes, last: bytes, of_bits: bool
) -> None:
    data = filler * (LONGEST_VALUE - 1) + last
    began = time.thread_time()
    assert first_bit(data, bit, 3, of_bits=of_bits) == 8 * LONGEST_VALUE - 1
    assert time.thread_time() - began < 0.05 * CPU_FACTOR


@cases("second", range(8))
async def test_an_end_just_beyond_the_limit_is_refused_at_any_second(second: int) -> None:
    async with opened(clock=Clock(rate=0, start=1_767_225_600.9365234375 + second)) as lab:
        first = (2**63 - 1 - int(lab.clock.now() * 1000)) // 1000 + 1
        for command in (["set", "k", "v", "EX", str(first)], ["setex", "k", str(first), "v"]):
            name = command[0]
            assert await lab.refused(*command) == (400, f"ERR invalid expire time in '{name}' command")
            await lab.command(*[str(first - 1) if each == str(first) else each for each in command])


@pytest.mark.parametrize("spread", [180, 10, 0.001])
def test_a_search_for_places_finds_what_a_walk_over_all_would(
    spread: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(int(spread))
    store = Embedded(Clock(rate=0, start=1), Identifiers(7), None)

    def place() -> list[bytes]:
        east, north = (chance.uniform(-spread, spread) for _ in "ab")
        return [
            repr((179.99 + east + 180) % 360 - 180).encode(),
            repr(max(-85, min(85, 80 + north))).encode(),
        ]

    for number in range(1000):
        store.answer((b"GEOADD", b"g", *place(), b"m%d" % number))
    for score in (b"-5", b"-inf", b"0.25", b"1.5", b"4503599627370496", b"1e30"):
        store.answer((b"ZADD", b"g", score, b"no place " + score))
    found = 0
    for options in (
        "",
        "ASC",
        "DESC",
        "COUNT 7",
        "COUNT 7 ANY",
        "DESC COUNT 3",
        "ASC COUNT 7 ANY",
        "COUNT 1",
    ):
        for _ in range(20):
            sizes = [repr(10 ** chance.uniform(-1, 7.5)).encode() for _ in "ab"]
            area = chance.choice([[b"BYRADIUS", sizes[0]], [b"BYBOX", *sizes]])
            command = (b"GEOSEARCH", b"g", b"FROMLONLAT", *place(), *area, b"m", *options.encode().split())
            reply, _ = store.answer((*command, b"WITHDIST"))
            with monkeypatch.context() as patched:
                patched.setattr(geo, "_ranges", lambda scores, shape, nearest: [(0.0, 0, len(scores))])
                assert store.answer((*command, b"WITHDIST"))[0] == reply, command
            found += len(cast("list[object]", reply))
    assert found > 1000


NOW = round(VIRTUAL_START * 1000)
_KEYS = st.sampled_from([b"acme:a", b"acme:b"])
_NUMBERS = st.one_of(st.integers(-4, 4), st.integers(-(2**63) - 1, 2**63)).map(lambda each: b"%d" % each)
_TEXTS = st.sampled_from([b"", b"x", b"+1", b"01", b" 7", b"9223372036854775807"]) | _NUMBERS
_COMMANDS = st.one_of(
    st.tuples(st.sampled_from([b"INCRBY", b"LPUSH", b"PEXPIREAT", b"APPEND", b"SADD"]), _KEYS, _TEXTS),
    st.tuples(st.just(b"PEXPIREAT"), _KEYS, st.integers(-1, 60_000).map(lambda each: b"%d" % (NOW + each))),
    st.tuples(st.just(b"LTRIM"), _KEYS, _TEXTS, _TEXTS),
    st.tuples(st.sampled_from([b"DEL", b"PERSIST", b"LPOP", b"TYPE"]), _KEYS),
)


@given(st.lists(st.tuples(_COMMANDS, st.sampled_from([0, 0, 0, 1, 30_000])), max_size=30))
def test_direct_commands_do_what_those_of_fakeredis_do(played: list[tuple[tuple[bytes, ...], int]]) -> None:
    now = SimpleNamespace(now=NOW)
    sockets = Socket(now), Socket(now, direct={})

    def seen(socket: Socket, command: tuple[bytes, ...]) -> list[object]:
        try:
            reply: object = socket.answer(command)
        except ServiceError as error:
            reply = error.message
        key = command[1]
        kind = cast("bytes", socket.answer((b"TYPE", key)))
        value = None if kind == b"none" else socket.answer(read_command(kind, key))
        return [reply, value, socket.answer((b"PTTL", key))]

    for command, pause in played:
        now.now += pause
        assert seen(sockets[0], command) == seen(sockets[1], command)
    sums = []
    for socket in sockets:
        socket.sweep()
        keys = socket.solution_keys(b"acme:")
        assert not socket.settle(keys)
        sums.append(([*keys.names], keys.size))
    assert sums[0] == sums[1]
