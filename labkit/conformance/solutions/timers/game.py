"""Driver of the model of timers: the same names in two solutions, on the target's virtual clock."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from labkit.conformance.models.calls import CallResult, Calls
from labkit.conformance.models.game_clock import GameClock
from labkit.conformance.models.rules import Rules
from labkit.conformance.probe import PROBE, WITNESS, events_of
from labkit.conformance.solutions.timers.model import ModelTimer, SolutionTimers
from labkit.conformance.target import Target

SOLUTIONS = (PROBE, WITNESS)


class TimerGame:
    """One run of the model: timers whose ids have a prefix of its own, in two solutions."""

    default = "SOL-TIMER-1"

    def __init__(self, target: Target, rules: Rules) -> None:
        self._target = target
        self._rules = rules
        self._calls = Calls(target, rules, self.default, SOLUTIONS)
        self._clock = GameClock(target)
        self._prefix = target.identity()
        self._number = 0
        self.timers = (SolutionTimers(), SolutionTimers())

    async def begin(self) -> None:
        await self._clock.begin()

    async def play(self, command: Any) -> None:
        await command(self)

    async def end(self) -> None:
        await self._calls.send()
        await self.advance(Fraction(1))

    async def close(self) -> None:
        left = Calls(self._target, self._rules, self.default, SOLUTIONS)
        for index in range(len(SOLUTIONS)):
            left.add(index, "Timer.cancelAll", {})
        await left.send()

    async def set(self, index: int, name: str, duration: int, *, repeats: bool) -> None:
        """Set a timer. duration: milliseconds."""
        self._number += 1
        message = {"to": f"{self._prefix} {index}", "number": self._number}
        given = {"duration": duration, "timer_id": self._prefix + name, "message": message}
        operation = "sendInterval" if repeats else "sendAfter"
        if repeats and duration < 1000:
            self._refused(index, operation, given)
            return
        seconds = Fraction(duration, 1000)
        timer = ModelTimer(name, self._number, self._clock.now + seconds, seconds if repeats else None)
        self.timers[index].add(timer)
        wanted = {"timer_id": given["timer_id"]}
        rule = "SOL-TIMER-2" if repeats else "SOL-TIMER-1"
        self._calls.compare(index, f"Timer.{operation}", given, rule, lambda: wanted)
        if not duration:
            await self.advance(Fraction(0))

    def _refused(self, index: int, operation: str, given: dict[str, Any]) -> None:
        def judge(result: CallResult) -> None:
            self._rules.holds("SOL-TIMER-2", f"status of {operation}", result.status, 400, result)

        self._calls.add(index, f"Timer.{operation}", given, judge)

    async def cancel(self, index: int, name: str) -> None:
        """Cancel a timer, which may not be there."""
        self.timers[index].remove(name)
        given = {"timer_id": self._prefix + name}
        self._calls.compare(index, "Timer.cancel", given, "SOL-TIMER-3", _ok)

    async def cancel_all(self, index: int) -> None:
        """Cancel all timers of a solution."""
        self.timers[index].set.clear()
        self._calls.compare(index, "Timer.cancelAll", {}, "SOL-TIMER-3", _ok)

    async def list_timers(self, index: int) -> None:
        """List the timers of a solution."""
        wanted = self.timers[index].listed()
        self._calls.compare(index, "Timer.list", {}, "SOL-TIMER-3", lambda: wanted, self._seen)

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

    async def advance(self, seconds: Fraction) -> None:
        """Move the clock, and compare what has fired in both solutions."""
        await self._calls.send()
        before = [len(each.fired) for each in self.timers]
        if seconds:
            await self._clock.advance(int(seconds * 1024))
        else:
            await self._target.advance(0)
        for index, timers in enumerate(self.timers):
            timers.advance(self._clock.now)
            await self._compare(index, before[index])

    async def _compare(self, index: int, before: int) -> None:
        fired, other = self.timers[index].fired, self.timers[1 - index].fired
        found = await events_of(self._target, f"{self._prefix} {index}", 0, SOLUTIONS[index])
        requests = [each["event"]["request"] for each in found]
        seen = [(each["timer_id"].removeprefix(self._prefix), each["message"]["number"]) for each in requests]
        rule = self.default
        if sorted(seen) == sorted(fired) and seen != fired:
            rule = "SOL-TIMER-5"
        elif set(seen) - set(fired) & set(other):
            rule = "SOL-TIMER-4"
        elif len(fired) - before > 1 and {name for name, _ in fired[before:]} == {fired[-1][0]}:
            rule = "SOL-TIMER-2"
        self._rules.holds(rule, f"timers of {SOLUTIONS[index]} that have fired", seen, fired)


def _ok() -> dict[str, str]:
    """Return the result of a timer's end."""
    return {"result": "ok"}
