"""Pages of lists: their boundaries, what comes and goes between two, and what a call looks at."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from labkit import LabError
from labkit.control import paging, stored
from labkit.control.control import Control
from labkit.control.paging import ListPage
from labkit.platform import Platform
from labkit.settings import LabSettings, SolutionSettings
from tests.cases import cases

Make = Callable[[Platform, str, int], Awaitable[object]]
List = Callable[..., Awaitable[ListPage[Any]]]


@pytest.fixture
async def platform() -> AsyncIterator[Platform]:
    solutions = tuple(SolutionSettings(id=each) for each in ("home", "other"))
    async with Platform(LabSettings(https_port=0, solutions=solutions), seed=7) as platform:
        yield platform


def called(service: str, operation: str, arguments: Callable[[int], dict[str, object]]) -> Make:
    async def make(platform: Platform, solution: str, number: int) -> None:
        made = await platform.call(solution, service, operation, arguments(number))
        assert not (isinstance(made, dict) and "error" in made), made

    return make


async def poll(platform: Platform, solution: str, number: int) -> None:
    platform.devices.polls.open((solution, f"d{number}", "a"), None)


async def record(platform: Platform, solution: str, number: int) -> None:
    platform.context.journal.record_batch(
        "log", solution, 2, lambda: [(f"{number} {each}", {}, 1) for each in "ab"], 1, None
    )


LISTS: dict[str, tuple[str, Make]] = {
    "keystore.keys": ("", called("Keystore", "set", lambda number: {"key": f"k{number}", "value": 1})),
    "users.search": ("id", called("User", "createUser", lambda number: {
        "email": f"u{number}@example.com", "name": f"u{number}", "password": "correct horse"})),
    "series.search": ("name", called("Tsdb", "write", lambda number: {"metrics": {f"m{number}": 1}})),
    "timers.all": ("timer_id", called("Timer", "sendAfter", lambda number: {
        "duration": 1000, "timer_id": f"t{number}"})),
    "polls.all": ("identity", poll),
    "journal.search": ("summary", record),
}  # fmt: skip


def listing(platform: Platform, key: str) -> List:
    """Return an operation for what `home` has, which returns a page of names."""
    control, (field, _) = Control(platform), LISTS[key]
    subject, _, name = key.partition(".")
    operation = getattr(getattr(control, subject), name)
    of = {"polls.all": "product"}.get(key, "solution")
    more = {"kind": "log"} if key == "journal.search" else {}

    async def listed(**arguments: Any) -> ListPage[Any]:
        page: ListPage[Any] = await operation(**{of: "home"}, **more, **arguments)
        items = tuple(getattr(each, field) if field else each for each in page.items)
        return ListPage(items=items, cursor=page.cursor)

    return listed


@pytest.mark.parametrize("key", LISTS)
async def test_pages_have_each_item_once(platform: Platform, key: str) -> None:
    listed, make = listing(platform, key), LISTS[key][1]
    whole = await listed()
    for count in range(5):
        whole = await listed()
        assert (len(whole.items), whole.cursor) == (count * (1 + (key == "journal.search")), None)
        page = await listed(limit=2)
        pages = [page]
        while page.cursor is not None:
            pages.append(page := await listed(limit=2, cursor=page.cursor))
        assert [each for one in pages for each in one.items] == [*whole.items]
        assert sum(bool(each.items) for each in pages) == (len(whole.items) + 1) // 2
        await make(platform, "other", count)
        await make(platform, "home", count)
    first = await listed(limit=2)
    await make(platform, "home", 9)
    rest = await listed(cursor=first.cursor)
    known = {*first.items, *rest.items}
    assert known >= {*whole.items}  # whatever came between two pages
    for wrong in ("", "a", "[]", '["a"]', "[-1]", "[true]", "[1e9]", f"[{2**63}]", '["a", 1, "\\ud800"]'):
        with pytest.raises(LabError, match="cursor: expected that of the page before, not"):
            await listed(cursor=wrong)


@cases("key, arguments", [
    ("journal.search", {"text": "0 a"}), ("users.search", {"text": "U0@"}), ("series.search", {"text": "m0"}),
])  # fmt: skip
async def test_a_search_looks_at_some_items_and_goes_on(
    platform: Platform, monkeypatch: pytest.MonkeyPatch, key: str, arguments: dict[str, str]
) -> None:
    for module in (paging, stored):
        monkeypatch.setattr(module, "EXAMINED", 3)
    for number in range(8):
        await LISTS[key][1](platform, "home", number)
    page = await listing(platform, key)(**arguments)
    found, pages = [*page.items], 1
    while page.cursor is not None:
        page = await listing(platform, key)(**arguments, cursor=page.cursor)
        found, pages = [*found, *page.items], pages + 1
    assert len(found) == 1
    assert pages > 2


async def test_the_journal_is_searched_by_time(platform: Platform) -> None:
    control = Control(platform)
    for number in range(3):
        await record(platform, "home", number)
        await platform.context.clock.advance(60)
    for since, until, expected in (
        ("2026-01-01T00:01", None, "2b 2a 1b 1a"),
        (None, "2026-01-01T00:01", "1b 1a 0b 0a"),
        ("2026-01-01T00:00:01", "2026-01-01T00:01", "1b 1a"),
        (None, "2025-01-01", ""),
    ):
        found = await control.journal.search(kind="log", since=since, until=until)
        assert [each.summary.replace(" ", "") for each in found.items] == expected.split()
        for place, each in enumerate(found.items, 1):
            older = await control.journal.search(kind="log", since=since, until=until, before=each.sequence)
            assert older.items == found.items[place:]
