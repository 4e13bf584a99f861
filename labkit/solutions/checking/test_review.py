"""Review of the test files of a solution's folder: what is probably wrong in them. No test runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from labkit.core.errors import did_you_mean
from labkit.services.calls import Services
from labkit.services.operation import Caller
from labkit.settings.notebooks import resolve
from labkit.solutions.checking.listing import FileListing
from labkit.solutions.checking.review import service_names
from labkit.solutions.checking.script_review import BUILT_IN, of_operations, of_services
from labkit.solutions.checking.shapes import shapes
from labkit.solutions.checking.test_files import STANDARD_MODULES, read_test_file, test_files
from labkit.solutions.checking.unknown_names import of_names
from labkit.solutions.folders.folder import SolutionFolder
from labkit.solutions.folders.folder_finding import FolderFinding, warning
from labkit.solutions.folders.scripts import ScriptSource
from labkit.solutions.lua.errors import LuaError, LuaSyntaxError
from labkit.solutions.lua.limits import LuaLimits
from labkit.solutions.lua.names import all_calls, names
from labkit.solutions.lua.program import Script
from labkit.solutions.lua.runtime import LuaState
from labkit.solutions.lua.syntax import usage
from labkit.solutions.solution import PlatformSolution


def review_tests(solution: PlatformSolution, services: Services) -> list[FileListing]:
    """Return the test files of a solution's folders, with the operations that they call and what is wrong in them."""
    return [
        listed
        for folder in (resolve(Path(each), Path()) for each in solution.settings.path)
        if folder.is_dir()  # otherwise it is an error of the solution
        for listed in _Review(folder, solution, services).files()
    ]


class _Review:
    """Review of the test files of one folder."""

    def __init__(self, folder: Path, solution: PlatformSolution, services: Services) -> None:
        self._folder = folder
        self._files = [each.relative_to(folder).as_posix() for each in test_files(folder)]
        known = services.operations(Caller(solution.id))
        self._operations = {each.name: known.get(each.name, {}) for each in services}
        self._names = service_names(solution, services)
        self._globals = {*shapes()["test_globals"].split()}.union(
            *(names(each).assigned for each in solution.folder.modules.values())
        )
        own = (".".join(Path(name).with_suffix("").parts) for name in self._files)
        self._modules = {
            *solution.folder.modules,
            *solution.folder.unread,
            *BUILT_IN,
            *STANDARD_MODULES,
            *own,
        }

    def files(self) -> Iterable[FileListing]:
        found: dict[str, FileListing] = {}
        scripts: list[ScriptSource] = []
        for name in self._files:
            listed = found[name] = FileListing(name, "tests")
            try:
                script = ScriptSource(name, 1, read_test_file(self._folder, name))
                _compile(script)
            except LuaSyntaxError as error:
                listed.findings.append(FolderFinding(name, error.line, "error", error.message))
            except LuaError as error:
                listed.findings.append(FolderFinding(name, 0, "error", str(error).removeprefix(f"{name}: ")))
            else:
                scripts.append(script)
                calls = (
                    f"{each.service}.{each.operation}"
                    for each in all_calls(script)
                    if each.service[:1].isupper()
                )
                listed.calls = list(dict.fromkeys(calls))
                alone = SolutionFolder(init_scripts=[script])
                listed.findings += of_operations(alone, self._operations)
                listed.findings += [
                    each.finding() for each in of_services(alone, self._operations, self._names)
                ]
                listed.findings += self._missing_modules(script)
                for (function, number, sign), line in names(script).literals.items():
                    if (function, sign) == ("assert", "("):
                        text = (
                            f"assert(…, {number}): the second value is a message; did you mean assert.equal?"
                        )
                        listed.findings.append(warning(name, text, line))
        for each in of_names(SolutionFolder(init_scripts=scripts), {}, self._names, self._globals):
            found[each.file].findings.append(each)
        return found.values()

    def _missing_modules(self, script: ScriptSource) -> Iterator[FolderFinding]:
        for each in usage(script).required:
            if each.name.replace("/", ".") not in self._modules:
                similar = did_you_mean(each.name, self._modules)
                yield warning(each.file, f"no module has the name {each.name!r}{similar}", each.line)


def _compile(script: ScriptSource) -> None:
    """Raise LuaSyntaxError for a script that does not compile."""
    state = LuaState(
        write_log=lambda *_: None,
        now=lambda: 0.0,
        random=bytes,
        call=lambda *_: None,
        began=0.0,
        seeded=True,
        environment={},
        limits=LuaLimits(),
    )
    state.load(1, Script(script.file, script.source, (), script.file, 1, (), {}, "", publish=False))
