"""Operations that look at what services store for a solution: keys, users, series and timers."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, cast

from sqlalchemy import func

from labkit.control.bounds import Id, Line
from labkit.control.data import Data
from labkit.control.json_values import JsonValue
from labkit.control.paging import EXAMINED, LARGEST, Cursor, Limit, ListPage, cursor_of, page, read_cursor
from labkit.core.errors import LabError, ServiceError, UnknownError, unknown
from labkit.platform import Platform
from labkit.services.keystore.contents import read_command
from labkit.services.keystore.service import Keystore
from labkit.services.operation import Caller
from labkit.services.redaction import redacted
from labkit.services.series.store import Series, SeriesStore
from labkit.services.timer.calendar import MICROS
from labkit.services.timer.service import TimerService
from labkit.services.timer.store import INTERVAL, SetTimer
from labkit.services.user import accounts
from labkit.services.user.users import filters

OWNERS = {"Tsdb": "tsdb", "Timeseries": "timeseries"}  # of series, by service


class KeyPage(ListPage[str]):
    """Page of keys."""


class KeyValue(Data):
    """Value of a key. type: as of Redis: string, list, set, hash or zset; seconds: until it ends, None for never."""

    key: str
    type: str
    value: Annotated[Any, JsonValue]
    seconds: float | None


class KeystoreControl:
    """Operations on the Keystore of a solution. Each raises LabError for an unknown solution."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def keys(
        self, solution: Id, match: Line = "", limit: Limit = 100, cursor: Cursor | None = None
    ) -> KeyPage:
        """Return the keys that contain `match`, about `limit` at a time."""
        [after] = read_cursor(KeyPage, cursor, 0)
        caller, store = self._of(solution)
        found, after = await store.scan_page(store.namespace_of(caller), match, after, limit)
        return KeyPage(items=tuple(found), cursor=cursor_of(KeyPage, after) if after else None)

    async def get(self, solution: Id, key: Line) -> KeyValue:
        """Return the value of a key of any type. Raises UnknownError if there is none."""
        caller, store = self._of(solution)
        try:
            kind = (await store.command(caller, "type", key))["value"]
            if kind == "none":
                raise UnknownError(f"solution {solution!r} has no key {key!r:.200}")
            name, _, *rest = [each.decode() for each in read_command(str(kind).encode(), b"")]
            value = (await store.command(caller, name.lower(), key, rest)).get("value")
            left = (await store.command(caller, "pttl", key))["value"]
        except ServiceError as error:
            raise LabError(f"{key!r:.80}: {error}") from None
        seconds = left / 1000 if isinstance(left, int) and left >= 0 else None
        return KeyValue(key=key, type=str(kind), value=value, seconds=seconds)

    def _of(self, solution: str) -> tuple[Caller, Keystore]:
        known = self._platform.solutions.get(solution).id
        return Caller(known), cast("Keystore", self._platform.context.services.get(Keystore.name))


class UserInfo(Data):
    """A user. status: 1 active, 0 not yet activated, 2 disabled; creation_date: Unix seconds."""

    id: int
    email: str
    name: str
    status: int
    creation_date: int


class UserPage(ListPage[UserInfo]):
    """Page of users."""


class UsersControl:
    """Operations on the users of a solution. Each raises LabError for an unknown solution."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def search(
        self, solution: Id, text: Line = "", limit: Limit = 100, cursor: Cursor | None = None
    ) -> UserPage:
        """Return the users by id. text: a part of the address or the name, in any letter case."""
        known, [after] = self._platform.solutions.get(solution).id, read_cursor(UserPage, cursor, 0)
        columns, part = filters.COLUMNS, text.casefold()
        last = min(after + EXAMINED, LARGEST) if part else LARGEST
        matches = func.instr(columns.folded, part) + func.instr(columns.folded_name, part) > 0
        wanted = [columns.id > after, columns.id <= last, *([matches] if part else [])]
        found = await self._users(known, wanted, limit + 1)
        items = tuple(UserInfo.model_validate(each.shown()) for each in found[:limit])
        if len(found) > limit:
            return UserPage(items=items, cursor=cursor_of(UserPage, items[-1].id))
        more = part and await self._users(known, [columns.id > last], 1)
        return UserPage(items=items, cursor=cursor_of(UserPage, last) if more else None)

    async def _users(self, solution: str, wanted: list[Any], most: int) -> list[accounts.UserIdentity]:
        conditions = [filters.Condition(each) for each in wanted]
        read = self._platform.context.database.read
        return await read(filters.matching_users, solution, conditions, 0, most)


class SeriesInfo(Data):
    """A series of a time series service. field: empty for Tsdb, whose series have none."""

    name: str
    field: str
    tags: dict[str, str]


class SeriesPage(ListPage[SeriesInfo]):
    """Page of series."""


class SeriesControl:
    """Operations on the time series of a solution. Each raises LabError for an unknown solution."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def search(
        self,
        solution: Id,
        service: Literal["Tsdb", "Timeseries"] = "Tsdb",
        text: Line = "",
        limit: Limit = 100,
        cursor: Cursor | None = None,
    ) -> SeriesPage:
        """Return the series by name, field and tags. text: a part of the name, the field, or a tag."""
        known, after = self._platform.solutions.get(solution).id, read_cursor(SeriesPage, cursor, "", "", "")
        if service not in OWNERS:
            raise UnknownError(unknown("service of time series", service, OWNERS))
        store = SeriesStore(self._platform.context.database, OWNERS[service])
        rows = await store.after(known, after, (EXAMINED if text else limit) + 1)

        def made(series: Series) -> SeriesInfo | None:
            tags = series.tag_values()
            if not any(text in each for each in (series.name, series.field, *tags, *tags.values())):
                return None
            return SeriesInfo(name=series.name, field=series.field, tags=tags)

        return await page(SeriesPage, rows, limit, lambda each: each[1:], made)


class TimerInfo(Data):
    """A timer of a solution.

    message: as the journal shows it; repeats: once, interval, hourly, daily, weekly, monthly or yearly; every: seconds
    of an interval, None of other timers; due: Unix seconds of its next event.
    """

    timer_id: str
    message: Annotated[Any, JsonValue]
    repeats: str
    every: float | None
    due: float


class TimerPage(ListPage[TimerInfo]):
    """Page of timers."""


class TimersControl:
    """Operations on the timers of a solution. Each raises LabError for an unknown solution."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def all(self, solution: Id, limit: Limit = 100, cursor: Cursor | None = None) -> TimerPage:
        """Return the timers in the order in which they fire, with those of services/timer.yaml."""
        known, (due, place) = self._platform.solutions.get(solution).id, read_cursor(TimerPage, cursor, 0, 0)
        service = cast("TimerService", self._platform.context.services.get(TimerService.name))
        found = service.after(known, (due, place), limit + 1)
        return await page(TimerPage, found, limit, lambda each: (each.due, each.place), _timer)


def _timer(timer: SetTimer) -> TimerInfo:
    return TimerInfo(
        timer_id=timer.timer_id,
        message=redacted(json.loads(timer.message)),
        repeats=timer.repeats,
        every=timer.duration / 1000 if timer.repeats == INTERVAL else None,
        due=timer.due / MICROS,
    )
