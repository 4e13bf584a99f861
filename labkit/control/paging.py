"""Pages of long lists: each call returns a part, and a cursor with which the next call continues behind it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field

from labkit.control.data import Data
from labkit.core.errors import LabError

EXAMINED = 2_000  # items that a call looks at
PAUSE = 200  # items after which other tasks run
LARGEST = 2**63 - 1  # number that the database has room for

Limit = Annotated[int, Field(ge=1, le=1000)]
Cursor = Annotated[str, Field(max_length=4096)]
S = TypeVar("S")
T = TypeVar("T")
P = TypeVar("P", bound="ListPage[Any]")


class ListPage(Data, Generic[T]):
    """Part of a list. cursor: of the next call; None at the end. A search may return few items, or none, before that.

    items: at most `limit`.
    """

    items: tuple[T, ...]
    cursor: str | None


async def page(
    kind: type[P],
    items: Iterable[S],
    limit: int,
    place: Callable[[S], tuple[int | str, ...]],
    make: Callable[[S], object],
) -> P:
    """Return the first page of items, of which it examines at most EXAMINED; other tasks run in between.

    place: returns what the cursor behind an item has; make: returns the item as the caller gets it, None to omit it.
    """
    made: list[object] = []
    examined, last = 0, None
    for each in islice(items, EXAMINED + 1):
        if last is not None and (len(made) >= limit or examined == EXAMINED):
            return kind(items=tuple(made), cursor=cursor_of(kind, *place(last)))
        examined, last = examined + 1, each
        if (found := make(each)) is not None:
            made.append(found)
        if not examined % PAUSE:
            await asyncio.sleep(0)
    return kind(items=tuple(made), cursor=None)


def cursor_of(kind: type[ListPage[Any]], *parts: int | str) -> str:
    """Return the cursor of a list with these parts. kind: of its pages, by which other lists refuse it."""
    return json.dumps((kind.__name__, *parts), ensure_ascii=False, separators=(",", ":"))


def read_cursor(kind: type[ListPage[Any]], cursor: str | None, *first: int | str) -> list[Any]:
    """Return the parts of a cursor, those of `first` without one. Raises LabError for one that no such page had."""
    if cursor is None:
        return [*first]
    try:
        parts = json.loads(cursor)
        json.dumps(parts, ensure_ascii=False).encode()  # no half of a surrogate pair
    except (ValueError, RecursionError):
        parts = None
    if (
        not isinstance(parts, list)
        or parts[:1] != [kind.__name__]
        or [*map(type, parts[1:])] != [*map(type, first)]
        or any(isinstance(each, int) and not 0 <= each <= LARGEST for each in parts)
    ):
        raise LabError(f"cursor: expected that of the page before, not {cursor!r:.80}")
    return parts[1:]
