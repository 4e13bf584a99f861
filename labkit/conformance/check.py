"""Declaration and registry of checks.

A check creates one situation at a target through its public interface, and compares. It passes by returning. A model
check runs random sequences of commands, and returns its findings.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.conformance import areas
from labkit.conformance.models.search import Findings, Model, search
from labkit.core.errors import SettingsError

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game
    from labkit.conformance.target import Target

Function = Callable[["Target"], Awaitable["Findings | None"]]

STEPS = 100  # commands that a model check runs in a report; CI runs more
SECONDS = 30.0  # seconds of real time that a model check takes at most, unless it runs more steps
CLEANUP_SECONDS = 10.0  # seconds of real time to end the tasks and connections that a check left open
PATIENCE = 60.0  # seconds of real time for one check; a model check has the time of its search in addition
# Environment variable: another number of steps for all model checks, or `write/model=100000` for one; commas separate.
STEPS_VARIABLE = "LABKIT_MODEL_STEPS"
MAX_STEPS = 10_000_000
SECONDS_PER_STEP = (
    1.0  # seconds of real time per step of a longer search, while other processes use the machine too
)


@dataclass(frozen=True, slots=True)
class Check:
    """A check: the requirements that it tests, its function, and the features that it needs beyond HTTPS.

    model: the model that it searches, if it is a model check.
    """

    name: str
    requirements: tuple[str, ...]
    title: str
    needs: frozenset[str]
    function: Function
    model: Model | None = None


def check(requirements: str, title: str, *, needs: Iterable[str] = ()) -> Callable[[Function], Check]:
    """Declare a check of one or more requirements (ids separated by spaces).

    needs: features that the target must offer beyond HTTPS: clock, journal, mailbox, handsets, settings, polls, files
    (folders that the target reads where the check writes them).
    """

    def declare(function: Function) -> Check:
        name = areas.name_of(function)
        return Check(name, tuple(requirements.split()), title, frozenset(needs), function)

    return declare


def model_check(
    requirements: str, title: str, *, needs: Iterable[str] = ()
) -> Callable[[Callable[[], type[Game]]], Check]:
    """Declare a check that searches a model, by a function that imports its game. Each of the requirements that the
    game compares gets its own outcome.

    needs: as of `check`.
    """

    def declare(game: Callable[[], type[Game]]) -> Check:
        name, rules = areas.name_of(game), tuple(requirements.split())
        model = Model(rules, game)

        async def play(target: Target) -> Findings:
            steps = model_steps(name)
            return await search(model, target, steps=steps, seconds=model_seconds(steps))

        return Check(name, rules, title, frozenset(needs), play, model)

    return declare


def model_steps(name: str, usual: int = STEPS) -> int:
    """Return the number of commands of a model check: `usual`, or the number that the environment sets.

    Raises SettingsError for an invalid number or an unknown model check.
    """
    steps = usual
    text = os.environ.get(STEPS_VARIABLE)
    for part in () if text is None else text.split(","):
        check, _, number = part.strip().rpartition("=")
        if not number.isdecimal() or not 1 <= int(number) <= MAX_STEPS:
            raise SettingsError(
                f"{STEPS_VARIABLE}: expected a number of steps from 1 to {MAX_STEPS}, or that of one model check "
                f"as in write/model=100000, not {text!r}"
            )
        known = {each.name for each in all_checks() if each.model is not None} if check else {""}
        if check not in known:
            raise SettingsError(
                f"{STEPS_VARIABLE}: there is no model check {check!r}, there are: {', '.join(sorted(known))}"
            )
        steps = int(number) if check in ("", name) else steps
    return steps


def model_seconds(steps: int) -> float:
    """Return the seconds of real time that a model check takes at most."""
    return SECONDS if steps <= STEPS else max(SECONDS, steps * SECONDS_PER_STEP)


def patience(check: Check) -> float:
    """Return the seconds of real time after which a check is ended."""
    return PATIENCE if check.model is None else PATIENCE + model_seconds(model_steps(check.name))


def all_checks() -> list[Check]:
    """Return all checks, in the order of the files and of the lines in them."""
    found: list[Check] = []
    for module in areas.modules("checks"):
        found += [member for member in vars(module).values() if isinstance(member, Check)]
    return found


def select(checks: Iterable[Check], *prefixes: str) -> list[Check]:
    """Return the checks of the requirements whose ids begin with one of the prefixes; all if there is no prefix."""
    if not prefixes:
        return list(checks)
    return [
        each
        for each in checks
        if any(_below(name, prefix) for name in each.requirements for prefix in prefixes)
    ]


def _below(id: str, prefix: str) -> bool:
    return id == prefix or id.startswith(prefix.rstrip("-") + "-")
