"""Model game of remote procedure calls: two devices of one product, and a namesake in another that two tenants have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from labkit.conformance.models.calls import Refused
from labkit.conformance.models.commands import Commands, one_of, several, together
from labkit.conformance.models.game import LONG, ScriptGame
from labkit.conformance.probe import PROBE
from labkit.conformance.solutions.rpc.model import ModelDevice, Point
from labkit.conformance.solutions.rpc.rpc import ALIASES, LAMP, PRODUCT

# Solution, product and number of the device; the last two are the same device.
PLACES = ((0, PRODUCT, 0), (0, PRODUCT, 1), (0, LAMP, 0), (1, LAMP, 0))
LATEST = 10**12

TIMES = (0, 1, 2, 9, 10, 11, 20, 50, 99, 100, 1000)
NUMBERS = (0, 1, -1, 2.5, 100, 100.5, 1e300)
TEXTS = ("", "x", "ü \N{BELL}", "1", "a=b&c")
NAMES = ("room", "Room", "ü", "id")
VALUES = ("", "hall", "Hall", "\N{BELL}", "5")
STAMPS = one_of(TIMES, [-(10**11)])
BOUNDS = (*TIMES, LATEST)


def points(values: tuple[Any, ...]) -> Any:
    """Return a strategy for points with one of the values."""
    return several(together(STAMPS, values), 5, unique_by=lambda each: each[0])


command = Commands(
    place=[0, 0, 1, 2, 3],
    alias=("number", "number", "text", "level"),
    start=TIMES,
    end=BOUNDS,
    order=("asc", "desc"),
    limit=(1, 2, 3, 10_000),
    selection=("all", "all", "givenwindow", "autowindow"),
    batch=bool,
    replace=bool,
)


class Procedures(ScriptGame):
    """One game. place: index in PLACES."""

    default = "SOL-RPC-1"

    average = LONG
    solutions = (PROBE, "lamps")
    ordered = True

    async def begin(self) -> None:
        """Add the devices, and look up their rids."""
        self._names = [self._target.identity() for _ in range(2)]
        self._devices = {(product, number): ModelDevice() for _, product, number in PLACES}
        self._rids: dict[tuple[str, int], str] = {}
        for product, number in self._devices:
            which = {"identity": self._names[number], "pid": product}
            await self._calls.call(0, "Device2.addIdentity", which)
            look_up = {"id": 1, "procedure": "lookup", "arguments": ["alias", self._names[number]]}
            found = await self._calls.call(0, "Device.rpcCall", {"pid": product, "calls": [look_up]})
            value = found.value if isinstance(found.value, list) else [{}]
            self._rids[product, number] = str(value[0].get("result"))

    async def end(self) -> None:
        """Read everything."""
        for place in range(len(PLACES)):
            for alias in ALIASES:
                await self.read(place, alias, 0, LATEST, "asc", 10_000, "all")
            await self.tags(place)
        await self._calls.send()

    # ---- commands

    @command(alias=["text"], pairs=points(TEXTS))
    @command(alias=["level"], pairs=points(NUMBERS))
    @command(alias=["number"], pairs=points((*NUMBERS, "warm")))
    async def record(self, place: int, alias: str, pairs: Sequence[Point], batch: bool) -> None:
        """Record points, as a batch or all or none."""
        device = self._device(place)

        def change() -> Any:
            invalid = device.record(alias, pairs, all_or_none=not batch)
            return "failed" if invalid and not batch else [invalid or "ok"]

        procedure = "recordbatch" if batch else "record"
        self._compare(
            place, procedure, [{"alias": alias}, [list(each) for each in pairs]], "SOL-RPC-6", change
        )

    @command(alias=("number", "text", "level", ""), newer=(-1, *TIMES), older=BOUNDS)
    async def flush(self, place: int, alias: str, newer: int, older: int) -> None:
        """Delete points of a resource, or of all with an empty alias."""
        options = {"newerthan": newer, "olderthan": older}

        def change() -> Any:
            self._device(place).flush([alias] if alias else ALIASES, newer, older)
            return ["ok"]

        self._compare(place, "flush", [{"alias": alias}, options], "SOL-RPC-7", change)

    @command(2)
    async def read(
        self, place: int, alias: str, start: int, end: int, order: str, limit: int, selection: str
    ) -> None:
        """Read points."""
        options = {"starttime": start, "endtime": end, "sort": order, "limit": limit, "selection": selection}

        def change() -> Any:
            return ["ok", self._device(place).read(alias, start, end, order, limit, selection)]

        self._compare(place, "read", [{"alias": alias}, options], "SOL-RPC-5", change)

    @command(alias=("text", "flag"))
    async def storage(self, place: int, alias: str) -> None:
        """Read what is stored."""

        def change() -> Any:
            return ["ok", {"storage": self._device(place).storage(alias)}]

        self._compare(place, "info", [{"alias": alias}, {"storage": True}], "SOL-RPC-3", change)

    @command(tags=several(together(NAMES, VALUES), 3, 1))
    async def add_tags(self, place: int, tags: Sequence[tuple[str, str]], replace: bool) -> None:
        """Add tags."""

        def change() -> Any:
            self._device(place).add_tags(tags, replace=replace)
            return {}

        given = [{"name": name, "value": value} for name, value in tags]
        self._of_device2(place, "addIdentityTag", {"tags": given, "replace": replace}, change)

    @command(tags=several(together(NAMES, (*VALUES, None)), 2))
    async def remove_tags(self, place: int, tags: Sequence[tuple[str, str | None]]) -> None:
        """Remove tags."""

        def change() -> Any:
            self._device(place).remove_tags(tags)
            return {}

        given = [{"name": name} if value is None else {"name": name, "value": value} for name, value in tags]
        self._of_device2(place, "removeIdentityTag", {"tags": given}, change)

    @command()
    async def tags(self, place: int) -> None:
        """Read the tags."""

        def change() -> Any:
            tags = sorted(self._device(place).tags)
            return {"tags": [{"name": name, "value": value} for name, value in tags]}

        self._of_device2(place, "getIdentityTag", {}, change)

    @command()
    async def unknown(self, place: int) -> None:
        """Read tags of a device that there is not."""

        def change() -> Any:
            raise Refused("SOL-DEV-12", 404)

        self._of_device2(place, "getIdentityTag", {"identity": f"{self._names[0]} none"}, change)

    # ---- calls

    def _device(self, place: int) -> ModelDevice:
        _, product, number = PLACES[place]
        return self._devices[product, number]

    def _compare(
        self, place: int, procedure: str, arguments: Sequence[Any], rule: str, change: Callable[[], Any]
    ) -> None:
        solution, product, number = PLACES[place]
        call = {"id": "a", "procedure": procedure, "arguments": arguments}
        auth = {"client_id": self._rids[product, number]}
        given = {"pid": product, "auth": auth, "calls": [call]}
        self._calls.compare(solution, "Device.rpcCall", given, rule, change, _outcome)

    def _of_device2(
        self, place: int, operation: str, given: dict[str, Any], change: Callable[[], Any]
    ) -> None:
        solution, product, number = PLACES[place]
        given = {"pid": product, "identity": self._names[number], **given}
        self._calls.compare(solution, f"Device2.{operation}", given, "SOL-DEV-12", change, _plain)


def _outcome(found: Any) -> Any:
    """Return the status and the result of the only call of a request, `failed` for one that failed."""
    if not isinstance(found, list) or len(found) != 1 or not isinstance(found[0], dict):
        return found
    entry = found[0]
    if "error" in entry:
        return "failed"
    return [entry.get("status"), *([entry["result"]] if "result" in entry else [])]


def _plain(found: Any) -> Any:
    """Return a result in which an empty table is a table, and an empty list of tags a list."""
    if found == []:
        return {}
    if isinstance(found, dict) and found.get("tags") == {}:
        return {"tags": []}
    return found
