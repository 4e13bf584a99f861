"""Faults of event handlers: how they are found and what they are given."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import afterwards
from labkit.conformance.mutant import mutant
from labkit.core.errors import LabError
from labkit.core.events import Event, EventKind, Events

CONTEXT = "labkit.solutions.solution:Solution.context"


@mutant("SOL-EVT-1", "labkit.solutions.folder:service_and_event", from_start=True)
def names_of_files(original: Any) -> Any:
    """the name of a file does not name its handler"""
    return lambda file: ("nobody", file.stem)


@mutant("SOL-EVT-1", "labkit.solutions.scripts:events", from_start=True)
def one_a_file(original: Any) -> Any:
    """the last header of a file counts alone"""
    return lambda file, text, named: original(file, text, named)[-1:]


@mutant("SOL-EVT-2", "labkit.solutions.scripted:Scripts.load", from_start=True)
def unnamed(original: Any) -> Any:
    """a handler is no function that others see"""
    return lambda *arguments, **named: original(*arguments, **{**named, "publish": False})


@mutant("SOL-EVT-3", "labkit.solutions.events:arguments", from_start=True)
def always_data(original: Any) -> Any:
    """every handler gets its event as data"""
    return lambda known, service, event: ("data",)


@mutant("SOL-EVT-3", CONTEXT)
def one_run(original: Any) -> Any:
    """every run has the same tracking_id"""
    return lambda self, service, event: {**original(self, service, event), "tracking_id": "the same"}


@mutant("SOL-EVT-3", CONTEXT)
def no_event(original: Any) -> Any:
    """context does not name the event"""
    return lambda self, service, event: {**original(self, service, event), "event": ""}


@mutant("SOL-EVT-4", "labkit.core.events:Events.emit")
def must_be_handled(original: Any) -> Any:
    """an event without a handler is an error"""

    def broken(self: Events, kind: EventKind, source: str, payload: Any, **concerns: Any) -> None:
        raised = Event(kind, source, payload, 0, concerns.get("product"), concerns.get("solution"))
        if not list(self.receivers(raised)):
            self.journal.record_error(LabError(f"nobody handles {kind.event}"))
        original(self, kind, source, payload, **concerns)

    return broken


@mutant("SOL-EVT-5", "labkit.solutions.lua.environments:Environment.update", from_start=True)
def modules_by_require(original: Any) -> Any:
    """modules run when they are required, and not before"""
    return afterwards(original, lambda _, environment, program: environment.to_run.clear())
