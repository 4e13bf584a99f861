"""Likely mistakes in the calls of scripts and handlers, and errors that ended handlers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress

from labkit.core.errors import ServiceError, did_you_mean
from labkit.core.record_lines import one_line
from labkit.services.bounds import shown_name
from labkit.services.operation import Operation

# Operations of the platform that labkit lacks, since public references have no more than their names, by service.
KNOWN_BY_NAME: Mapping[str, tuple[str, ...]] = {
    "Config": ("updateEnv",),
    "Device2": ("latestSignalsSearch", "queryResource", "querySignal", "querySignals"),
    "Timer": ("batchRetime", "getEvents", "retime"),
    "Tsdb": (
        *("addConfig", "export", "exportJobInfo", "exportJobList"),
        *("getConfig", "import", "importJobInfo", "importJobList"),
    ),
}
LONGEST = 500  # characters of a sentence
MOST = 200  # mistakes of a lab that are remembered, and failing handlers; later ones are in the journal alone


class MistakeError(ServiceError):
    """ServiceError of a mistake or a used-up quota: the log has a line of it, since most scripts ignore the result."""


class Mistakes:
    """Mistakes that nobody has read yet, each once for a handler.

    A script goes on after such a call, so that nothing else shows it. unread: sentences, oldest first; `take` returns
    them.
    """

    def __init__(self) -> None:
        self.unread: deque[str] = deque()
        self._known: set[tuple[str, str, str]] = set()  # solution, handler, text
        self._failed: dict[
            tuple[str, str], tuple[int, str]
        ] = {}  # by solution and handler: count, first error

    def add(self, solution: str, handler: str, call: str, hint: str) -> None:
        """Add a mistake in a call that a handler makes, unless it is known. hint: the mistake as a sentence."""
        text = one_line(f"{call}: {hint}", LONGEST)
        if (solution, handler, text) not in self._known and len(self._known) < MOST:
            self._known.add((solution, handler, text))
            self.unread.append(f"solution {solution!r}, {handler}: {text}")

    def take(self) -> list[str]:
        """Remove and return the unread mistakes as sentences, oldest first."""
        found: list[str] = []
        with suppress(IndexError):  # another thread may take some
            while self.unread:
                found.append(self.unread.popleft())
        return found

    def fail(self, solution: str, handler: str, error: str) -> None:
        """Count an error that ended a handler, unless it is a mistake that was added."""
        if (solution, handler, one_line(error, LONGEST)) in self._known:
            return
        count, first = self._failed.get((solution, handler), (0, error))
        if count or len(self._failed) < MOST:
            self._failed[solution, handler] = count + 1, first

    def take_failures(self) -> list[str]:
        """Remove the failures since the last call, and return a sentence for each handler that failed."""
        failed, self._failed = self._failed, {}
        return [
            f"solution {solution!r}, {handler} failed{'' if count == 1 else f' {count:,} times, first'}: "
            f"{one_line(first, LONGEST)}"
            for (solution, handler), (count, first) in failed.items()
        ]

    def forget(self, solution: str) -> None:
        """Report those of a solution again if its handlers, of which one is new, make them."""
        self._known = {each for each in self._known if each[0] != solution}


def missing_hint(service: str, operation: str, known: Mapping[str, Iterable[str]]) -> str:
    """Return a sentence about a call of a service or an operation that is not there.

    known: names of the operations that the caller may use, by service.
    """
    if service not in known:
        there = did_you_mean(service, known) or "; `stubs` in lab.yaml, or lab.service, can add it"
        return f"there is no service {shown_name(service)!r}{there}"
    if operation in KNOWN_BY_NAME.get(service, ()):
        return f"{service}.{operation} is known by name only: labkit does not have it"
    return f"{service} has no operation {shown_name(operation)!r}{did_you_mean(operation, known[service])}"


def argument_hint(declared: Operation, given: Mapping[str, object]) -> str:
    """Return a sentence about arguments that an operation ignores, never accepts, or that are likely mistakes."""
    return ", ".join((*declared.warnings(given), *declared.wrong_names(given)))
