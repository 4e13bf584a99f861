"""Operations on solutions: settings, routes, event handlers and logs."""

from __future__ import annotations

from collections.abc import Mapping

from labkit.control.data import Data, differences
from labkit.control.hints import event_hint
from labkit.core.errors import TakenError
from labkit.core.records import Record
from labkit.platform import Platform
from labkit.settings import SolutionSettings
from labkit.solutions.solution import PlatformSolution

LOGGED = frozenset({"script", "log", "warning"})


class SolutionInfo(Data):
    """A solution. products: ids of the linked products; warnings: likely mistakes found in its folder."""

    id: str
    domain: str
    url: str
    products: tuple[str, ...]
    warnings: tuple[str, ...]


class RouteInfo(Data):
    """A route of a solution. where: file and line of its definition, or `a cell`."""

    method: str
    path: str
    content_type: str
    where: str


class LogLine(Data):
    """A line of a solution's log: a printed line, a warning, or a run of a handler.

    sequence: number of the journal record; time: lab time in microseconds; level: level of a printed line, `warning`,
    or `run`; run: the handler's request or event (`GET /metrics`); status: status of a run, None until it ends; text:
    the printed line or the warning, or the error of a run.
    """

    sequence: int
    time: int
    level: str
    run: str
    status: int | None
    text: str


class SolutionsControl:
    """Operations on the solutions of a lab. Each raises LabError for an unknown solution."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def all(self) -> list[SolutionInfo]:
        """Return all solutions."""
        return [self._info(each) for each in self._platform.solutions]

    async def get(self, id: str) -> SolutionInfo:
        """Return the solution with this id."""
        return self._info(self._platform.solutions.get(id))

    async def find(self, id: str) -> SolutionInfo | None:
        """Return the solution with this id, or None if there is none."""
        return await self.get(id) if id in self._platform.context.solutions else None

    async def add(self, settings: SolutionSettings) -> SolutionInfo:
        """Add a solution.

        Raises SettingsError if the id or the domain is in use, a product is unknown, or the folder has an error.
        """
        return self._info(await self._platform.solutions.add(settings))

    async def ensure(self, settings: SolutionSettings, replace: bool = False) -> SolutionInfo:
        """Add a solution, or return the existing one if it has the same settings.

        replace: replace an existing solution that has other settings. Without it, raises TakenError that lists the
        differences and says how to change them.
        """
        if settings.id not in self._platform.context.solutions:
            return await self.add(settings)
        if replace:
            return self._info(await self._platform.solutions.replace(settings))
        if differ := differences(self._platform.solutions.get(settings.id).settings, settings):
            raise TakenError(
                f"solution {settings.id!r} is there already with other settings: {differ}; pass replace=True for "
                f"these alone (what its services keep stays)"
            )
        return await self.get(settings.id)

    async def reload(self, id: str) -> SolutionInfo:
        """Read the folder of a solution again and run its set-up; routes and handlers added from cells stay.

        Raises SettingsError with file and line, and changes nothing, if the folder has an error.
        """
        settings = self._platform.solutions.get(id).settings
        return self._info(await self._platform.solutions.replace(settings, keep=True))

    async def route(
        self, id: str, method: str, path: str, lua: str, content_type: str, replace: bool = False
    ) -> None:
        """Answer `method path` with a Lua script: see `Solution.route`."""
        solution = self._platform.solutions.get(id)
        solution.route(method, path, lua=lua, content_type=content_type, replace=replace)

    async def on(self, id: str, service: str, event: str, lua: str, replace: bool = False) -> None:
        """Handle an event with a Lua script: see `Solution.on`."""
        self._platform.solutions.get(id).on(service, event, lua=lua, replace=replace)

    async def event_hint(self, id: str, service: str, event: str) -> str:
        """Return a sentence about an event that nothing emits to this solution; empty where something may."""
        self._platform.solutions.get(id)
        return event_hint(self._platform, id, service, event)

    async def routes(self, id: str) -> list[RouteInfo]:
        """Return the routes of a solution, sorted by path and method."""
        return [
            RouteInfo(method=each.method, path=each.path, content_type=each.content_type, where=each.where)
            for each in sorted(
                self._platform.solutions.get(id).routes, key=lambda each: (each.path, each.method)
            )
        ]

    async def logs(self, id: str) -> list[LogLine]:
        """Return the log of a solution, oldest first: printed lines, warnings and the result of each run."""
        known = self._platform.solutions.get(id).id
        records = self._platform.context.journal.select(actor=known)
        runs = {each.sequence: each.summary for each in records if each.kind == "script"}
        return [_line(each, runs) for each in records if each.kind in LOGGED]

    def _info(self, solution: PlatformSolution) -> SolutionInfo:
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
