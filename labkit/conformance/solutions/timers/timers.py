"""Driver of the model of timers: the same names in two solutions, on the target's virtual clock."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from labkit.conformance.models.calls import CallResult
from labkit.conformance.models.commands import Commands
from labkit.conformance.models.game import TenantGame
from labkit.conformance.probe import events_of
from labkit.conformance.solutions.timers.model import ModelTimer, SolutionTimers

NAMES = ("a", "A", "é", "a b", "%*?[a]")
DURATIONS = (0, 1000, 1000, 1500, 2000, 3000, 250)  # milliseconds that are whole ticks of the game's clock
INTERVALS = (1000, 1500, 2000, 3000, 50, 0)
MOVES = (Fraction(1, 4), Fraction(1), Fraction(1), Fraction(2), Fraction(7, 2), Fraction(10))
OK = {"result": "ok"}  # the result of a timer's end

command = Commands(index=(0, 0, 1), name=NAMES, seconds=MOVES)


class Timers(TenantGame[SolutionTimers]):
    """One run of the model: timers whose ids have a prefix of its own, in two solutions."""

    default = "SOL-TIMER-1"

    service = "Timer"
    model = SolutionTimers
    separator = ""
    _number = 0

    async def begin(self) -> None:
        await self.clock.begin()

    async def end(self) -> None:
        await self._calls.send()
        await self.advance(Fraction(1))

    def clean_up(self) -> None:
        for index in range(len(self.models)):
            self._calls.add(index, "Timer.cancelAll", {})

    @command(duration=INTERVALS, repeats=[True])
    @command(2, duration=DURATIONS, repeats=[False])
    async def set(self, index: int, name: str, duration: int, *, repeats: bool) -> None:
        """Set a timer. duration: milliseconds."""
        self._number += 1
        message = {"to": f"{self._prefix} {index}", "number": self._number}
        given = {"duration": duration, "timer_id": self._prefix + name, "message": message}
        operation = "sendInterval" if repeats else "sendAfter"
        if repeats and duration < 100:
            self._refused(index, operation, given)
            return
        seconds = Fraction(duration, 1000)
        timer = ModelTimer(name, self._number, self.clock.now + seconds, seconds if repeats else None)
        self.models[index].add(timer)
        wanted = {"timer_id": given["timer_id"], "result": "ok"}
        rule = "SOL-TIMER-2" if repeats else "SOL-TIMER-1"
        self._compare(index, rule, operation, given, lambda _: wanted)
        if not duration:
            await self.advance(Fraction(0))

    def _refused(self, index: int, operation: str, given: dict[str, Any]) -> None:
        def judge(result: CallResult) -> None:
            self._rules.holds("SOL-TIMER-2", f"status of {operation}", result.status, 400, result)

        self._calls.add(index, f"Timer.{operation}", given, judge)

    @command()
    async def cancel(self, index: int, name: str) -> None:
        """Cancel a timer, which may not be there."""
        self.models[index].remove(name)
        self._compare(index, "SOL-TIMER-3", "cancel", {"timer_id": self._prefix + name}, lambda _: OK)

    @command()
    async def cancel_all(self, index: int) -> None:
        """Cancel all timers of a solution."""
        self.models[index].set.clear()
        self._compare(index, "SOL-TIMER-3", "cancelAll", {}, lambda _: OK)

    @command()
    async def list_timers(self, index: int) -> None:
        """List the timers of a solution."""
        self._compare(index, "SOL-TIMER-3", "list", {}, SolutionTimers.listed, self._seen)

    def _seen(self, result: Any) -> list[tuple[Any, ...]]:
        listed = [each for each in result.get("timers", ()) if each["timer_id"].startswith(self._prefix)]
        return [
            (
                each["timer_id"].removeprefix(self._prefix),
                (each.get("message") or {}).get("number"),
                each["due"],
            )
            for each in listed
        ]

    @command(2)
    async def advance(self, seconds: Fraction) -> None:
        """Move the clock, and compare what has fired in both solutions."""
        await self._calls.send()
        before = [len(each.fired) for each in self.models]
        if seconds:
            await self.clock.advance(int(seconds * 1024))
        else:
            await self._target.advance(0)
        for index, timers in enumerate(self.models):
            timers.advance(self.clock.now)
            await self._compare_fired(index, before[index])

    async def _compare_fired(self, index: int, before: int) -> None:
        fired, other = self.models[index].fired, self.models[1 - index].fired
        found = await events_of(self._target, f"{self._prefix} {index}", 0, self.solutions[index])
        requests = [each["event"]["request"] for each in found]
        seen = [(each["timer_id"].removeprefix(self._prefix), each["message"]["number"]) for each in requests]
        rule = self.default
        if sorted(seen) == sorted(fired) and seen != fired:
            rule = "SOL-TIMER-5"
        elif set(seen) - set(fired) & set(other):
            rule = "SOL-TIMER-4"
        elif len(fired) - before > 1 and {name for name, _ in fired[before:]} == {fired[-1][0]}:
            rule = "SOL-TIMER-2"
        self._rules.holds(rule, f"timers of {self.solutions[index]} that have fired", seen, fired)
