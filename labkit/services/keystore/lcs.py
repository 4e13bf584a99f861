"""Longest common subsequence of two values, with the matches that Redis finds (t_string.c, lcsCommand)."""

from __future__ import annotations

from typing import NamedTuple


class CommonMatch(NamedTuple):
    """A range that both values have in common; ends are inclusive."""

    first: tuple[int, int]
    second: tuple[int, int]

    @property
    def length(self) -> int:
        """The number of bytes."""
        return self.first[1] - self.first[0] + 1


def common_subsequence(one: bytes, other: bytes) -> tuple[bytes, list[CommonMatch]]:
    """Return the longest common subsequence and its matches, the last one first.

    Takes time and memory for len(one) times len(other) cells.
    """
    table = _lengths(one, other)
    row, column = len(one), len(other)
    found = bytearray()
    matches: list[CommonMatch] = []
    while row and column:
        if one[row - 1] == other[column - 1]:
            row, column = row - 1, column - 1
            found.append(one[row])
            last = matches[-1] if matches else None
            if last is not None and (row + 1, column + 1) == (last.first[0], last.second[0]):
                matches[-1] = CommonMatch((row, last.first[1]), (column, last.second[1]))
            else:
                matches.append(CommonMatch((row, row), (column, column)))
        elif table[row - 1][column] > table[row][column - 1]:
            row -= 1
        else:
            column -= 1
    return bytes(reversed(found)), matches


def _lengths(one: bytes, other: bytes) -> list[list[int]]:
    """Return the length of the longest common subsequence of each pair of prefixes."""
    table = [[0] * (len(other) + 1)]
    for character in one:
        above, row = table[-1], [0]
        for column, each in enumerate(other):
            row.append(above[column] + 1 if each == character else max(above[column + 1], row[column]))
        table.append(row)
    return table
