"""Probable mistakes in the scripts of a solution, found without running them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from labkit.core.errors import did_you_mean
from labkit.services.calls import Services
from labkit.services.mistakes import argument_hint, missing_hint
from labkit.services.operation import Caller, Operation
from labkit.solutions.checking.shapes import shapes
from labkit.solutions.folders.folder import SolutionFolder
from labkit.solutions.folders.folder_finding import FolderFinding, warning
from labkit.solutions.folders.scripts import ScriptSource
from labkit.solutions.lua.names import ScriptNames, all_calls, names
from labkit.solutions.lua.syntax import ScriptCall, Usage, usage

LONGEST = 200  # characters of a sentence about an argument: some list all values that are allowed
MOST_MODULES = 20  # of a script that one of its names is compared with
BUILT_IN = frozenset({"staging.mcrypto"})  # modules that the platform has


def missing_calls(folder: SolutionFolder, services: Collection[str]) -> list[ScriptCall]:
    """Return the calls of services that the platform does not have: of capitalised globals that no script assigns."""
    used = _usages(folder)
    assigned = {name for one in used for name in one.named} | _shared_locals(folder, used)
    known = {each.lower() for each in services}
    return [
        call
        for script in folder.scripts()
        for call in all_calls(script)
        if call.service[:1].isupper()
        and call.service.lower() not in known
        and call.service not in assigned
        and not meant_module(call.service, names(script))
    ]


def of_operations(folder: SolutionFolder, services: Mapping[str, Collection[str]]) -> Iterator[FolderFinding]:
    """Yield a warning for each call of an operation that a service does not have, or with a colon instead of a dot.

    services: operations by service. A service that the scripts use otherwise than by `Name.operation`, such as one that
    they pass on or assign, is left out, since they may have added the operation themselves.
    """
    used, read = _usages(folder), [names(each) for each in folder.scripts()]
    changed = {name for one in used for name in one.named}.union(*(one.bare for one in read))
    added = {each for one in used for each in one.added}.union(*(one.put for one in read))
    for call in (call for script in folder.scripts() for call in all_calls(script)):
        known = services.get(call.service)
        if known is None or call.service in changed or call.operation in known or call[:2] in added:
            continue
        yield warning(call.file, missing_hint(call.service, call.operation, services), call.line)
    methods = (*(one.methods for one in used), *(one.methods for one in read))
    for call in (call for each in methods for call in each):
        if call.service in services and call.service not in changed and call[:2] not in added:
            name = f"{call.service}.{call.operation}"
            yield warning(call.file, f"expected a dot instead of the colon: {name}", call.line)


def of_arguments(folder: SolutionFolder, solution: str, services: Services) -> Iterator[FolderFinding]:
    """Yield a warning for each call that its service will refuse, or whose arguments are likely mistakes.

    Only what the script shows is judged: literals, names, and what is not there. An argument that all operations of a
    service have, such as the ServiceSid of Notify, may be configured elsewhere.
    """
    caller = Caller(solution)
    known = services.operations(caller)
    for call in (call for script in folder.scripts() for call in all_calls(script)):
        operations = known.get(call.service, {})
        declared = operations.get(call.operation)
        if declared is None:
            continue
        shown = dict(call.values)
        given = services.with_defaults(caller, declared, shown)
        others = {*call.arguments, *_common(operations)} if call.is_whole else None
        found = declared.refusals(given, others)
        names = {name: None for name in call.arguments if name not in declared.advised}
        if hint := argument_hint(declared, names | shown):
            found.append(hint)
        if found:
            texts = ", ".join(each.rstrip(".")[:LONGEST] for each in found)
            yield warning(call.file, f"{call.service}.{call.operation}: {texts}", call.line)


def _common(operations: Mapping[str, Operation]) -> set[str]:
    """Return the arguments that all operations of a service have; none of a single operation."""
    common = set.intersection(*(set(each.attributes) for each in operations.values()))
    return common if len(operations) > 1 else set()


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
                last = re.split("[./]", each.name)[-1]  # of a name such as modules/util
                similar = f"; did you mean {last}?" if last in known else did_you_mean(each.name, known)
                yield warning(each.file, f"no module has the name {each.name!r}{similar}", each.line)
    for name, script in folder.modules.items():
        read = names(script)
        if (
            name in required
            and read.only_declares
            and not (read.assigned or read.put or folder.joins_modules)
        ):
            yield warning(
                script.file, f"returns nothing, so that require({name!r}) is true; end it with return"
            )
        if name not in required and not folder.joins_modules:
            yield FolderFinding(script.file, 0, "note", f"no script requires module {name!r}")


def of_globals(
    folder: SolutionFolder, given: Mapping[ScriptSource, Collection[str]] = MappingProxyType({})
) -> Iterator[FolderFinding]:
    """Yield a note for each global that a script assigns: it lives on from run to run. given: names that are none."""
    for script in dict.fromkeys(folder.scripts()):
        assigned: dict[str, int] = {}
        for each in usage(script).written:
            if each.name not in given.get(script, ()):
                assigned.setdefault(each.name, each.line)
        for name, line in assigned.items():
            yield FolderFinding(
                script.file, line, "note", f"assigns the global {name!r}, which later runs see, too"
            )


def meant_module(service: str, read: ScriptNames) -> str:
    """Return the end of a sentence about a name that is no service's, with the module's local name that may be meant.

    Empty for a name that may be a service's: services have longer names than one letter.
    """
    modules = sorted(read.required)[:MOST_MODULES]
    if len(service) > 1:
        lower = {service.lower()} & {*shapes()["globals"].split()}  # JSON of other languages is json here
        return did_you_mean(service, lower or modules)
    return f"; did you mean {' or '.join(modules) or 'a local name'}?"


def _usages(folder: SolutionFolder) -> Sequence[Usage]:
    return [usage(script) for script in folder.scripts()]


def _shared_locals(folder: SolutionFolder, used: Iterable[Usage]) -> set[str]:
    """Return the outermost local names that other scripts see: those of modules that the platform joins with routes."""
    return {name for one in used for name in one.locals} if folder.joins_modules else set()
