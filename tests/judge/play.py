"""Trial of one mutant in a process of its own (fork_server.py).

A change of a function that has not run yet is made in place after all imports, and if no start of a lab runs it, in
the prepared lab (warm.py): every function object with that code gets the changed code. Otherwise labkit is removed
and imported anew, the changed module from the changed source: then all modules that import, store or run it have the
mutant. So this module imports labkit only inside functions.
"""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labkit.conformance.check import Check
    from labkit.conformance.target import Target
    from labkit.conformance.verdict import Verdict

PRELOAD = __name__
IMPORT, START = (
    "import",
    "start",
)  # names, in the place of a check's, for the import of labkit and the start of a lab
STARTING = 60.0  # seconds of real time to import labkit and start a lab; a check has its own limit
STEPS = 200  # commands of a model check
REIMPORTED = ("labkit.", "tests.conformance.")  # packages that are imported anew with a mutant
NOTICED = ("failed", "warned", "broken", "not reached")  # outcomes that notice a mutant, the clearest first
Tell = Callable[[Any], None]


def prepare() -> None:
    """Prepare the fork server's process: import and use all modules once, and start a lab for each forked process."""
    import_module("tests.conformance.warm").prepare()


def forget() -> None:
    """Remove labkit and the tests' modules that import it, so that they are imported anew; other libraries stay."""
    for name in [each for each in sys.modules if f"{each}.".startswith(REIMPORTED)]:
        del sys.modules[name]


class Mutated(SourceFileLoader):
    """Import finder that loads one module from a given source."""

    def __init__(self, module: str, path: str, source: str) -> None:
        super().__init__(module, path)
        self.source = source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return spec_from_file_location(fullname, self.path, loader=self) if fullname == self.name else None

    def get_code(self, fullname: str) -> CodeType:
        code = compile(self.source, self.path, "exec", dont_inherit=True)
        assert isinstance(code, CodeType)
        return code


def changed(path: str, source: str, name: str, line: int) -> bool:
    """Give a function of a file, wherever it is referenced, the code of a changed source; or return False."""
    code = next(
        (
            each
            for each in codes(compile(source, path, "exec", dont_inherit=True))
            if _is(each, path, name, line)
        ),
        None,
    )
    gc.unfreeze()  # otherwise objects from before the fork are hidden
    functions = [
        each
        for each in gc.get_objects()
        if isinstance(each, FunctionType) and _is(each.__code__, path, name, line)
    ]
    gc.freeze()
    if (
        code is None
        or not functions
        or any(each.__code__.co_freevars != code.co_freevars for each in functions)
    ):
        return False
    for each in functions:
        each.__code__ = code
    return True


def codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all code objects inside it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes(each)


def _is(code: CodeType, path: str, name: str, line: int) -> bool:
    return (code.co_filename, code.co_qualname, code.co_firstlineno) == (path, name, line)


def attempt(given: dict[str, Any], send: Tell) -> None:
    """Run checks until one fails.

    given: module, path and source of the mutant (None for no mutant); function: qualified name and first line
    of the changed function, unless labkit has to be imported with it; later: no start of a lab runs it; checks:
    their names, with the seconds of real time after which each counts as a hang, which ends this process by SIGALRM;
    last: stop at the first of these outcomes. Sends {"incompetent": why} if labkit cannot be imported, {"began": name}
    before each check and its verdict after it, and a failed START if the lab does not start.
    """
    signal.setitimer(signal.ITIMER_REAL, STARTING)
    if given["source"] is None or (
        given["function"] and changed(given["path"], given["source"], *given["function"])
    ):
        checks = _imported()
    else:
        given["later"] = False
        forget()
        sys.meta_path.insert(0, Mutated(given["module"], given["path"], given["source"]))
        try:
            checks = _imported(given["module"])
        except Exception as error:  # noqa: BLE001 - whatever a mutant raises
            send({"incompetent": f"{type(error).__name__}: {error}"})
            return
    if given["later"]:
        target = import_module("tests.conformance.warm").take().target()
    else:
        send({"began": START})
        try:
            target = _target()
        except Exception as error:  # noqa: BLE001 - likewise
            send({"check": START, "outcome": "failed", "reason": f"{type(error).__name__}: {error}"})
            return
    noticed: list[Verdict] = []

    def chosen() -> Iterator[Check]:
        for name, seconds in given["checks"]:
            if any(each.outcome in given["last"] for each in noticed):
                return
            send({"began": name})
            signal.setitimer(signal.ITIMER_REAL, seconds)
            yield checks[name]

    def note(verdict: Verdict) -> None:
        if verdict.outcome in NOTICED:
            noticed.append(verdict)
        send(verdict.as_dict())

    _run(chosen(), target, note)
    signal.setitimer(signal.ITIMER_REAL, 0)


def record(given: dict[str, Any], send: Tell) -> None:
    """Run checks one after the other, and send the lines of the modules that each of them ran.

    given: files: patterns of the recorded files; checks: names. Sends, for each file, {"file": path, "lines": {line:
    [names]}}, IMPORT and START among them.
    """
    from coverage import Coverage

    forget()
    measured = Coverage(
        data_file=None,
        config_file=False,
        include=given["files"],
        concurrency=["thread", "greenlet"],
        messages=False,
    )
    measured.start()
    measured.switch_context(IMPORT)
    checks = _imported()
    measured.switch_context(START)
    target = _target()

    def chosen() -> Iterator[Check]:
        for name in given["checks"]:
            measured.switch_context(name)
            yield checks[name]

    _run(chosen(), target, lambda verdict: send(verdict.as_dict()))
    measured.stop()
    data = measured.get_data()
    for path in sorted(data.measured_files()):
        lines = {line: sorted({*names}) for line, names in data.contexts_by_lineno(path).items()}
        send({"file": path, "lines": lines})


def _imported(*modules: str) -> dict[str, Check]:
    """Import all modules, the mutated one among them; return the checks by name."""
    for name in ("labkit.conformance.runner", "labkit.lab.lab", "labkit.platform", *modules):
        import_module(name)
    from labkit.conformance.check import all_checks

    return {each.name: _small(each) for each in all_checks()}


def _small(check: Check) -> Check:
    """Return a model check without the search for the shortest sequence; other checks unchanged."""
    if (model := check.model) is None:
        return check
    from dataclasses import replace

    from labkit.conformance.models.search import Findings, search

    async def play(target: Target) -> Findings:
        return await search(model, target, steps=STEPS, seconds=STARTING, shrink=False)

    return replace(check, function=play)


def _target() -> Target:
    from labkit.conformance.target import LAB_YAML, Target
    from labkit.lab.lab import Lab
    from tests.conformance.warm import SEED

    return Target.local(Lab(SEED, config=LAB_YAML), SEED)  # it ends with the process


def _run(checks: Iterator[Check], target: Target, note: Callable[[Verdict], None]) -> None:
    from labkit.conformance import runner
    from labkit.conformance.catalogue import load

    runner.run(checks, target, load(), note)
