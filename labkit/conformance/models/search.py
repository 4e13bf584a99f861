"""Search for command sequences that a target and a model answer differently, and for the shortest of them.

Hypothesis draws the sequences in its own thread; each is run on the check's event loop, with a fresh game. A difference
violates a rule (a requirement); the search then goes on without that rule.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labkit.conformance.blocking import in_thread
from labkit.conformance.models.rules import Differs, Rules, shortened
from labkit.conformance.unreadable import UNREADABLE, unreadable
from labkit.conformance.verdict import Mismatch, Unavailable
from labkit.conformance.waiting import waiting
from labkit.fleet.channel import NoAnswerError

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

    from labkit.conformance.models.game import Game
    from labkit.conformance.target import Target

SEQUENCES_PER_RUN = 10  # of Hypothesis: with more it repeats parts of earlier draws, mostly to no avail
SHRINK_TIME = 15.0  # seconds of real time for the shortest sequence of one difference
PRUNE_TIME = 5.0  # seconds of real time for removing single commands from it afterwards
STEP_TIMEOUT = 15.0  # seconds of real time for one command of a sequence
CLOSE_TIMEOUT = 5.0  # seconds of real time for ending the pending requests of a sequence


@dataclass(frozen=True, slots=True)
class Model:
    """A model check's subject: its rules, and a function that imports the game whose commands are searched."""

    rules: tuple[str, ...]
    game: Callable[[], type[Game]]


@dataclass(frozen=True, slots=True)
class Difference:
    """A rule that the target violates, and the shortest known sequence that shows it.

    slow: an answer timed out, so no shorter sequence is searched for.
    """

    requirement: str
    mismatch: Mismatch
    sequence: tuple[Any, ...]
    slow: bool = False

    def story(self) -> str:
        """Return the sequence, one command per line, and the exchange of the last one."""
        lines = [f"{number}. {shortened(command)}" for number, command in enumerate(self.sequence, 1)]
        return "\n".join(["shortest sequence:", *lines, "", self.mismatch.exchange]).rstrip()


@dataclass(slots=True)
class Findings:
    """Result of a search. compared: the rules compared; steps: commands run; seconds: real time."""

    rules: tuple[str, ...]
    differences: list[Difference] = field(default_factory=list)
    compared: set[str] = field(default_factory=set)
    steps: int = 0
    seconds: float = 0.0


class _SearchEnded(BaseException):
    """Ends a search from inside; no Exception, which Hypothesis would take for a finding."""


class _DifferenceFound(Exception):
    """Signals a difference to Hypothesis."""


class _GameError(BaseException):
    """An error of the model itself; a shorter sequence would not make it clearer."""


def prepare() -> None:
    """Draw one example, for a process that others are forked from; does nothing without Hypothesis.

    Hypothesis first reads all of labkit's source for constants, which takes half a second.
    """
    try:
        from hypothesis import find, settings
        from hypothesis import strategies as st
    except ImportError:
        return
    find(st.integers(), lambda number: True, settings=settings(database=None, derandomize=True))


async def search(
    model: Model, target: Target, *, steps: int, seconds: float, shrink: bool = True
) -> Findings:
    """Run sequences of about `steps` commands in all, for at most `seconds` of real time.

    shrink: look for the shortest sequence of each difference; otherwise the first one found is kept. The sequences come
    from the target's seed, if it has one. Raises Unavailable without Hypothesis.
    """
    try:
        import hypothesis  # noqa: F401 - fails here rather than in the thread
    except ImportError:
        raise Unavailable("Hypothesis is not installed: it comes with labkit[lab]") from None
    found = Findings(model.rules)
    began = time.monotonic()
    run = _Search(model, target, found, steps, began + seconds, shrink)
    try:
        await in_thread(run.search_rules)
    finally:
        run.stop()
    found.seconds = time.monotonic() - began
    return found


class _Search:
    def __init__(
        self, model: Model, target: Target, found: Findings, steps: int, until: float, shrink: bool
    ) -> None:
        self.model = model
        self.target = target
        self.found = found
        self.steps = steps
        self.until = until
        self.shrink = shrink
        self.best: Difference | None = None
        self.shrink_until = 0.0
        self._loop = asyncio.get_running_loop()
        self._stopped = False
        self._playing: Future[Difference | None] | None = None
        self.game = model.game()
        self.sequences = _sequences(self.game.commands(), self.game.average)

    def search_rules(self) -> None:
        """Search until the steps are used up or the time is over; runs in Hypothesis' thread."""
        while self._has_budget():
            if (difference := self._find_difference()) is not None:
                self.found.differences.append(difference)

    def stop(self) -> None:
        """End the search and the sequence in progress; runs on the event loop."""
        self._stopped = True
        if self._playing is not None:
            self._playing.cancel()

    def _has_budget(self) -> bool:
        return not self._stopped and self.found.steps < self.steps and time.monotonic() < self.until

    def _find_difference(self) -> Difference | None:
        """Search some sequences; return the first difference with its shortest sequence, or None."""
        from hypothesis import HealthCheck, Phase, given, seed, settings
        from hypothesis.errors import Flaky

        self.best = None
        chosen = settings(
            max_examples=SEQUENCES_PER_RUN,
            database=None,
            deadline=None,
            derandomize=False,
            print_blob=False,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, *([Phase.shrink] if self.shrink else [])],
        )

        def play(sequence: list[Any]) -> None:
            if self._differs(sequence):
                raise _DifferenceFound

        played = given(self.sequences)(play)
        try:
            # Flaky: a difference that does not recur counts too
            with suppress(_DifferenceFound, Flaky, _SearchEnded):
                seed(self.target.seed("sequences"))(chosen(played))()
            with suppress(_SearchEnded):
                self._prune()
        except _GameError as error:
            raise error.__cause__ or error  # noqa: B904 - it is the cause itself
        return self.best

    def _prune(self) -> None:
        """Remove commands that the difference does not need; Hypothesis may have stopped shrinking too early."""
        if self.best is None or not self.shrink:
            return
        self.shrink_until = time.monotonic() + PRUNE_TIME
        for number in reversed(range(len(self.best.sequence))):
            if len(self.best.sequence) > 1:
                self._differs(self.best.sequence[:number] + self.best.sequence[number + 1 :])

    def _differs(self, sequence: Sequence[Any]) -> bool:
        if self._stopped or (self.best is None and not self._has_budget()):
            raise _SearchEnded
        if not sequence:
            return False
        if self.best is not None and time.monotonic() > self.shrink_until:
            raise _SearchEnded
        if self.best is None:
            self.found.steps += len(sequence)
        rules = Rules(self.model.rules, [each.requirement for each in self.found.differences])
        try:
            self._playing = asyncio.run_coroutine_threadsafe(self._play(sequence, rules), self._loop)
            difference = self._playing.result()
        except CancelledError:
            raise _SearchEnded from None
        except Exception as error:
            raise _GameError from error
        finally:
            self.found.compared |= rules.compared
        if difference is None or (self.best and difference.requirement != self.best.requirement):
            return False
        if self.best is None:
            self.shrink_until = min(time.monotonic() + SHRINK_TIME, self.until)
            if difference.slow:
                self.shrink, self.shrink_until = False, 0.0
        if self.best is None or len(difference.sequence) <= len(self.best.sequence):
            self.best = difference
        return True

    async def _play(self, sequence: Sequence[Any], rules: Rules) -> Difference | None:
        game = self.game(self.target, rules)
        played = 0
        try:
            async with asyncio.timeout(STEP_TIMEOUT):
                await game.begin()
            for command in sequence:
                played += 1
                async with asyncio.timeout(STEP_TIMEOUT):
                    await game.play(command)
            async with asyncio.timeout(STEP_TIMEOUT):
                await game.end()
        except Differs as differs:
            return Difference(differs.requirement, differs.mismatch, tuple(sequence[:played]))
        except Exception as error:
            if (mismatch := _target_fault(error)) is None:
                raise
            if game.default in rules.without:
                return None
            slow = isinstance(error, TimeoutError)
            return Difference(game.default, mismatch, tuple(sequence[:played]), slow)
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_TIMEOUT):
                    await game.close()
        return None


def _target_fault(error: Exception) -> Mismatch | None:
    """Return the target's fault behind an error: no answer, or one that the game cannot read; else None."""
    import httpx

    if isinstance(error, TimeoutError):
        return Mismatch("an answer", f"one within {STEP_TIMEOUT:g} s", f"none: {waiting(error).where}")
    if isinstance(error, UNREADABLE):
        return unreadable(error)
    if isinstance(error, NoAnswerError) and error.kind != "refused":
        return Mismatch("a request", "an answer", str(error))
    if isinstance(error, httpx.TransportError) and not isinstance(error, httpx.ConnectError):
        request = f"{error.request.method} {error.request.url.raw_path.decode()}"
        return Mismatch(request, "an answer", f"{type(error).__name__} {error}".rstrip())
    return None


def _sequences(command: SearchStrategy[Any], average: int) -> SearchStrategy[list[Any]]:
    """Return a strategy for lists of commands, longer than Hypothesis' own, that shrinks item by item."""
    from hypothesis import strategies as st

    goes_on = st.integers(0, average)

    @st.composite
    def item(draw: DrawFn) -> Any:
        return draw(command) if draw(goes_on) else None

    one = item()  # Hypothesis takes about as long to look at a new strategy as to draw from it

    @st.composite
    def items(draw: DrawFn) -> list[Any]:
        found: list[Any] = []
        while len(found) < 3 * average and (each := draw(one)) is not None:
            found.append(each)
        return found

    return items()
