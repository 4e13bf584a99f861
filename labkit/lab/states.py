"""The part of a lab's handle that keeps and continues its state: forks, snapshots and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from labkit.core.handle import Handle
from labkit.lab.futures import Futures, fork_lab
from labkit.lab.runtime import Runtime

V = TypeVar("V")
T = TypeVar("T")


class LabStates(Handle):
    """A lab's state: futures from here on."""

    _runtime: Runtime

    def fork(
        self,
        function: Callable[[Any, V], T],
        over: Iterable[V],
        *,
        workers: int = 2,
        within: float | None = None,
        check: bool = True,
        progress: bool | None = None,
    ) -> Futures[V, T]:
        """Try a future of this lab for each value, and return the futures: `lab.fork(roll_out, over=["2.0", "2.1"])`.

        Each future is a fork of this process, so it begins with all that the lab, its handles and your variables have
        now, and changes none of it: `function(lab, value)` runs there, and its result and the journal from then on come
        back. Files that it writes are real.

        function: gets the lab, which continues in the fork, and the value; returns what pickle can send, such as
        numbers, dicts or a DataFrame. over: the values. workers: most futures at one time. within: real seconds after
        which a future is ended with an error. check: whether to raise LabError if a function has failed, once all have
        ended; otherwise `Future.error` has it. progress: whether to show a bar; None: in a terminal and in JupyterLab.

        The lab stands still meanwhile: it ends its connections before, listens again after, and keeps its ports. Raises
        LabError, and changes nothing, while a fleet runs or a poll is open, in a story, where a fault delays work, with
        a Keystore in an outside Redis, and where the system cannot fork (Windows).
        """
        functions = [(value, partial(function, self, value)) for value in over]
        return fork_lab(
            self._runtime, functions, workers=workers, within=within, check=check, progress=progress
        )
