"""Search for bits in a byte string."""

from __future__ import annotations

from itertools import chain


def first_bit(
    data: bytes, bit: int, start: int | None = None, end: int | None = None, *, of_bits: bool = False
) -> int:
    """Return the position of the first 1, or 0, from start to end (BITPOS of Redis); -1 if there is none.

    start, end: indexes of bytes, with `of_bits` of bits, both inclusive; negative indexes count from the end. Without
    `end` the data counts as followed by zeros.
    """
    scale = 1 if of_bits else 8
    size = len(data) * 8 // scale
    first = _from_start(start or 0, size) * scale
    last = min(_from_start(-1 if end is None else end, size), size - 1) * scale + scale - 1
    if first > last:
        return -1
    aligned = -(-first // 8)
    other = b"\xff\x00"[bit : bit + 1]
    left = data[aligned : last // 8 + 1].lstrip(other)  # from the first byte that contains such a bit
    begins = 8 * (last // 8 + 1 - len(left))
    head, body = range(first, min(8 * aligned, last + 1)), range(begins, min(begins + 8, last + 1))
    for position in chain(head, body):
        if data[position // 8] >> 7 - position % 8 & 1 == bit:
            return position
    return 8 * len(data) if bit == 0 and end is None else -1


def _from_start(index: int, size: int) -> int:
    return max(0, index + size if index < 0 else index)
