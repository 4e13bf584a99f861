"""Promises that look at a lab again and again, and judge for how long something is wrong there."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import NamedTuple

from labkit.hunt.kinds import Under
from labkit.hunt.promises.custom import CheckRunner
from labkit.hunt.promises.promise import Promise, StoryEnd, Verdict, Watch
from labkit.lab.lab import Lab
from labkit.lab.observer import LabObserver

TICK = 0.001  # seconds after a time limit, when all that came in time is seen


class Wrong(NamedTuple):
    """Something that is wrong at a look. since: lab time; record: number of the journal's record that led to it."""

    since: float
    reason: str
    record: int | None = None


# Returns the mistakes of now by a key that is the same at a later look; None while there is nothing to judge yet.
Look = Callable[[Lab], Mapping[Hashable, Wrong] | None]


class LookingPromise(Promise):
    """Promise that nothing is wrong for longer than `seconds`, nor longer than that after the last fault.

    make: returns the looks at a new lab; function: of the user, which it calls; every: seconds of lab time from look to
    look; waits: whether it waits, after story and faults, for what can still become right; excuses: whether a fault
    excuses what is wrong until it ends.
    """

    def __init__(
        self,
        make: Callable[[Lab], Look],
        function: Callable[..., object] | None,
        seconds: float,
        every: float,
        name: str,
        under: Under | None,
        *,
        waits: bool = False,
        excuses: bool = True,
    ) -> None:
        self._take(name, under)
        self.function = function
        self.make, self.seconds, self.every = make, seconds, every
        self.waits, self.excuses = waits, excuses

    def watch(self, lab: Lab) -> Watch:
        return LookingWatch(self, lab)


class LookingWatch:
    """Looks at a lab from the beginning of the story to its end, and then until all could have become right."""

    def __init__(self, promise: LookingPromise, lab: Lab) -> None:
        self._promise = promise
        self._lab = lab
        self._observer = LabObserver(lab)
        self._find = promise.make(lab)
        self._is_tested = False
        self._runner = CheckRunner(self._see, lab, promise.function)
        self._present: Mapping[Hashable, Wrong] = {}
        self._late: dict[Hashable, tuple[float, Wrong]] = {}  # with the lab time of the last look that saw it
        self._ended: Verdict | None = None
        self._over = False
        self._observer.look(promise.every, self._look)

    def verdict(self, end: StoryEnd) -> Verdict:
        promise, quiet = self._promise, end.quiet_since or 0.0

        def due(wrong: Wrong) -> float:
            return max(wrong.since, quiet if promise.excuses else 0.0) + promise.seconds

        self._look()
        while promise.waits and self._ended is None and self._present:
            left = max(map(due, self._present.values())) + TICK - self._observer.now
            if left <= 0:
                break
            self._lab.wait(seconds=min(left, promise.every))
            self._look()
        self._over = True
        if self._ended is not None:
            return self._ended
        late = [(due(wrong), wrong) for at, wrong in self._late.values() if at > due(wrong)]
        if late:
            at, wrong = min(late, key=lambda each: each[0])
            return Verdict(promise.name, "broken", wrong.reason, at, wrong.record)
        return Verdict(promise.name, "kept" if self._is_tested else "untested")

    def _see(self, lab: Lab) -> None:
        found = self._find(lab)
        self._is_tested = self._is_tested or found is not None
        self._present = found or {}

    def _look(self) -> bool:
        if self._over or self._ended is not None:
            return False
        now = self._observer.now
        state, reason = self._runner.look()
        if state != "kept":
            self._ended = Verdict(self._promise.name, state, reason, now, self._runner.newest)
        for key, wrong in self._present.items():
            if now > wrong.since + self._promise.seconds:
                self._late[key] = now, wrong
        return self._ended is None
