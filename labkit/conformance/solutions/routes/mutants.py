"""Code mutants of routes: selection of the script that answers."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from labkit.conformance.breaking import change_result
from labkit.conformance.mutant import mutant, patch
from labkit.solutions.lua.environments import Environment, Environments
from labkit.solutions.scripted import RouteHandler

ENDPOINTS = "labkit.solutions.folders.scripts:endpoints"

one_a_file = patch("SOL-ROUTE-5", ENDPOINTS, "only the last header of a file counts", from_start=True)(
    change_result(lambda found: found[-1:])
)
no_content_types = patch(
    "SOL-ROUTE-5 SOL-REQ-4", ENDPOINTS, "the content type in a header is ignored", from_start=True
)(change_result(lambda found: [replace(each, content_type="application/json") for each in found]))
later_wins = patch(
    "SOL-ROUTE-6",
    "labkit.solutions.web.routes:Routes.add",
    "the later of two routes with the same method and path wins",
)(lambda original, self, route: self.replace(route))


@mutant("SOL-ROUTE-7", "labkit.solutions.lua.environments:Environments.take", alone=True)
def one_environment(original: Any) -> Any:
    """all runs of a solution share their globals, also with a run that waits"""
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
    """concurrent runs all see the newest request"""
    newest: dict[RouteHandler, Any] = {}

    async def broken(self: RouteHandler, arguments: Any, run: Any) -> object:
        newest[self] = arguments["request"]
        await asyncio.sleep(0.02)
        return await original(self, {**arguments, "request": newest[self]}, run)

    return broken


@patch("SOL-ROUTE-1", "labkit.solutions.web.routes:Routes.match")
def any_case(original: Any, self: Any, method: str, path: str) -> Any:
    """paths are matched without regard to case"""
    found = original(self, method, path)
    return found if found.route or found.allowed else original(self, method, path.lower())
