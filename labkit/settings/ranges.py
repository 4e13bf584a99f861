"""Ranges in a list of names: `w-{0001..2000}` means two thousand of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

RANGE = re.compile(r"\{(\d{1,9})\.\.(\d{1,9})\}")
MOST = 100_000  # names that one list may have, so that a slip of the keyboard does not fill the memory


def expanded(names: Iterable[str]) -> tuple[str, ...]:
    """The names, with each range `{first..last}` written out; leading zeros set the width, as in a shell.

    Raises ValueError for a range that runs backwards and for more than MOST names.
    """
    found: list[str] = []
    for name in names:
        for each in _expanded(name):
            if len(found) == MOST:
                raise ValueError(f"expected at most {MOST:,} names, ranges written out")
            found.append(each)
    return tuple(found)


def _expanded(name: str) -> Iterator[str]:
    match = RANGE.search(name)
    if match is None:
        yield name
        return
    first, last = match.groups()
    if int(first) > int(last):
        raise ValueError(f"expected a range that runs upwards, not {match.group()}")
    width = max(map(len, match.groups())) if any(each[0] == "0" for each in match.groups()) else 0
    before, after = name[: match.start()], name[match.end() :]
    more = "{" in before or "{" in after
    for number in range(int(first), int(last) + 1):
        written = f"{before}{number:0{width}}{after}"
        if more:
            yield from _expanded(written)
        else:
            yield written
