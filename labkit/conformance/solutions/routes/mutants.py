"""Faults of routes: which script answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from labkit.conformance.mutant import mutant
from labkit.http.sites import HostTable, Site
from labkit.solutions.lua.environments import Environment, Environments
from labkit.solutions.routes import Node, Route, Routes
from labkit.solutions.scripted import RouteHandler
from labkit.solutions.site import SolutionSite
from labkit.solutions.solution import Solution


@mutant("SOL-ROUTE-1 SOL-MET-2", "labkit.solutions.solution:Solution.run")
def runs_once(original: Any) -> Any:
    """a script that gave something gives it again without running"""
    given: dict[tuple[str, str], object] = {}

    async def broken(self: Solution, what: str, *rest: Any) -> object:
        if (self.id, what) not in given:
            result = await original(self, what, *rest)
            if result is None:
                return None
            given[self.id, what] = result
        return given[self.id, what]

    return broken


@mutant("SOL-ROUTE-1 SOL-ROUTE-2", "labkit.http.sites:HostTable.at")
def first_solution(original: Any) -> Any:
    """every solution's domain leads to the first solution"""

    def broken(self: HostTable, host: str) -> Site | None:
        site: Site | None = original(self, host)
        first = (each for each in self if isinstance(each, SolutionSite))
        return next(first) if isinstance(site, SolutionSite) else site

    return broken


@mutant("SOL-ROUTE-3", "labkit.solutions.routes:Node.ends")
def placeholders_first(original: Any) -> Any:
    """a placeholder goes before an exact segment"""

    def broken(self: Node, segments: list[str], values: tuple[str, ...] = ()) -> Iterator[Any]:
        if segments and segments[0] and self.any is not None:
            yield from self.any.ends(segments[1:], (*values, segments[0]))
        yield from original(self, segments, values)

    return broken


@mutant("SOL-ROUTE-3 SOL-REQ-2", "labkit.solutions.routes:Routes.match")
def not_decoded(original: Any) -> Any:
    """the value of a placeholder is as it stands in the path"""

    def broken(self: Routes, method: str, path: str) -> Any:
        match = original(self, method, path)
        return replace(match, parameters={n: quote(v, safe="") for n, v in match.parameters.items()})

    return broken


@mutant("SOL-ROUTE-5", "labkit.solutions.scripts:endpoints", from_start=True)
def one_a_file(original: Any) -> Any:
    """the last header of a file counts alone"""
    return lambda file, text: original(file, text)[-1:]


@mutant("SOL-ROUTE-5 SOL-REQ-4", "labkit.solutions.scripts:endpoints", from_start=True)
def no_content_types(original: Any) -> Any:
    """the content type in a header is not heeded"""
    return lambda file, text: [
        replace(each, content_type="application/json") for each in original(file, text)
    ]


@mutant("SOL-ROUTE-6", "labkit.solutions.routes:Routes.add")
def later_wins(original: Any) -> Any:
    """of two routes with one method and path the later one counts"""

    def broken(self: Routes, route: Route) -> None:
        self.replace(route)

    return broken


@mutant("SOL-ROUTE-7", "labkit.solutions.lua.environments:Environments.take")
def one_environment(original: Any) -> Any:
    """all runs of a solution share their globals, also with one that waits"""
    shared: dict[Environments, Environment] = {}

    def broken(self: Environments) -> Environment:
        taken = original(self)
        if self not in shared or shared[self].revision != taken.revision:
            shared[self] = taken
        elif taken is not shared[self]:
            self.give_back(taken)
        return shared[self]

    return broken


@mutant("SOL-ROUTE-7", "labkit.solutions.scripted:RouteHandler.__call__")
def newest_request(original: Any) -> Any:
    """runs that overlap all have the request that came last"""
    newest: dict[RouteHandler, Any] = {}

    async def broken(self: RouteHandler, arguments: Any, run: Any) -> object:
        newest[self] = arguments["request"]
        await asyncio.sleep(0.02)
        return await original(self, {**arguments, "request": newest[self]}, run)

    return broken
