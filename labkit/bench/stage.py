"""Labs with a number of stored items, and operations on them whose cost is compared at two sizes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from labkit.bench.control import BenchError
from labkit.control.control import Control
from labkit.labtime.clock import Clock
from labkit.platform import Platform
from labkit.settings import LabSettings, build
from labkit.storage.database import execute_many

PAGE, SCAN = 1.5, 12.0  # times that an operation may cost among ten times as many items
RESOURCES = {"number": {"format": "number", "settable": True}}
SETTINGS = {
    "https_port": 0,
    "products": [{"id": each, "resources": RESOURCES} for each in ("thing", "other")],
    "solutions": [{"id": "home", "products": ["thing"]}, {"id": "other", "products": ["other"]}],
}


class Stage:
    """A lab with two solutions, `home` and `other`, each with a product: `thing` and `other`. size: items stored."""

    def __init__(self, platform: Platform, size: int) -> None:
        self.platform = platform
        self.control = Control(platform)
        self.size = size

    async def call(self, service: str, operation: str, *, solution: str = "home", **parameters: Any) -> Any:
        """Return the result of a service's operation. Raises BenchError for an error object."""
        result = await self.platform.call(solution, service, operation, parameters)
        if isinstance(result, Mapping) and "error" in result:
            raise BenchError(f"{service}.{operation}: {result['error']}")
        return result

    async def store(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each row, in one transaction."""
        await self.platform.context.database.run(execute_many, statement, rows)


Fill = Callable[[Stage], Awaitable[object]]
Call = Callable[[Stage], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Row:
    """An operation. fill: stores `size` of what it depends on, once for the rows that share it.

    call: calls the operation, and leaves the lab as it was; most: times its cost, at ten times as many items.
    """

    name: str
    fill: Fill
    call: Call
    most: float


def page(name: str, fill: Fill, call: Call) -> Row:
    """Return the row of an operation on a page, or on a single item."""
    return Row(name, fill, call, PAGE)


def scan(name: str, fill: Fill, call: Call) -> Row:
    """Return the row of an operation that counts or walks over all items."""
    return Row(name, fill, call, SCAN)


def service(name: str, **parameters: Any) -> Call:
    """Return a call of a service's operation, such as `User.getUser`, by `home` unless `solution` is given."""
    of, _, operation = name.partition(".")

    async def call(stage: Stage) -> object:
        return await stage.call(of, operation, **parameters)

    return call


def control(name: str, *args: Any, **named: Any) -> Call:
    """Return a call of a control operation, such as `journal.last`."""
    subject, _, operation = name.partition(".")

    async def call(stage: Stage) -> object:
        return await getattr(getattr(stage.control, subject), operation)(*args, **named)

    return call


@asynccontextmanager
async def filled(fill: Fill, size: int) -> AsyncIterator[Stage]:
    """Start a lab with `size` items, until the end of the block."""
    async with Platform(build(LabSettings, SETTINGS, ""), clock=Clock(0.0)) as platform:
        stage = Stage(platform, size)
        await fill(stage)
        await platform.settle()
        yield stage
