"""Futures of a lab: what becomes of it in forks of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from labkit.control.control import Control
from labkit.core.errors import LabError, OwnProcessError, tell_interrupt
from labkit.core.extras import needs
from labkit.core.forks import AVAILABLE, UNAVAILABLE, Ended, call_in_forks, outcome_of, result_of
from labkit.core.handle import call_name
from labkit.core.progress import Progress
from labkit.core.words import counted
from labkit.lab.runtime import Runtime

if TYPE_CHECKING:
    import pandas

V = TypeVar("V")
T = TypeVar("T")


@dataclass(frozen=True)
class Future(Generic[V, T]):
    """One future of a lab.

    value: the one that its function got; result: what the function returned; journal: the records since the fork, as
    text that is equal for equal futures; error: what the function raised, None if nothing; seconds: real time.
    """

    value: V
    result: T | None
    journal: str
    error: BaseException | None
    seconds: float


class Futures(Sequence[Future[V, T]]):
    """The futures of one past, in the order of their values."""

    def __init__(self, futures: Iterable[Future[V, T]]) -> None:
        self._futures = tuple(futures)

    @property
    def results(self) -> list[Any]:
        """Results of the functions, in the order of the values; None for one that failed."""
        return [each.result for each in self._futures]

    def frame(self) -> pandas.DataFrame:
        """Return a DataFrame with one row per future: value, the result (its keys as columns if it is a
        dict), error (empty without one), seconds."""
        with needs("tables"):
            import pandas

        rows = []
        for each in self._futures:
            given = each.result if isinstance(each.result, dict) else {"result": each.result}
            failed = "" if each.error is None else _text(each.error)
            rows.append({"value": each.value, **given, "error": failed, "seconds": each.seconds})
        return pandas.DataFrame(rows)

    @overload
    def __getitem__(self, index: int) -> Future[V, T]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Future[V, T]]: ...
    def __getitem__(self, index: Any) -> Any:
        return self._futures[index]

    def __len__(self) -> int:
        return len(self._futures)

    def __repr__(self) -> str:
        failed = sum(each.error is not None for each in self._futures)
        return f"<{counted(len(self), 'future')}{f', {failed} failed' if failed else ''}>"


def fork_lab(
    runtime: Runtime,
    functions: Sequence[tuple[V, Callable[[], T]]],
    *,
    workers: int,
    within: float | None,
    check: bool,
    progress: bool | None,
    unit: str = "future",
) -> Futures[V, T]:
    """Call functions in futures of a lab: see `Lab.fork`. functions: each with the value that it is for."""
    if not isinstance(runtime.control, Control):
        raise OwnProcessError(
            "fork: needs the lab's own process: call it there, or use snapshots: lab.save(path)"
        )
    if not AVAILABLE:
        raise LabError(f"fork: {UNAVAILABLE}")
    if type(workers) is not int or workers < 1:
        raise LabError(f"fork: workers: expected a whole number above 0, not {workers!r}")
    if within is not None and not within > 0:
        raise LabError(f"fork: within: expected seconds of real time above 0, not {within!r}")
    calls = [partial(_tell, runtime, function) for _, function in functions]
    ended: dict[int, Ended[tuple[bytes, str]]] = {}
    try:
        with Progress(total=len(calls), unit=unit, wanted=progress) as shown, runtime.forking():
            for each in call_in_forks(calls, workers=workers, within=within):
                ended[each.number] = each
                shown.update()
    except KeyboardInterrupt as interrupt:
        over = f"{len(ended)} of {counted(len(calls), unit)} were over, the others are ended"
        tell_interrupt(interrupt, f"{call_name()} was interrupted: {over}; the lab is as it was before")
        raise
    futures: Futures[V, T] = Futures(
        _future(value, ended[number]) for number, (value, _) in enumerate(functions)
    )
    for future in futures if check else ():
        if future.error is not None:
            failed = LabError(f"the future of {future.value!r:.100} failed: {_text(future.error)}")
            for note in getattr(future.error, "__notes__", ()):
                failed.add_note(note)
            raise failed
    return futures


def _text(error: BaseException) -> str:
    return str(error) if type(error) is LabError else f"{type(error).__name__}: {error}"


def _future(value: V, ended: Ended[tuple[bytes, str]]) -> Future[V, T]:
    if ended.result is None:
        return Future(value, None, "", ended.error, ended.seconds)
    outcome, journal = ended.result
    result, error = result_of(outcome)
    return Future(value, result, journal, error, ended.seconds)


def _tell(runtime: Runtime, function: Callable[[], T]) -> tuple[bytes, str]:
    """In a fork: continue the lab, and return the outcome of a function, and the journal from here on."""
    runtime.continue_apart()
    control = runtime.control.journal
    state = runtime.portal.run(control.state)
    outcome = outcome_of(function)
    since = state.records + state.dropped
    return outcome, "" if runtime.closed else runtime.portal.run(control.canonical, since)
