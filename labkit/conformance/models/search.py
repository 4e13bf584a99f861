"""Searching for sequences that a target and a model answer differently, and for the shortest of them.

Hypothesis draws the sequences in a thread of its own; each is played on the loop of the check, with a fresh game.
What differs is a rule (a requirement); once one has differed, the search goes on without it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from labkit.conformance.apart import in_thread
from labkit.conformance.models.rules import Differs, Rules, shortened
from labkit.conformance.unreadable import UNREADABLE, unreadable
from labkit.conformance.verdict import Mismatch, Unavailable
from labkit.conformance.waiting import waiting
from labkit.fleet.channel import NoAnswerError

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

    from labkit.conformance.target import Target

AVERAGE = 20  # commands of one sequence; the longest one has three times as many
LONGER = 40  # the same where much has to be done before and after a sequence
AT_ONCE = (
    10  # sequences of one run of Hypothesis: with more it repeats parts of what it drew, mostly to no avail
)
SHRINKING = 15.0  # seconds of real time for the shortest sequence of one difference
LEAVING_OUT = 5.0  # the same for what can be left out of that at last
STEP = 15.0  # seconds of real time that a target has for one command of a sequence
CLOSING = 5.0  # the same for what a sequence left under way


class Game(Protocol):
    """A reference model and the target, side by side, for one sequence. default: the rule of an answer that fails."""

    default: str

    async def begin(self) -> None:
        """Make what the sequence needs, under fresh names."""

    async def play(self, command: Any) -> None:
        """Send what the command says, and compare the answer. Raises Differs."""

    async def end(self) -> None:
        """Compare what is left to compare. Raises Differs."""

    async def close(self) -> None:
        """Leave nothing under way, whatever happened."""


@dataclass(frozen=True, slots=True)
class Model:
    """What is searched: the rules, the commands that sequences are made of, and the game that plays them.

    commands: called when needed, since Hypothesis comes with labkit[lab] alone. A command's repr is what a reader sees.
    average: of how many of them a sequence is made.
    """

    rules: tuple[str, ...]
    commands: Callable[[], SearchStrategy[Any]]
    game: Callable[[Target, Rules], Game]
    average: int = AVERAGE


@dataclass(frozen=True, slots=True)
class Difference:
    """A rule that the target breaks, and the shortest sequence that was found to show it.

    slow: an answer did not come in time, so that no shorter sequence is looked for.
    """

    requirement: str
    mismatch: Mismatch
    sequence: tuple[Any, ...]
    slow: bool = False

    def story(self) -> str:
        """The sequence, a line a command, and the exchange of the last one."""
        lines = [f"{number}. {shortened(command)}" for number, command in enumerate(self.sequence, 1)]
        return "\n".join(["shortest sequence:", *lines, "", self.mismatch.exchange]).rstrip()


@dataclass(slots=True)
class Findings:
    """What came of a search. compared: the rules that came up; steps: commands played; seconds: real time."""

    rules: tuple[str, ...]
    differences: list[Difference] = field(default_factory=list)
    compared: set[str] = field(default_factory=set)
    steps: int = 0
    seconds: float = 0.0


class _Enough(BaseException):
    """Ends a search from inside; no Exception, which Hypothesis would take for a finding."""


class _Found(Exception):
    """What Hypothesis looks for."""


class _Broken(BaseException):
    """An error of the model itself, which no shorter sequence makes clearer."""


def prepare() -> None:
    """Draw once, for a process that others are forked from: Hypothesis reads all of labkit's source for constants
    first, which takes half a second. Does nothing without Hypothesis.
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
    """Play about so many steps for at most so many seconds of real time.

    shrink: look for the shortest sequence of each difference; else the first one found is kept. The sequences come
    from the target's seed, where it has one. Raises Unavailable without Hypothesis.
    """
    try:
        import hypothesis  # noqa: F401 - told here, on behalf of all that use it
    except ImportError:
        raise Unavailable("Hypothesis is not installed: it comes with labkit[lab]") from None
    found = Findings(model.rules)
    began = time.monotonic()
    run = _Search(model, target, found, steps, began + seconds, shrink)
    try:
        await in_thread(run.all_rules)
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
        self.best_by = 0.0
        self._loop = asyncio.get_running_loop()
        self._stopped = False
        self._playing: Future[Difference | None] | None = None
        self.sequences = _sequences(model.commands(), model.average)

    def all_rules(self) -> None:
        """In the thread: search until the steps are played or the time is over."""
        while self._left():
            if (difference := self._one_rule()) is not None:
                self.found.differences.append(difference)

    def stop(self) -> None:
        """On the loop: end the search, and the sequence that is being played, if any."""
        self._stopped = True
        if self._playing is not None:
            self._playing.cancel()

    def _left(self) -> bool:
        return not self._stopped and self.found.steps < self.steps and time.monotonic() < self.until

    def _one_rule(self) -> Difference | None:
        """Search some sequences; where a rule differs, for its shortest one."""
        from hypothesis import HealthCheck, Phase, given, seed, settings
        from hypothesis.errors import Flaky

        self.best = None
        chosen = settings(
            max_examples=AT_ONCE,
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
                raise _Found

        played = given(self.sequences)(play)
        try:
            with suppress(
                _Found, Flaky, _Enough
            ):  # flaky: a difference that does not come every time is one too
                seed(self.target.seed("sequences"))(chosen(played))()
            with suppress(_Enough):
                self._leave_out()
        except _Broken as error:
            raise error.__cause__ or error  # noqa: B904 - it is the cause itself
        return self.best

    def _leave_out(self) -> None:
        """Leave out what a difference does not need: Hypothesis may have come to its end before it did."""
        if self.best is None or not self.shrink:
            return
        self.best_by = time.monotonic() + LEAVING_OUT
        for number in reversed(range(len(self.best.sequence))):
            if len(self.best.sequence) > 1:
                self._differs(self.best.sequence[:number] + self.best.sequence[number + 1 :])

    def _differs(self, sequence: Sequence[Any]) -> bool:
        if self._stopped or (self.best is None and not self._left()):
            raise _Enough
        if not sequence:
            return False
        if self.best is not None and time.monotonic() > self.best_by:
            raise _Enough
        if self.best is None:
            self.found.steps += len(sequence)
        rules = Rules(self.model.rules, [each.requirement for each in self.found.differences])
        try:
            self._playing = asyncio.run_coroutine_threadsafe(self._play(sequence, rules), self._loop)
            difference = self._playing.result()
        except CancelledError:
            raise _Enough from None
        except Exception as error:
            raise _Broken from error
        finally:
            self.found.compared |= rules.compared
        if difference is None or (self.best and difference.requirement != self.best.requirement):
            return False
        if self.best is None:
            self.best_by = min(time.monotonic() + SHRINKING, self.until)
            if difference.slow:
                self.shrink, self.best_by = False, 0.0
        if self.best is None or len(difference.sequence) <= len(self.best.sequence):
            self.best = difference
        return True

    async def _play(self, sequence: Sequence[Any], rules: Rules) -> Difference | None:
        game = self.model.game(self.target, rules)
        played = 0
        try:
            async with asyncio.timeout(STEP):
                await game.begin()
            for command in sequence:
                played += 1
                async with asyncio.timeout(STEP):
                    await game.play(command)
            async with asyncio.timeout(STEP):
                await game.end()
        except Differs as differs:
            return Difference(differs.requirement, differs.mismatch, tuple(sequence[:played]))
        except Exception as error:
            if (mismatch := _fault(error)) is None:
                raise
            if game.default in rules.without:
                return None
            slow = isinstance(error, TimeoutError)
            return Difference(game.default, mismatch, tuple(sequence[:played]), slow)
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSING):
                    await game.close()
        return None


def _fault(error: Exception) -> Mismatch | None:
    """Return what the target did wrong, where no rule says it: no answer, or one that the game cannot read."""
    import httpx

    if isinstance(error, TimeoutError):
        return Mismatch("an answer", f"one within {STEP:g} s", f"none: {waiting(error).where}")
    if isinstance(error, UNREADABLE):
        return unreadable(error)
    if isinstance(error, NoAnswerError) and error.kind != "refused":
        return Mismatch("a request", "an answer", str(error))
    if isinstance(error, httpx.TransportError) and not isinstance(error, httpx.ConnectError):
        request = f"{error.request.method} {error.request.url.raw_path.decode()}"
        return Mismatch(request, "an answer", f"{type(error).__name__} {error}".rstrip())
    return None


def _sequences(command: SearchStrategy[Any], average: int) -> SearchStrategy[list[Any]]:
    """Lists of commands, longer than Hypothesis draws them, whose items go one by one when it shrinks them."""
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
