"""Code mutants of event handlers: how they are found, and their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.conformance.breaking import always, call_after, change_arguments, change_result
from labkit.conformance.mutant import patch
from labkit.core.errors import LabError
from labkit.labtime.events import Event, Events, Raised
from labkit.solutions.events import FALLBACK

ARGUMENTS = "labkit.solutions.events:arguments"
CONTEXT = "labkit.solutions.solution:PlatformSolution.context"
EVENTS = "labkit.solutions.folders.scripts:events"

names_of_files = patch(
    "SOL-EVT-1",
    "labkit.solutions.folders.folder:service_and_event",
    "the name of a file does not name its handler",
    from_start=True,
)(change_result(lambda found: ("nobody", found[1])))
one_a_file = patch("SOL-EVT-1", EVENTS, "only the last header of a file counts", from_start=True)(
    change_result(lambda found: found[-1:])
)
unnamed = patch(
    "SOL-EVT-2",
    "labkit.solutions.scripted:Scripts.load",
    "a handler is not a global function of other scripts",
    from_start=True,
)(change_arguments(publish=False))
always_data = patch("SOL-EVT-3", ARGUMENTS, "every handler gets its event as data", from_start=True)(
    always(("data",))
)
one_run = patch("SOL-EVT-3", CONTEXT, "every run has the same tracking_id")(
    change_result(lambda context: {**context, "tracking_id": "the same"})
)
no_event = patch("SOL-EVT-3", CONTEXT, "context does not name the event")(
    change_result(lambda context: {**context, "event": ""})
)
modules_by_require = patch(
    "SOL-EVT-5",
    "labkit.solutions.lua.environments:Environment.update",
    "modules run only when they are required",
    from_start=True,
)(call_after(lambda _, environment, program: environment.to_run.clear()))
no_place = patch(
    "SOL-EVT-6",
    "labkit.solutions.folders.scripts:ScriptSource.where",
    "the error of an event that is handled twice names no file",
)(always("a script"))
first_alone = patch(
    "SOL-EVT-6", EVENTS, "only the first header of a file counts, so that a second handler is not loaded"
)(change_result(lambda found: found[:1]))
same_service = patch("SOL-EVT-7", CONTEXT, "the context of every handler names the service device")(
    change_arguments(service="device")
)
fallback_itself = patch(
    "SOL-EVT-7",
    "labkit.solutions.solution:PlatformSolution.handle",
    "the context of the fallback handler names itself instead of the event",
)(change_arguments(raised=FALLBACK))


@patch("SOL-EVT-4", "labkit.labtime.events:Events.emit")
def must_be_handled(
    original: Any, self: Events, source: str, events: Sequence[Raised], **concerns: Any
) -> None:
    """an event without a handler is an error"""
    for kind, payload, _ in events:
        raised = Event(kind, source, payload, 0, concerns.get("product"), concerns.get("solution"))
        if not list(self.receivers(raised)):
            self.journal.record_error(LabError(f"nobody handles {kind.event}"))
    original(self, source, events, **concerns)


always_replaced = patch(
    "SOL-EVT-9",
    "labkit.solutions.origins:check_replacement",
    "a handler replaces another without replace=True",
)(always(None))
never_anew = patch("SOL-EVT-9", "labkit.solutions.origins:Origin.is_same", "a cell cannot run again")(
    always(False)
)
lambdas_alike = patch(
    "SOL-EVT-9",
    "labkit.solutions.origins:Origin.is_same",
    "a function replaces any other function without replace=True",
)(
    lambda original, self, other: (
        (self.function is not None and other.function is not None) or original(self, other)
    )
)
