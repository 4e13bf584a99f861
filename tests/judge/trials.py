"""Trials of all mutants of a sample, one after the other, judged by the checks alone."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from labkit.conformance.fork_server import Ended, ForkServer
from tests.judge.equivalents import reason_of
from tests.judge.lines import Lines
from tests.judge.mutations import Mutation, drawn, home, modules_of, source_of
from tests.judge.play import IMPORT, NOTICED, START

# warned, broken: no check failed, but one had this outcome. A mutant is noticed if a check fails, or hangs.
Outcome = Literal["killed", "timeout", "warned", "broken", "survived", "equivalent", "incompetent"]
ATTEMPT = "tests.judge.play:attempt"


@dataclass(frozen=True, slots=True)
class Trial:
    """Result of a mutant's trial. by: the check that noticed, or hung; why: its reason, or why no check noticed."""

    mutation: Mutation
    outcome: Outcome
    by: str = ""
    why: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the trial as plain data, for JSON."""
        mutation = self.mutation
        return {
            "id": mutation.id,
            **mutation.key._asdict(),
            "at": mutation.at,
            "outcome": self.outcome,
            "by": self.by,
            "why": self.why,
            "diff": mutation.diff(),
        }


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts of a folder's mutants by the outcome of their trials.

    killed: a check failed; timeouts: one hung; warned, broken: none failed, but one warned, or broke; survivors: all
    passed.
    """

    folder: str
    mutants: int
    killed: int
    timeouts: int
    warned: int
    broken: int
    equivalent: int
    survivors: int

    @property
    def percent(self) -> float:
        """Percentage of mutants that no check fails, equivalent ones excepted."""
        unnoticed = self.survivors + self.warned + self.broken
        return 100 * unnoticed / max(1, self.mutants - self.equivalent)

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data, for JSON."""
        return {**asdict(self), "percent": round(self.percent, 1)}


def figures(folder: str, trials: Iterable[Trial]) -> Figures:
    """Count the trials of a folder; mutants that cannot be imported do not count."""
    outcomes: list[Outcome] = [
        each.outcome
        for each in trials
        if each.mutation.module.startswith(f"{folder}/") and each.outcome != "incompetent"
    ]
    named: list[Outcome] = ["killed", "timeout", "warned", "broken", "equivalent", "survived"]
    return Figures(folder, len(outcomes), *map(outcomes.count, named))


def judged(
    mutations: Iterator[Mutation],
    count: int,
    lines: Lines,
    server: ForkServer,
    processes: int = 1,
    progress: Callable[[Trial], object] = lambda trial: None,
    *,
    known: bool = True,
) -> list[Trial]:
    """Try mutations until `count` are judged; one that cannot be imported does not count, and the next one is drawn."""
    found: list[Trial] = []
    counted = 0
    while missing := count - counted:
        batch = [each for _, each in zip(range(missing), mutations, strict=False)]
        if not batch:
            break
        for trial in try_all(batch, lines, server, processes, known=known):
            found.append(trial)
            counted += trial.outcome != "incompetent"
            progress(trial)
    return found


def sample(folder: str, seed: int) -> Iterator[Mutation]:
    """Return the mutations of a folder, in the order of the draw."""
    return drawn(modules_of(folder), seed)


def try_all(
    mutations: Sequence[Mutation], lines: Lines, server: ForkServer, processes: int = 1, *, known: bool = True
) -> Iterator[Trial]:
    """Try each mutation, without a process if no check can notice it. known: leave out equivalent ones."""
    waiting: dict[str, Mutation] = {}
    given = []
    for mutation in mutations:
        if (trial := _without_play(mutation, lines, known)) is not None:
            yield trial
        else:
            waiting[mutation.id] = mutation
            given.append(given_of(mutation, lines))
    messages: dict[str, list[dict[str, Any]]] = {name: [] for name in waiting}
    for event in server.run(ATTEMPT, given, processes=processes):
        id = event.argument["id"]
        if isinstance(event, Ended):
            yield outcome(waiting[id], messages.pop(id), event)
        else:
            messages[id].append(event.message)


def _without_play(mutation: Mutation, lines: Lines, known: bool) -> Trial | None:
    try:
        same = ast.dump(ast.parse(mutation.mutated())) == ast.dump(ast.parse(source_of(mutation.module)))
    except SyntaxError as error:
        return Trial(mutation, "incompetent", why=str(error))
    if same:
        return Trial(mutation, "incompetent", why="it changes nothing")
    if known and (reason := reason_of(mutation)) is not None:
        return Trial(mutation, "equivalent", why=reason)
    if not lines.checks_running(mutation):
        return Trial(mutation, "survived", why="no check runs it, and no import or start of a lab")
    return None


def given_of(mutation: Mutation, lines: Lines) -> dict[str, Any]:
    """Return the argument of a mutation's attempt (play.py)."""
    dotted = mutation.module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    function = mutation.function if lines.is_later(mutation, IMPORT) else None
    return {
        "id": mutation.id,
        "function": None if function is None else [function.name, function.line],
        "later": lines.is_later(mutation, START),
        "module": f"labkit.{dotted}",
        "path": str(home() / mutation.module),
        "source": mutation.mutated(),
        "checks": lines.checks_for(mutation),
        "last": ["failed"],
    }


def outcome(mutation: Mutation, messages: list[dict[str, Any]], ended: Ended[Any]) -> Trial:
    """Return the trial of a mutation from the messages and the end of its process."""
    began, most = "", len(NOTICED)
    noticed: dict[str, Any] = {}
    for each in messages:
        if "incompetent" in each:
            return Trial(mutation, "incompetent", why=each["incompetent"])
        began = each.get("began", began)
        if each.get("outcome") in NOTICED[:most]:
            noticed, most = each, NOTICED.index(each["outcome"])
    why = f"{noticed['outcome']}: {noticed['reason']}" if noticed else ""
    if noticed and noticed["outcome"] == "failed":
        return Trial(mutation, "killed", noticed["check"], why)
    if ended.error == "signal SIGALRM":
        return Trial(mutation, "timeout", began, "it hangs")
    if noticed and noticed["outcome"] == "warned":
        return Trial(mutation, "warned", noticed["check"], why)
    if ended.error:
        last = (ended.printed.splitlines() or [""])[-1]
        return Trial(mutation, "broken", began, f"{ended.error}: {last}")
    if noticed and noticed["outcome"] == "broken":
        return Trial(mutation, "broken", noticed["check"], why)
    played = sum("outcome" in each for each in messages)
    return Trial(mutation, "survived", why=why or f"{played} checks passed")
