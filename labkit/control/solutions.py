"""Operations on solutions: settings, routes, event handlers and logs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from labkit.control.addresses import lab_address
from labkit.control.bounds import Id, Line, Script, alone, waits
from labkit.control.data import Data, copied, differences, in_slices
from labkit.control.following import Followed, Missed
from labkit.control.hints import missing_services, solution_files
from labkit.control.json_values import JsonValue
from labkit.control.uploads import SolutionFiles, Uploads
from labkit.core.errors import LabError, TakenError
from labkit.core.records import Record
from labkit.fleet.flow import FlowClient
from labkit.platform import Platform
from labkit.settings import SolutionSettings
from labkit.solutions.checking.event_hints import event_hint
from labkit.solutions.checking.listing import FileListing
from labkit.solutions.checking.review import CALLS_MISSING
from labkit.solutions.checking.shapes import ANY, DEVICES, given_to_handler
from labkit.solutions.checking.test_review import review_tests
from labkit.solutions.solution import PlatformSolution

NOT_YET = CALLS_MISSING  # handles know the warning by it
LOGGED = frozenset({"script", "log", "warning", "error"})
LONGEST = 2**20  # bytes of an answer that are returned
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]


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


class RouteAnswer(Data):
    """Answer of a solution to a request.

    status: HTTP status, None where the connection ended without an answer, whose reason is the body; headers: values by
    name in lower case; body: as text, the first MiB of it; size: bytes of the whole body.
    """

    status: int | None
    headers: dict[str, str] = Field(default={})
    body: str = ""
    size: int = 0


class FileProblem(Data):
    """Problem of a file. line: 0 for the whole file.

    level: `error` for a test file that does not compile, `warning`, or `note` of what may be intended.
    """

    line: int
    level: str
    text: str


class FileInfo(Data):
    """A file of a solution's folder.

    kind: `endpoints`, `handlers`, `module`, `set-up`, `configuration`, `asset`, `tests` or `other`; holds: its routes,
    events, module or asset as text; calls: service operations that its scripts call.
    """

    file: str
    kind: str
    holds: tuple[str, ...]
    calls: tuple[str, ...]
    problems: tuple[FileProblem, ...]


class SolutionCheck(Data):
    """Review of a solution. errors: for which `reload` refuses it; stubs: Python code by missing service."""

    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    files: tuple[FileInfo, ...]
    stubs: dict[str, str]


class HandlerInfo(Data):
    """An event handler that was added. warnings: sentences about an event that nothing in the lab emits."""

    service: str
    event: str
    warnings: tuple[str, ...] = ()


class ScriptResult(Data):
    """Result of a script that ran at once.

    value: that it returned; printed: lines that it printed, those of log.* with their level; error: its error with the
    line, None if it succeeded.
    """

    value: Annotated[Any, JsonValue]
    printed: tuple[str, ...]
    error: str | None


class LogLine(Data):
    """A line of a solution's log: a printed line, a warning, an answer that cannot be sent, or a run of a handler.

    sequence: number of the journal record; time: lab time in microseconds; level: level of a printed line, `warning`,
    `error`, or `run`; run: the handler's request or event (`GET /metrics`); status: status of a run, None until it
    ends; text: the printed line, the warning or the error.
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
        self._uploads = Uploads()

    async def all(self) -> list[SolutionInfo]:
        """Return all solutions."""
        return [self._info(each) for each in self._platform.solutions]

    async def get(self, id: Id) -> SolutionInfo:
        """Return the solution with this id."""
        return self._info(self._platform.solutions.get(id))

    async def find(self, id: Id) -> SolutionInfo | None:
        """Return the solution with this id, or None if there is none."""
        return await self.get(id) if id in self._platform.context.solutions else None

    @alone
    async def add(self, settings: SolutionSettings, files: SolutionFiles | None = None) -> SolutionInfo:
        """Add a solution.

        files: content of its folder as texts by path, instead of a `path` in the settings. Raises SettingsError if the
        id or the domain is in use, a product is unknown, or the folder has an error.
        """
        return self._info(await self._platform.solutions.add(await self._stored(settings, files)))

    @alone
    async def ensure(
        self, settings: SolutionSettings, replace: bool = False, files: SolutionFiles | None = None
    ) -> SolutionInfo:
        """Add a solution, or return the existing one if it has the same settings.

        replace: replace an existing solution that has other settings. Without it, raises TakenError that lists the
        differences and says how to change them. files: see `add`; an existing solution is compared without its files,
        as edits in a folder count with `reload` only.
        """
        if settings.id not in self._platform.context.solutions:
            return await self.add(settings, files)
        if replace:
            settings = await self._stored(settings, files)
            return self._info(await self._platform.solutions.replace(settings))
        there = self._platform.solutions.get(settings.id).settings
        if files is not None and self._uploads.holds(there.path):
            settings = settings.model_copy(update={"path": there.path})
        if differ := differences(there, settings):
            raise TakenError(
                f"solution {settings.id!r} is there already with other settings: {differ}; pass replace=True for "
                f"these alone (what its services keep stays)"
            )
        return await self.get(settings.id)

    @alone
    async def reload(self, id: Id, files: SolutionFiles | None = None) -> SolutionInfo:
        """Read the folder of a solution again and run its set-up; routes and handlers added from cells stay.

        files: new content of its folder, see `add`. Raises SettingsError with file and line, and changes nothing, if
        the folder has an error.
        """
        settings = await self._stored(self._platform.solutions.get(id).settings, files)
        return self._info(await self._platform.solutions.replace(settings, keep=True))

    async def route(
        self, id: Id, method: Id, path: Line, lua: Script, content_type: Line, replace: bool = False
    ) -> None:
        """Answer `method path` with a Lua script: see `Solution.route`."""
        solution = self._platform.solutions.get(id)
        solution.route(method, path, lua=lua, content_type=content_type, replace=replace)

    async def on(self, id: Id, service: Id, event: Id, lua: Script, replace: bool = False) -> HandlerInfo:
        """Handle an event with a Lua script: see `Solution.on`."""
        self._platform.solutions.get(id).on(service, event, lua=lua, replace=replace)
        return handler_info(self._platform, id, service, event)

    async def tables(self, service: Line, event: Line) -> dict[str, tuple[str, ...]]:
        """Return the fields of each table that the handler of an event gets, by name.

        service, event: or the method and the path of a route.
        """
        context = self._platform.context
        given = given_to_handler(service, event, context.events, context.products.names())
        tables = {name: tuple(fields) for name, fields in given.items() if name != ANY}
        if "response" not in tables:  # `event` is a further name of each event's argument
            tables.setdefault("event", next(iter(tables.values())))
        return tables

    async def module(self, id: Id, name: Id, lua: Script) -> None:
        """Add a module for `require` of a solution's scripts, or replace one: see `Solution.module`."""
        self._platform.solutions.get(id).module(name, lua)

    async def run(self, id: Id, lua: Script, name: Id = "script") -> ScriptResult:
        """Run a Lua script of a solution at once: see `Solution.run`. An error of the run is in the result.

        name: of the script in messages. Raises SettingsError with the line of a script that does not compile.
        """
        whole = self._platform.context.whole
        await whole.enter()
        whole.expect_working()
        outcome, printed = await self._platform.run_script(id, lua, name)
        return ScriptResult(value=copied(outcome.result), printed=tuple(printed), error=outcome.error)

    async def routes(self, id: Id) -> list[RouteInfo]:
        """Return the routes of a solution, sorted by path and method."""
        return [
            RouteInfo(method=each.method, path=each.path, content_type=each.content_type, where=each.where)
            for each in sorted(
                self._platform.solutions.get(id).routes, key=lambda each: (each.path, each.method)
            )
        ]

    @waits
    async def request(
        self,
        id: Id,
        method: Method,
        path: Line,
        body: Script = "",
        headers: Annotated[Mapping[Id, Line], Field(max_length=100)] | None = None,
    ) -> RouteAnswer:
        """Send a request to a solution, by HTTPS, and return the answer, also a refusal; see `Solution.request`.

        path: with its query; headers: by name; a body that is JSON has that content type unless they say otherwise.
        A redirect is an answer, too. Raises LabError for a path or a header that no request can have.
        """
        import httpx

        kind = {"Content-Type": "application/json"} if _is_json(body) else {}
        named = {each.lower() for each in headers or ()}
        sent = {**({} if "content-type" in named else kind), **(headers or {})}
        client = FlowClient(
            lab_address(self._platform), self._platform.solutions.get(id).domain, cookies=False
        )
        try:
            content = body.encode() if body else None
            target = path if path.startswith("/") else f"/{path}"
            answer = await client.request(method, target, headers=sent, content=content, patience=None)
        except (httpx.LocalProtocolError, httpx.InvalidURL, ValueError) as error:
            raise LabError(f"{method} {path:.200}: {error}") from None
        except httpx.RequestError as error:
            return RouteAnswer(status=None, body=str(error))
        finally:
            await client.close()
        return RouteAnswer(
            status=answer.status_code,
            headers=dict(answer.headers),
            body=answer.content[:LONGEST].decode(answer.encoding or "utf-8", "replace"),
            size=len(answer.content),
        )

    async def files(self, id: Id) -> list[FileInfo]:
        """Return the files of a solution's folder, each with what it holds and what is probably wrong in it."""
        solution = self._platform.solutions.get(id)
        listed = solution_files(self._platform, solution)
        listed += review_tests(solution, self._platform.services)
        return [_file(each) for each in listed]

    async def check(self, id: Id, files: SolutionFiles | None = None) -> SolutionCheck:
        """Check a solution's folder, and return its errors and warnings. No script runs, and nothing changes.

        files: content of its folder, see `add`.
        """
        settings = await self._stored(self._platform.solutions.get(id).settings, files)
        solution, errors = self._platform.solutions.unadded(settings)
        try:
            listed = solution_files(self._platform, solution)
            tests = review_tests(solution, self._platform.services)
            stubs = missing_services(self._platform, solution)
        finally:
            solution.close()
        found = [one for each in (*listed, *tests) for one in each.findings]
        if files is not None:  # where they are stored says nothing to who sent them
            errors = [each.removeprefix(f"{settings.path[0]}: ") for each in errors]
        return SolutionCheck(
            errors=(*errors, *(str(each) for each in found if each.level == "error")),
            warnings=tuple(str(each) for each in found if each.level == "warning"),
            files=tuple(map(_file, (*listed, *tests))),
            stubs=stubs,
        )

    async def logs(self, id: Id) -> list[LogLine]:
        """Return the log of a solution, oldest first: printed lines, warnings and the result of each run."""
        known = self._platform.solutions.get(id).id
        runs: dict[int, str] = {}
        lines: list[LogLine] = []
        async for some in in_slices(self._platform.context.journal.iterate(actor=known)):
            runs |= {each.sequence: each.summary for each in some if each.kind == "script"}
            lines += [_line(each, runs) for each in some if each.kind in LOGGED]
        return lines

    async def follow_logs(self, id: Id) -> AsyncIterator[LogLine | Missed]:
        """Return each line of a solution's log from now on; a run once it has ended. See `logs`."""
        known = self._platform.solutions.get(id).id
        journal = self._platform.context.journal

        def subscribe(add: Callable[[Record], object]) -> Callable[[], None]:
            def look(record: Record) -> None:
                if record.actor == known and record.kind in LOGGED:
                    add(record)

            return journal.watch(look, ended=True)

        def line(record: Record) -> LogLine:
            run = None if record.cause is None else journal.find(record.cause)
            return _line(record, {} if run is None or run.kind != "script" else {run.sequence: run.summary})

        return Followed(subscribe, line)

    async def _stored(self, settings: SolutionSettings, files: SolutionFiles | None) -> SolutionSettings:
        """Return the settings with the path at which the files are stored, if they are given."""
        if files is None:
            return settings
        return settings.model_copy(update={"path": (await asyncio.to_thread(self._uploads.store, files),)})

    def _info(self, solution: PlatformSolution) -> SolutionInfo:
        return SolutionInfo(
            id=solution.id,
            domain=solution.domain,
            url=self._platform.context.url(solution.domain),
            products=tuple(solution.products),
            warnings=tuple(solution.warnings),
        )


def _is_json(text: str) -> bool:
    """Return whether a text is an object or a list in JSON."""
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


def _file(listed: FileListing) -> FileInfo:
    return FileInfo(
        file=listed.file,
        kind=listed.kind,
        holds=tuple(listed.holds),
        calls=tuple(listed.calls),
        problems=tuple(
            FileProblem(line=each.line, level=each.level, text=each.text) for each in listed.findings
        ),
    )


def _line(record: Record, runs: Mapping[int, str]) -> LogLine:
    detail = record.detail or {}
    if record.kind == "script":
        level, run, text = "run", record.summary, str(detail.get("error", ""))
    else:
        level = str(detail.get("level", record.kind))
        run, text = runs.get(record.cause or 0, ""), record.summary
    return LogLine(
        sequence=record.sequence, time=record.time, level=level, run=run, status=record.status, text=text
    )


def handler_info(platform: Platform, solution: str, service: str, event: str) -> HandlerInfo:
    """Return the description of a solution's handler of an event."""
    hint = event_hint(platform.context, platform.services, solution, service, event)
    text = hint.text if hint else ""
    if not text and service.lower() in DEVICES and not platform.solutions.get(solution).products:
        text = (
            "is linked to no product, so that no event of a device reaches this handler: "
            f"lab.solution({solution!r}, products=…, replace=True) links it"
        )
    warnings = (f"solution {solution!r}: {text}",) if text else ()
    return HandlerInfo(service=service, event=event, warnings=warnings)
