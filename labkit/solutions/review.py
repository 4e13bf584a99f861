"""Review of a solution on its platform: likely mistakes in its folder, its settings and its scripts. Nothing runs."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from labkit.core.errors import did_you_mean
from labkit.core.events import Events
from labkit.services.calls import Services
from labkit.services.operation import Caller
from labkit.solutions import web_settings
from labkit.solutions.finding import Finding
from labkit.solutions.findings import of_calls, of_globals, of_modules
from labkit.solutions.solution import PlatformSolution


def findings(
    solution: PlatformSolution, services: Services, *, only_similar: bool = False
) -> Iterator[Finding]:
    """Yield what is probably wrong in the scripts of a solution's folder, and notes of what may be intended.

    only_similar: leave out missing services whose names resemble no other, which may be added or subscribed to later.
    """
    known = services.operations(Caller(solution.id))
    operations = {each.name: known.get(each.name, {}) for each in services}
    names = service_names(solution, services)
    yield from of_calls(solution.folder, operations, names, only_similar=only_similar)
    yield from of_modules(solution.folder)
    yield from of_globals(solution.folder)


def service_names(solution: PlatformSolution, services: Services) -> set[str]:
    """Return the names under which a solution's scripts reach services, also other solutions and products."""
    subscribed = {each.script_key or each.publisher for each in solution.settings.subscriptions}
    return {*services.operations(Caller(solution.id)), *solution.settings.aliases, *subscribed}


def likely_mistakes(
    solution: PlatformSolution, services: Services, events: Events, *, only_similar: bool
) -> Iterator[str]:
    """Yield sentences about likely mistakes: names in its folder and settings that nothing has, and in its scripts."""
    yield from solution.folder.warnings
    for name in solution.settings.services:  # a service with another name may be added later
        similar = did_you_mean(name, (each.name for each in services))
        if similar and name.lower() != web_settings.SERVICE:
            yield f"services.{name}: no service has this name{similar}"
    emitting = {each.service.lower() for each in events.kinds()}
    by_name = {each.name.lower(): each.name for each in services}
    for name in solution.folder.configuration:
        close = get_close_matches(name.lower(), by_name, n=1)
        if close and name.lower() not in {*by_name, *emitting}:
            yield f"{name}.yaml: no service has this name; did you mean {by_name[close[0]]}?"
    found = findings(solution, services, only_similar=only_similar)
    yield from (str(each) for each in found if each.level == "warning")
