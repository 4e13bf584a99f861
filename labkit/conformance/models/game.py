"""Games: a reference model and a target that carry out the same random commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from labkit.conformance.models.calls import Calls
from labkit.conformance.models.game_clock import GameClock
from labkit.conformance.models.rules import Rules
from labkit.conformance.probe import PROBE, WITNESS
from labkit.conformance.target import Target

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

LONG = 40  # mean number of commands for games with a costly begin and end

M = TypeVar("M")


class Game:
    """A reference model and the target, compared command by command for one sequence.

    default: the rule that is violated by a failing answer that no other rule covers; average: mean number of commands
    in a sequence, of which the longest has three times as many.
    """

    default: ClassVar[str]
    average: ClassVar[int] = 20

    def __init__(self, target: Target, rules: Rules) -> None:
        self._target = target
        self._rules = rules
        self.clock = GameClock(target)

    @classmethod
    def commands(cls) -> SearchStrategy[Any]:
        """Return the strategy for commands: those that the class declares by `Commands`."""
        from hypothesis import strategies as st

        methods = vars(cls).values()
        return st.one_of(*(each for method in methods for each in getattr(method, "commands", ())))

    async def begin(self) -> None:
        """Create the objects that the sequence needs, under fresh names."""

    async def play(self, command: Any) -> None:
        """Send the request of a command and compare the answer. Raises Differs."""
        await getattr(self, command.method)(**command.arguments)

    async def end(self) -> None:
        """Compare the final state of the target with the model's. Raises Differs."""

    async def close(self) -> None:
        """End all pending requests, also after a failure."""

    # ---- what another model needs that restarts the platform

    async def pause(self) -> None:
        """Finish what is pending: the platform may restart, or the clock advance, before the next command."""

    async def cut(self) -> None:
        """Prepare for an abrupt restart."""

    def restarted(self) -> None:
        """Record that the platform restarts, or did before this game."""

    def passed(self, before: Fraction) -> None:
        """Follow the clock, which has advanced."""


class ScriptGame(Game):
    """A game of service calls by scripts of solutions.

    solutions, ordered: as in `Calls`; separator: between the game's own identity and the rest of a name.
    """

    solutions: ClassVar[tuple[str, ...]] = (PROBE, WITNESS)
    ordered: ClassVar[bool] = False
    separator: ClassVar[str] = "-"

    def __init__(self, target: Target, rules: Rules) -> None:
        super().__init__(target, rules)
        self._prefix = f"{target.identity()}{self.separator}"
        self._renew_calls()

    def _renew_calls(self) -> None:
        self._calls = Calls(self._target, self._rules, self.default, self.solutions, ordered=self.ordered)

    async def pause(self) -> None:
        await self._calls.send()

    async def _advance(self, ticks: int) -> None:
        """Advance the clock after all queued calls, and have the next ones open new connections: the platform ends idle
        ones after a while, and a client may not have noticed when it sends.
        """
        await self._calls.send()
        await self.clock.advance(ticks)
        for each in self.solutions:
            await self._target.connection(each).close()

    async def close(self) -> None:
        self._renew_calls()
        self.clean_up()
        await self._calls.send()

    def clean_up(self) -> None:
        """Queue calls that remove what would disturb, or slow down, later games."""


class TenantGame(ScriptGame, Generic[M]):
    """A game with the same names in all solutions, and a model of each.

    service: whose operations `_compare` calls; model: makes a solution's model.
    """

    service: ClassVar[str]
    model: Callable[[], M]

    def __init__(self, target: Target, rules: Rules) -> None:
        super().__init__(target, rules)
        self.models = [type(self).model() for _ in self.solutions]

    def _compare(
        self,
        index: int,
        rule: str,
        operation: str,
        body: Mapping[str, Any],
        change: Callable[[M], object],
        see: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        """Queue a call in a solution whose result must equal that of its model. change, see: as in `Calls.compare`."""
        called = f"{self.service}.{operation}"
        self._calls.compare(index, called, body, rule, lambda: change(self.models[index]), see)
