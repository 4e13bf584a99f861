"""BITPOS: as Redis describes it, and quick on the longest values."""

from __future__ import annotations

import time

import fakeredis
from hypothesis import given
from hypothesis import strategies as st

from labkit.services.keystore.arguments import LONGEST_VALUE
from labkit.services.keystore.bits import first_bit
from tests.cases import cases

DATA = st.lists(st.sampled_from([0, 255, 1, 128, 24, 254]), min_size=1, max_size=6).map(bytes)


@given(
    DATA,
    st.sampled_from([0, 1]),
    st.none() | st.integers(-60, 60),
    st.none() | st.integers(-60, 60),
    st.booleans(),
)
def test_it_is_the_first_of_all_bits_in_the_range(
    data: bytes, bit: int, start: int | None, end: int | None, of_bits: bool
) -> None:
    digits = "".join(f"{byte:08b}" for byte in data)
    units = list(digits) if of_bits else [digits[index : index + 8] for index in range(0, len(digits), 8)]
    bits_each = 1 if of_bits else 8
    first = max(0, (start or 0) + (len(units) if (start or 0) < 0 else 0))
    last = len(units) - 1 if end is None else max(0, end + (len(units) if end < 0 else 0))
    found = "".join(units[first : last + 1]).find(str(bit)) if first <= last else -1
    if found >= 0:
        expected = found + first * bits_each
    else:
        expected = len(digits) if bit == 0 and end is None and first < len(units) else -1
    assert first_bit(data, bit, start, end, of_bits=of_bits) == expected


@given(DATA, st.sampled_from([0, 1]), st.integers(0, 5), st.integers(0, 5), st.sampled_from(["BYTE", "BIT"]))
def test_it_is_what_fakeredis_gives(data: bytes, bit: int, start: int, end: int, unit: str) -> None:
    redis = fakeredis.FakeRedis(version=(7,))
    redis.set("key", data)
    wanted = redis.execute_command("BITPOS", "key", bit, start, end, unit)  # type: ignore[no-untyped-call]
    assert first_bit(data, bit, start, end, of_bits=unit == "BIT") == wanted


@cases("of_bits", [False, True])
@cases(("bit", "filler", "last"), [(1, b"\x00", b"\x01"), (0, b"\xff", b"\xfe")])
def test_a_value_of_the_greatest_length_takes_no_time(
    bit: int, filler: bytes, last: bytes, of_bits: bool
) -> None:
    data = filler * (LONGEST_VALUE - 1) + last
    began = time.thread_time()
    assert first_bit(data, bit, 3, of_bits=of_bits) == 8 * LONGEST_VALUE - 1
    assert time.thread_time() - began < 0.05
