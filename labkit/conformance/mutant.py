"""Mutants: breaking the platform on purpose, to prove that the checks notice.

A mutant patches one named function of the platform in a process of its own, starts a fresh lab there, and
runs the checks of its requirements, of which for each requirement at least one must fail, and one smoke
check, which must pass. The platform has no hook for this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from labkit.conformance import areas
from labkit.conformance.verdict import Outcome, Verdict

SMOKE = "timestamp/needs-no-credentials"
NOTICED: tuple[Outcome, ...] = ("failed", "warned")  # the verdicts of a check that notices a fault


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault: what it breaks, which requirements notice, and how the function is replaced."""

    name: str
    requirements: tuple[str, ...]
    patches: str
    replace: Callable[[Any], Any]
    smoke: str

    @property
    def title(self) -> str:
        return (self.replace.__doc__ or "").strip()


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of a mutant. survived: the requirements whose checks all passed."""

    mutant: str
    survived: tuple[str, ...]
    smoke_passed: bool
    broken: tuple[str, ...] = ()

    @property
    def killed(self) -> bool:
        return not self.survived and self.smoke_passed and not self.broken


def mutant(
    requirements: str, patches: str, *, smoke: str = SMOKE
) -> Callable[[Callable[[Any], Any]], Mutant]:
    """Declare a mutant of one or more requirements (ids separated by spaces).

    patches: the function, as `labkit.room.module:Class.method`. The decorated function gets the original and
    returns the broken one; its docstring tells the fault.
    """

    def declare(replace: Callable[[Any], Any]) -> Mutant:
        return Mutant(areas.name_of(replace), tuple(requirements.split()), patches, replace, smoke)

    return declare


def all_mutants() -> list[Mutant]:
    """Every mutant, in the order of the files and of the lines in them."""
    found: list[Mutant] = []
    for module in areas.modules("mutants"):
        found += [member for member in vars(module).values() if isinstance(member, Mutant)]
    return found


def try_all(mutants: Iterable[Mutant], processes: int = 2) -> Iterator[Trial]:
    """Try each mutant in a process of its own; trials come as they end."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["labkit.conformance.preload"])
    with ProcessPoolExecutor(processes, context, max_tasks_per_child=1) as pool:
        try:
            for trial in as_completed([pool.submit(attempt, each.name) for each in mutants]):
                yield trial.result()
        finally:
            pool.shutdown(cancel_futures=True)  # nobody wants the others any more


def attempt(name: str) -> Trial:
    """Try a mutant in this process, which cannot be used for anything else afterwards."""
    from labkit.conformance.mutation import run_mutant

    mutant = next(each for each in all_mutants() if each.name == name)
    try:
        return run_mutant(mutant)
    except Exception as error:  # noqa: BLE001 - the others are to be tried all the same
        return Trial(name, mutant.requirements, False, (f"no trial: {type(error).__name__}: {error}",))


def judge(mutant: Mutant, verdicts: Iterable[Verdict]) -> Trial:
    """The trial of a mutant from the verdicts of its checks and of the smoke check."""
    verdicts = list(verdicts)
    noticed = {name for each in verdicts if each.outcome in NOTICED for name in each.requirements}
    return Trial(
        mutant.name,
        tuple(each for each in mutant.requirements if each not in noticed),
        any(each.check == mutant.smoke and each.outcome == "passed" for each in verdicts),
        tuple(f"{each.check}: {each.reason}" for each in verdicts if each.outcome == "broken"),
    )
