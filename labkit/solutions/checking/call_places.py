"""Places in a solution's scripts that call an operation, found in their syntax trees."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.solutions.folders.folder import SolutionFolder
from labkit.solutions.folders.scripts import ScriptSource
from labkit.solutions.lua.names import all_calls

MOST = 3  # places that a text names


def call_places(folder: SolutionFolder, handler: str, operation: str) -> str:
    """Return the files and lines that may have made a call, as text; empty where no script has such a call.

    handler: what made the call, as the journal names it, `GET /lamps/{id}` or `device datapoint`; operation: such as
    `Twilio.postMessage`. Places in the handler's own script come alone, else those in all scripts.
    """
    own = [script for name, script in _handlers(folder) if name == handler]
    found = _calls(own, operation) or _calls(folder.scripts(), operation)
    more = f" and {len(found) - MOST} more" if len(found) > MOST else ""
    return ", ".join(found[:MOST]) + more


def _handlers(folder: SolutionFolder) -> Iterator[tuple[str, ScriptSource]]:
    for route in folder.endpoints:
        yield f"{route.method} {route.path}", route.script
    for handler in folder.events:
        yield f"{handler.service.lower()} {handler.event}", handler.script


def _calls(scripts: list[ScriptSource], operation: str) -> list[str]:
    return list(
        dict.fromkeys(
            f"{call.file}:{call.line}"
            for script in scripts
            for call in all_calls(script)
            if f"{call.service}.{call.operation}" == operation
        )
    )
