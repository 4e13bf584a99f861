"""Hints about handlers and faults that can be added, but that nothing in the lab will reach."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from labkit.core.errors import did_you_mean
from labkit.device_api.api import ENDPOINTS
from labkit.faults.patterns import ANY, Pattern
from labkit.faults.rows import FaultRow
from labkit.platform import Platform
from labkit.providers.social.providers import SocialProviders
from labkit.services.operation import Caller
from labkit.settings import FaultSettings
from labkit.solutions.events import ANY_PRODUCT, DEVICE, DEVICE_DATA
from labkit.solutions.finding import Finding
from labkit.solutions.findings import missing_calls
from labkit.solutions.listing import FileListing, list_files, stub
from labkit.solutions.review import service_names
from labkit.solutions.solution import PlatformSolution
from labkit.solutions.solutions import folder_names

WRITE = "/onep:v1/stack/alias"


def settings_warnings(platform: Platform) -> Iterator[str]:
    """Yield sentences about handlers of solutions' folders and about faults that nothing will reach."""
    yield from handler_hints(platform)
    for row in platform.context.faults.rows():
        yield from fault_warnings(platform, row)


def handler_hints(platform: Platform) -> Iterator[str]:
    """Yield sentences about handlers of solutions' folders that nothing will reach.

    Only of those whose service or event has a similar name: a folder may have handlers for services that the lab lacks.
    """
    for solution in platform.solutions:
        for each in solution.folder.events:
            if hint := event_hint(platform, solution.id, each.service, each.event, similar=True):
                yield f"{folder_names(solution.settings) or solution.id}: {each.script.where}: {hint}"


def solution_files(platform: Platform, solution: PlatformSolution) -> list[FileListing]:
    """Return the files of a solution's folder, each with what is probably wrong in it."""
    findings = [*platform.solutions.findings(solution), *_unreached(platform, solution)]
    return list_files(solution.folder, findings)


def missing_services(platform: Platform, solution: PlatformSolution) -> dict[str, str]:
    """Return Python code of a stub by service, for the services that a solution's scripts call and that are missing."""
    calls = missing_calls(solution.folder, service_names(solution, platform.services))
    return {name: stub(name, calls) for name in dict.fromkeys(call.service for call in calls)}


def missing_service_warnings(platform: Platform) -> Iterator[str]:
    """Yield a sentence about each missing service that a script calls, unless loading the solution has said it."""
    for solution in platform.solutions:
        folder = folder_names(solution.settings) or solution.id
        for each in platform.solutions.findings(solution):
            if each.level == "warning" and str(each) not in solution.warnings:
                yield f"{folder}: {each}"


def _unreached(platform: Platform, solution: PlatformSolution) -> Iterator[Finding]:
    """Yield a finding for each handler whose event nothing emits: a note, if no other name is similar."""
    for each in solution.folder.events:
        if hint := event_hint(platform, solution.id, each.service, each.event):
            similar = event_hint(platform, solution.id, each.service, each.event, similar=True)
            yield Finding(each.script.file, each.script.line, "warning" if similar else "note", hint)


def event_hint(platform: Platform, solution: str, service: str, event: str, *, similar: bool = False) -> str:
    """Return a sentence about an event that nothing emits to this solution; empty where something may.

    similar: whether to return the sentence only if an existing name is similar.
    """
    kinds: dict[str, set[str]] = {}
    for each in platform.context.events.kinds():
        kinds.setdefault(each.service.lower(), set()).update({each.event.lower(), each.type.lower()} - {""})
    # Solutions choose freely between the older and the newer key of a device's event.
    of_devices = kinds.get(DEVICE, set()) | kinds.get(DEVICE_DATA, set())
    emitting = sorted(kinds)
    products = [ANY_PRODUCT, *(each.id for each in platform.devices.products)]
    kinds.update(dict.fromkeys([DEVICE, DEVICE_DATA, *products], of_devices))
    others = {name.lower() for name in platform.services.operations(Caller(solution))}
    others |= {each.id for each in platform.solutions} - kinds.keys()
    service, event = service.lower(), event.lower()
    if service not in kinds:
        if service in others:
            return ""
        there = did_you_mean(service, {*kinds, *others})
        if similar and not there:
            return ""
        there = there or f"; there are: {', '.join(emitting)}"
        return f"nothing emits events of {service!r} yet, so that this handler does not run{there}"
    if ANY in kinds[service] or event in kinds[service]:
        return ""
    there = did_you_mean(event, kinds[service])
    if similar and not there:
        return ""
    there = there or f"; there are: {', '.join(sorted(kinds[service]))}"
    return f"{service} has no event {event!r}, so that this handler does not run{there}"


def fault_warnings(platform: Platform, row: FaultRow) -> tuple[str, ...]:
    """Return the sentence about an added fault that can hit nothing; an empty tuple if it may hit something."""
    hint = ""
    if not row.seen:
        hint = platform.context.faults.unknown_name(row.settings) or fault_hint(platform, row.settings)
    return (f"fault {row.name!r} at {row.where!r}: {hint}",) if hint else ()


def fault_hint(platform: Platform, fault: FaultSettings) -> str:
    """Return a sentence about a fault that can hit nothing, though it may be added; empty where it perhaps can."""
    kind, method, path = fault.place
    if kind != "request":
        return ""
    known = list(dict.fromkeys(_paths(platform)))
    bare = path.partition("?")[0]
    patterns = (Pattern(path), Pattern(bare))
    if not any(Pattern(each).matches(bare) or any(one.matches(each) for one in patterns) for each in known):
        if similar := did_you_mean(bare, known):
            return f"no request has the path {path!r}{similar}"
        return ""
    changes = [*(fault.replace or ()), *(fault.drop or ()), *(fault.edit or ())]
    of_body = [name for name in changes if name[:1] not in "@?/"]
    if (method, path) == ("POST", WRITE) and of_body and fault.phase == "after":
        return f"the answer to a write has no body with {of_body[0]!r}; when='before' changes the request"
    return ""


def _paths(platform: Platform) -> Iterator[str]:
    """Yield the paths that sites of the lab answer; parts that vary are `*`."""
    yield from ENDPOINTS
    for solution in platform.solutions:
        for route in solution.routes:
            yield "/".join(ANY if part.startswith(("{", ":")) else part for part in route.path.split("/"))
    for provider in platform.provider(SocialProviders):
        yield from (urlsplit(url).path for url in provider.endpoints().values())
