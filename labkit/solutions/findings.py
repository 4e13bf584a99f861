"""What is probably wrong in the scripts of a solution, found without running them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from labkit.core.errors import did_you_mean
from labkit.solutions.finding import FolderFinding, warning
from labkit.solutions.folder import SolutionFolder
from labkit.solutions.lua.syntax import ScriptCall, Usage, usage

BUILT_IN = frozenset({"staging.mcrypto"})  # modules that the platform has


def missing_calls(folder: SolutionFolder, services: Collection[str]) -> list[ScriptCall]:
    """Return the calls of services that the platform does not have: of capitalised globals that no script assigns."""
    used = _usages(folder)
    assigned = {name for one in used for name in one.named} | _shared_locals(folder, used)
    known = {each.lower() for each in services}
    return [
        call
        for one in used
        for call in one.calls
        if call.service[:1].isupper() and call.service.lower() not in known and call.service not in assigned
    ]


def of_operations(folder: SolutionFolder, services: Mapping[str, Collection[str]]) -> Iterator[FolderFinding]:
    """Yield a warning for each call of an operation that a service does not have, or with a colon instead of a dot.

    services: operations by service. A service that the scripts use otherwise than by `Name.operation`, such as one that
    they pass on or assign, is left out, since they may have added the operation themselves.
    """
    used = _usages(folder)
    changed = {name for one in used for name in (one.passed | one.named)}
    added = {each for one in used for each in one.added}
    for call in (call for one in used for call in one.calls):
        known = services.get(call.service)
        if known is None or call.service in changed or call.operation in known or call[:2] in added:
            continue
        similar = did_you_mean(call.operation, known)
        yield warning(call.file, f"{call.service} has no operation {call.operation!r}{similar}", call.line)
    for call in (call for one in used for call in one.methods):
        if call.service in services and call.service not in changed and call[:2] not in added:
            name = f"{call.service}.{call.operation}"
            yield warning(call.file, f"expected a dot instead of the colon: {name}", call.line)


class MissingService(NamedTuple):
    """A service that scripts call and that the platform does not have.

    call: the first one; similar: the end of a sentence that names a similar service, empty without one.
    """

    call: ScriptCall
    similar: str

    def finding(self) -> FolderFinding:
        """Return it as a warning."""
        hint = self.similar or "; `stubs` in lab.yaml, or lab.service, can add it"
        text = f"no service has the name {self.call.service!r}{hint}"
        return warning(self.call.file, text, self.call.line)


def of_services(
    folder: SolutionFolder, services: Collection[str], others: Collection[str] = ()
) -> Iterator[MissingService]:
    """Yield each missing service once. services: names; others: names under which scripts reach further services."""
    first: dict[str, ScriptCall] = {}
    for call in missing_calls(folder, {*services, *others}):
        first.setdefault(call.service, call)
    yield from (MissingService(call, did_you_mean(call.service, services)) for call in first.values())


def of_calls(
    folder: SolutionFolder, services: Mapping[str, Collection[str]], others: Collection[str] = ()
) -> Iterator[FolderFinding]:
    """Yield the warnings of `of_operations` and of `of_services`."""
    yield from of_operations(folder, services)
    yield from (each.finding() for each in of_services(folder, services, others))


def of_modules(folder: SolutionFolder) -> Iterator[FolderFinding]:
    """Yield a warning for each module that a script requires and that is not there, and a note for each unused one."""
    required: set[str] = set()
    known = {*folder.modules, *folder.unread, *BUILT_IN}
    for script in folder.scripts():
        for each in usage(script).required:
            required.add(each.name)
            if each.name not in known:
                similar = did_you_mean(each.name, known)
                yield FolderFinding(
                    each.file, each.line, "warning", f"no module has the name {each.name!r}{similar}"
                )
    for name, script in folder.modules.items():
        if name not in required and not folder.joins_modules:
            yield FolderFinding(script.file, 0, "note", f"no script requires module {name!r}")


def of_globals(folder: SolutionFolder) -> Iterator[FolderFinding]:
    """Yield a note for each global that a script assigns: it lives on from run to run."""
    for script in dict.fromkeys(folder.scripts()):
        names: dict[str, int] = {}
        for each in usage(script).written:
            names.setdefault(each.name, each.line)
        for name, line in names.items():
            yield FolderFinding(
                script.file, line, "note", f"assigns the global {name!r}, which later runs see, too"
            )


def _usages(folder: SolutionFolder) -> Sequence[Usage]:
    return [usage(script) for script in folder.scripts()]


def _shared_locals(folder: SolutionFolder, used: Iterable[Usage]) -> set[str]:
    """Return the outermost local names that other scripts see: those of modules that the platform joins with routes."""
    return {name for one in used for name in one.locals} if folder.joins_modules else set()
