"""Solutions: their routes, event handlers and what their scripts did."""

from __future__ import annotations

from collections.abc import Mapping

from labkit.control.data import Data, differences
from labkit.core.errors import SettingsError
from labkit.core.journal import Record
from labkit.platform import Platform
from labkit.settings import SolutionSettings
from labkit.solutions.solution import Solution

LOGGED = frozenset({"script", "log", "warning"})


class SolutionInfo(Data):
    """A solution at its domain, linked to products. warnings: what its author ought to know of its folder."""

    id: str
    domain: str
    url: str
    products: tuple[str, ...]
    warnings: tuple[str, ...]


class RouteInfo(Data):
    """A route. where: the file and line that say so, or `a cell`."""

    method: str
    path: str
    content_type: str
    where: str


class LogLine(Data):
    """A line of a solution's log.

    time: lab time in microseconds; level: of a printed line, `warning`, or `run`; run: what ran (`GET /metrics`);
    status: how a run ended, None while it is under way; text: the line, or the error of a run.
    """

    sequence: int
    time: int
    level: str
    run: str
    status: int | None
    text: str


class SolutionsControl:
    """The solutions of a lab. Each operation raises LabError for an unknown one."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def all(self) -> list[SolutionInfo]:
        """All of them."""
        return [self._info(each) for each in self._platform.solutions]

    async def get(self, id: str) -> SolutionInfo:
        """The solution of this id."""
        return self._info(self._platform.solutions.get(id))

    async def find(self, id: str) -> SolutionInfo | None:
        """As `get`; None where there is none."""
        return await self.get(id) if id in self._platform.context.solutions else None

    async def add(self, settings: SolutionSettings) -> SolutionInfo:
        """Raises SettingsError where the id or domain is taken, a product is unknown or the folder is wrong."""
        return self._info(await self._platform.solutions.add(settings))

    async def ensure(self, settings: SolutionSettings, replace: bool = False) -> SolutionInfo:
        """As `add`; one that is there with these very settings stays, with others it is replaced if so asked.

        Raises SettingsError telling how to change it where it has others.
        """
        if settings.id not in self._platform.context.solutions:
            return await self.add(settings)
        if replace:
            return self._info(await self._platform.solutions.replace(settings))
        if differ := differences(self._platform.solutions.get(settings.id).settings, settings):
            raise SettingsError(
                f"solution {settings.id!r} is there already with other settings: {differ}; pass replace=True for "
                f"these alone (what its services keep stays)"
            )
        return await self.get(settings.id)

    async def reload(self, id: str) -> SolutionInfo:
        """Read the folder of a solution anew, and run its set-up; routes and handlers that were added stay.

        Raises SettingsError naming file and line, and changes nothing, where the folder is wrong.
        """
        settings = self._platform.solutions.get(id).settings
        return self._info(await self._platform.solutions.replace(settings, keep=True))

    async def route(
        self, id: str, method: str, path: str, lua: str, content_type: str, replace: bool = False
    ) -> None:
        """Answer `method path` with a Lua script (Solution.route)."""
        solution = self._platform.solutions.get(id)
        solution.route(method, path, lua=lua, content_type=content_type, replace=replace)

    async def on(self, id: str, service: str, event: str, lua: str, replace: bool = False) -> None:
        """Handle an event with a Lua script (Solution.on)."""
        self._platform.solutions.get(id).on(service, event, lua=lua, replace=replace)

    async def routes(self, id: str) -> list[RouteInfo]:
        """Its routes, by path."""
        return [
            RouteInfo(method=each.method, path=each.path, content_type=each.content_type, where=each.where)
            for each in sorted(
                self._platform.solutions.get(id).routes, key=lambda each: (each.path, each.method)
            )
        ]

    async def logs(self, id: str) -> list[LogLine]:
        """What its scripts printed, how each run ended, and warnings, oldest first."""
        known = self._platform.solutions.get(id).id
        records = self._platform.context.journal.select(actor=known)
        runs = {each.sequence: each.summary for each in records if each.kind == "script"}
        return [_line(each, runs) for each in records if each.kind in LOGGED]

    def _info(self, solution: Solution) -> SolutionInfo:
        return SolutionInfo(
            id=solution.id,
            domain=solution.domain,
            url=self._platform.context.url(solution.domain),
            products=tuple(solution.products),
            warnings=tuple(solution.warnings),
        )


def _line(record: Record, runs: Mapping[int, str]) -> LogLine:
    detail = record.detail or {}
    if record.kind == "script":
        level, run, text = "run", record.summary, str(detail.get("error", ""))
    else:
        level = str(detail.get("level", "warning"))
        run, text = runs.get(record.cause or 0, ""), record.summary
    return LogLine(
        sequence=record.sequence, time=record.time, level=level, run=run, status=record.status, text=text
    )
