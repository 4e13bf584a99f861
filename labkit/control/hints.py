"""Hints about faults that nothing in the lab will reach, and the review of a solution's files."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from labkit.core.errors import did_you_mean
from labkit.device_api.api import ENDPOINTS
from labkit.devices.identities import identity_error
from labkit.faults.patterns import ANY, Pattern
from labkit.faults.rows import FaultRow
from labkit.platform import Platform
from labkit.providers.social.providers import SocialProviders
from labkit.settings import FaultSettings
from labkit.solutions.checking.listing import FileListing, list_files, stub
from labkit.solutions.checking.review import service_names
from labkit.solutions.checking.script_review import missing_calls
from labkit.solutions.solution import PlatformSolution

WRITE = "/onep:v1/stack/alias"


def settings_warnings(platform: Platform) -> Iterator[str]:
    """Yield sentences about faults that nothing will reach, and about settings of products that no device can meet."""
    for product in platform.context.settings.products:
        for identity in product.identities:
            wrong = identity_error(product.identity_format, identity)
            if "{" in identity or "}" in identity:
                wrong = "is no range such as w-{0001..2000}"
            if wrong:
                yield f"product {product.id!r}: identities: {identity!r}: {wrong}"
                break
    for row in platform.context.faults.rows():
        yield from fault_warnings(platform, row)


def solution_files(platform: Platform, solution: PlatformSolution) -> list[FileListing]:
    """Return the files of a solution's folder, each with what is probably wrong in it."""
    return list_files(solution.folder, platform.solutions.findings(solution))


def missing_services(platform: Platform, solution: PlatformSolution) -> dict[str, str]:
    """Return Python code of a stub by service, for the services that a solution's scripts call and that are missing."""
    calls = missing_calls(solution.folder, service_names(solution, platform.services))
    return {name: stub(name, calls) for name in dict.fromkeys(call.service for call in calls)}


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
