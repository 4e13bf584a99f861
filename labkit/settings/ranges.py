"""Expansion of ranges in a list of names: `w-{0001..2000}` means two thousand names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

RANGE = re.compile(r"\{(\d{1,9})\.\.(\d{1,9})\}")
MAX_NAMES = 100_000  # names in one list, so that a typing error does not fill the memory


def expand_ranges(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names with each range `{first..last}` expanded; leading zeros set the width, as in a shell.

    Raises ValueError for a range that runs backwards, and for more than MAX_NAMES names.
    """
    found: list[str] = []
    for name in names:
        for each in _expand(name):
            if len(found) == MAX_NAMES:
                raise ValueError(f"expected at most {MAX_NAMES:,} names, with ranges expanded")
            found.append(each)
    return tuple(found)


def _expand(name: str) -> Iterator[str]:
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
            yield from _expand(written)
        else:
            yield written
