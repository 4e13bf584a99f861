"""Review of a solution on its platform: likely mistakes in its folder, its settings and its scripts. Nothing runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from labkit.context import Context
from labkit.core.errors import ServiceError, did_you_mean
from labkit.services.calls import Services
from labkit.services.operation import WITHOUT_EFFECT, Caller
from labkit.solutions.checking.event_hints import EventHint, hint_of_script
from labkit.solutions.checking.script_review import (
    MissingService,
    of_arguments,
    of_globals,
    of_modules,
    of_operations,
    of_services,
)
from labkit.solutions.checking.shapes import Given, given_to_scripts
from labkit.solutions.checking.unknown_names import of_names
from labkit.solutions.folders import configuration
from labkit.solutions.folders.folder_finding import FolderFinding, warning
from labkit.solutions.folders.scripts import EventScript, ScriptSource
from labkit.solutions.folders.specs import ROLES
from labkit.solutions.solution import PlatformSolution
from labkit.solutions.web import web_settings

DEVICE2 = "device2"  # service whose parameters describe a product
CALLS_MISSING = "calls services that are not there yet"  # the beginning of a warning at load


def findings(solution: PlatformSolution, context: Context, services: Services) -> Iterator[FolderFinding]:
    """Yield what is probably wrong in a solution's folder, settings and scripts, and notes of what may be intended."""
    yield from _at_once(solution, context, services)
    yield from (each.finding() for each in _missing(solution, services))
    for handler, hint in _unreached(solution, context, services):
        yield warning(handler.script.file, hint.text, handler.script.line)
    yield from of_globals(solution.folder, _given(solution, context))
    create = services.find(Caller(solution.id), "User", "createRole")
    assert create is not None
    for role in solution.folder.roles:
        try:
            create.arguments({"role_id": role.role_id, "parameter": [*role.parameter]})
        except ServiceError as error:
            yield warning(ROLES, f"role {role.role_id!r}: {error}")


def warnings_at_load(solution: PlatformSolution, context: Context, services: Services) -> Iterator[str]:
    """Yield the warnings of `findings` for a solution that was just loaded.

    A missing service and an event that nothing emits may be added later, by the next line of a cell. So each kind is
    one sentence, unless its name resembles another; a service with the name of a solution in the lab is left out, since
    a subscription follows.
    """
    found = list(_at_once(solution, context, services))
    yield from (str(each) for each in found if each.level == "warning")
    if unused := [
        str(each).removesuffix(f": {WITHOUT_EFFECT}") for each in found if WITHOUT_EFFECT in each.text
    ]:
        yield f"without an effect in labkit: {', '.join(unused)}"
    calls, events = [], []
    for each in _missing(solution, services):
        if each.similar:
            yield str(each.finding())
        elif each.call.service.lower() not in context.solutions:
            calls.append(f"{each.call.service} ({each.call.file}:{each.call.line})")
    for handler, hint in _unreached(solution, context, services):
        if hint.is_similar:
            yield f"{handler.script.where}: {hint.text}"
        else:
            events.append(f"{handler.service} {handler.event} ({handler.script.where})")
    if calls:
        way = "`stubs` in lab.yaml, lab.service or a subscription adds one"
        yield f"{CALLS_MISSING}: {', '.join(calls)}; {way}"
    if events:
        yield f"handles events that nothing emits yet: {', '.join(events)}"


def service_names(solution: PlatformSolution, services: Services) -> set[str]:
    """Return the names under which a solution's scripts reach services, also other solutions and products."""
    subscribed = {each.script_key or each.publisher for each in solution.settings.subscriptions}
    return {*services.operations(Caller(solution.id)), *solution.settings.aliases, *subscribed}


def _at_once(solution: PlatformSolution, context: Context, services: Services) -> Iterator[FolderFinding]:
    """Yield the findings that nothing added later can make wrong."""
    folder, settings = solution.folder, solution.settings.services
    yield from folder.findings
    yield from _names(solution, context, services)
    yield from configuration.of_keys(folder.configured, settings, services)
    for each in folder.configured:
        if each.service.lower() == DEVICE2 and len(solution.products) > 1:
            names = ", ".join(solution.products)
            yield warning(
                each.file, f"describes one product, and its solution has several: {names}; not used"
            )
    yield from web_settings.of_keys(
        folder.configured, settings, {tag for each in folder.endpoints for tag in each.tags.tags}
    )
    known = services.operations(Caller(solution.id))
    yield from of_operations(folder, {each.name: known.get(each.name, {}) for each in services})
    yield from of_arguments(folder, solution.id, services)
    yield from of_modules(folder)
    yield from of_names(folder, _given(solution, context), service_names(solution, services))


def _given(solution: PlatformSolution, context: Context) -> Mapping[ScriptSource, Given]:
    products = {each: context.products.get(each).settings.resources for each in context.products.names()}
    return dict(given_to_scripts(solution.folder, context.events, products))


def _names(solution: PlatformSolution, context: Context, services: Services) -> Iterator[FolderFinding]:
    """Yield a warning for each name of a service in files and settings that resembles another one."""
    for name in solution.settings.services:  # a service with another name may be added later
        similar = did_you_mean(name, [*(each.name for each in services), web_settings.SERVICE])
        if similar and name.lower() != web_settings.SERVICE:
            yield warning(f"services.{name}", f"no service has this name{similar}")
    emitting = {each.service.lower() for each in context.events.kinds()}
    by_name = {each.name.lower(): each.name for each in services}
    for file in solution.folder.configured:
        name = file.service.lower()
        close = get_close_matches(name, [*by_name, web_settings.SERVICE], n=1)
        if close and name not in {*by_name, *emitting}:
            right = by_name.get(close[0], close[0])
            yield warning(file.file, f"no service has this name; did you mean {right}?")


def _missing(solution: PlatformSolution, services: Services) -> Iterator[MissingService]:
    names = [each.name for each in services]
    return of_services(solution.folder, names, service_names(solution, services))


def _unreached(
    solution: PlatformSolution, context: Context, services: Services
) -> Iterator[tuple[EventScript, EventHint]]:
    """Yield each handler of the folder whose event nothing emits."""
    for each in solution.folder.events:
        if hint := hint_of_script(context, services, solution.id, each):
            yield each, hint
