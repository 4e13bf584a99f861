"""List of the files of a solution: what each one holds and calls, and what is probably wrong in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from keyword import iskeyword
from typing import Literal

from labkit.solutions.folders.folder import SolutionFolder
from labkit.solutions.folders.folder_finding import FolderFinding
from labkit.solutions.folders.scripts import ScriptSource
from labkit.solutions.lua.names import all_calls
from labkit.solutions.lua.syntax import ScriptCall

Kind = Literal["endpoints", "handlers", "module", "set-up", "configuration", "asset", "tests", "other"]


@dataclass(slots=True)
class FileListing:
    """A file of a solution's folder.

    holds: its routes, events, module or asset, as text; calls: service operations that its scripts call.
    """

    file: str
    kind: Kind
    holds: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    findings: list[FolderFinding] = field(default_factory=list)


def list_files(folder: SolutionFolder, findings: Iterable[FolderFinding] = ()) -> list[FileListing]:
    """Return the files of a folder, those of scripts first, each with its findings."""
    files: dict[str, FileListing] = {}
    for kind, script, holds in _contents(folder):
        listed = files.setdefault(script.file, FileListing(script.file, kind))
        listed.holds.append(holds)
        for call in all_calls(script):
            name = f"{call.service}.{call.operation}"
            if call.service[:1].isupper() and name not in listed.calls:
                listed.calls.append(name)
    for each in folder.configured:
        holds = ", ".join(map(str, each.parameters)) or "no parameters"
        files[each.file] = FileListing(each.file, "configuration", [holds])
    for url, asset in folder.assets.items():
        name = asset.boundary.name(asset.file)
        files.setdefault(name, FileListing(name, "asset")).holds.append(url)
    for one in findings:
        files.setdefault(one.file, FileListing(one.file, "other")).findings.append(one)
    return list(files.values())


def _contents(folder: SolutionFolder) -> Iterator[tuple[Kind, ScriptSource, str]]:
    for route in folder.endpoints:
        yield "endpoints", route.script, f"{route.method} {route.path}"
    for handler in folder.events:
        yield "handlers", handler.script, f"{handler.service} {handler.event}"
    for name, module in folder.modules.items():
        yield "module", module, name
    for script in folder.init_scripts:
        yield "set-up", script, "runs once"


def stub(service: str, calls: Iterable[ScriptCall]) -> str:
    """Return Python code of a stub for a missing service, with the operations and arguments of its calls.

    Each operation returns an empty table; the author fills in what the scripts need.
    """
    operations: dict[str, dict[str, None]] = {}
    for call in calls:
        if call.service == service:
            operations.setdefault(call.operation, {}).update(dict.fromkeys(call.arguments))
    file = f"{service.lower()}.py"
    given = ", ".join(f"{_named(each)}={_named(each)}" for each in operations)
    results = ", ".join(f"{each} = {{}}" for each in operations)
    lines = [
        f"# Save it as {file}, and write into lab.yaml: stubs: {{{service}: {file}}}",
        f'# In a cell, end it with: lab.service("{service}", {given})',
        f'# In a test in Lua: lab.stub("{service}", {{{results}}})',
    ]
    for operation, arguments in operations.items():
        named = "".join(f"{name}=None, " for name in arguments if not iskeyword(name))
        lines += ["", "", f"def {_named(operation)}({named}**others):", "    return {}"]
    return "\n".join(lines)


def _named(operation: str) -> str:
    """Return the name of an operation's function: one that is a keyword of Python has an underscore."""
    return f"{operation}{'_' * iskeyword(operation)}"
