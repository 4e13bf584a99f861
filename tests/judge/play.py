"""One mutant in a process of its own (fork_server.py).

A change of a function that has not run is put in place where all is imported, and where no start of a lab runs it, in a
lab that is there already (warm.py): every object that is that function gets the changed code. Else labkit is forgotten
and imported anew, the changed module from the changed source: then whatever imports it, keeps it or runs it has the
mutant. So this module imports labkit in its functions alone.
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
IMPORT, START = "import", "start"  # of labkit, and of a lab: they stand where a check's name would stand
STARTING = 60.0  # seconds of real time to import and start; a check has its own limit
STEPS = 200  # commands of a model check
OURS = ("labkit.", "tests.conformance.")  # what is imported anew with a mutant
NOTICED = ("failed", "warned", "broken", "not reached")  # what says the most first
Tell = Callable[[Any], None]


def prepare() -> None:
    """Have a lab for each process that is forked from this one, with all that it needs imported and used once."""
    import_module("tests.conformance.warm").prepare()


def forget() -> None:
    """Have labkit imported anew, without what it imports from elsewhere, and what of the tests imports it."""
    for name in [each for each in sys.modules if f"{each}.".startswith(OURS)]:
        del sys.modules[name]


class Mutated(SourceFileLoader):
    """Has one module loaded from a source that is handed in."""

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
    """Give a function of a file, wherever it is held, its code of a changed source; False if that cannot be."""
    code = next(
        (
            each
            for each in codes(compile(source, path, "exec", dont_inherit=True))
            if _is(each, path, name, line)
        ),
        None,
    )
    gc.unfreeze()  # what was there before the fork is hidden else
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
    """The code, and all that it holds."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes(each)


def _is(code: CodeType, path: str, name: str, line: int) -> bool:
    return (code.co_filename, code.co_qualname, code.co_firstlineno) == (path, name, line)


def attempt(given: dict[str, Any], tell: Tell) -> None:
    """Play checks until one fails.

    given: module, path and source of what is mutated (None to mutate nothing); function: qualified name and first line
    of the function that is changed, unless labkit has to be imported with it; later: no start of a lab runs it; checks:
    their names, with the seconds of real time after which each counts as a hang, which ends this process by SIGALRM;
    first: stop at the first that fails. Tells {"incompetent": why} where labkit cannot be imported, {"began": name}
    before each check and its verdict after it, and a failed START where the lab did not start.
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
            tell({"incompetent": f"{type(error).__name__}: {error}"})
            return
    if given["later"]:
        target = import_module("tests.conformance.warm").take().target()
    else:
        tell({"began": START})
        try:
            target = _target()
        except Exception as error:  # noqa: BLE001 - likewise
            tell({"check": START, "outcome": "failed", "reason": f"{type(error).__name__}: {error}"})
            return
    noticed: list[Verdict] = []

    def chosen() -> Iterator[Check]:
        for name, seconds in given["checks"]:
            if given["first"] and any(each.outcome == "failed" for each in noticed):
                return
            tell({"began": name})
            signal.setitimer(signal.ITIMER_REAL, seconds)
            yield checks[name]

    def note(verdict: Verdict) -> None:
        if verdict.outcome in NOTICED:
            noticed.append(verdict)
        tell(verdict.as_dict())

    _run(chosen(), target, note)
    signal.setitimer(signal.ITIMER_REAL, 0)


def record(given: dict[str, Any], tell: Tell) -> None:
    """Play checks one after the other, and tell which lines of the modules each of them ran.

    given: files: patterns of those that count; checks: names. Tells, for each file, {"file": path, "lines": {line:
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

    _run(chosen(), target, lambda verdict: tell(verdict.as_dict()))
    measured.stop()
    data = measured.get_data()
    for path in sorted(data.measured_files()):
        lines = {line: sorted({*names}) for line, names in data.contexts_by_lineno(path).items()}
        tell({"file": path, "lines": lines})


def _imported(*modules: str) -> dict[str, Check]:
    """Import all of it, the mutated module among it; the checks by name."""
    for name in ("labkit.conformance.runner", "labkit.lab.lab", "labkit.platform", *modules):
        import_module(name)
    from labkit.conformance.check import all_checks

    return {each.name: _small(each) for each in all_checks()}


def _small(check: Check) -> Check:
    """A model check looks for a difference, and not for the shortest sequence."""
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
