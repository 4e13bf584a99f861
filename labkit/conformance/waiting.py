"""What a check was waiting for when its patience ended, as the trace of its cancellation tells."""

from __future__ import annotations

import linecache
import traceback
from dataclasses import dataclass
from pathlib import Path

CONFORMANCE = Path(__file__).parent
CLIENTS = CONFORMANCE.parent / "fleet"
# Files of this folder that wait for the target on behalf of a check.
READERS = frozenset({"answers.py", "connection_pool.py", "raw.py"})
HELPERS = READERS | {"apart.py", "runner.py", "target.py"}


@dataclass(frozen=True, slots=True)
class Wait:
    """What was waited for. where: the line of the check; target: an answer of the target, or a call of the lab's
    handle; lab: the latter.
    """

    where: str
    target: bool
    lab: bool


def waiting(error: BaseException) -> Wait:
    """Return what was waited for when a TimeoutError of asyncio ended it."""
    cancelled = error.__cause__ or error
    frames = [
        (Path(frame.f_code.co_filename), frame.f_code.co_name, line)
        for frame, line in traceback.walk_tb(cancelled.__traceback__)
    ]
    lab = any(path == CONFORMANCE / "target.py" and name == "in_lab" for path, name, _ in frames)
    asks = any(CLIENTS in path.parents or _reads(path) for path, _, _ in frames)
    own = [each for each in frames if each[0].parent != CONFORMANCE or each[0].name not in HELPERS]
    own = [each for each in own if CONFORMANCE in each[0].parents] or frames
    path, name, line = own[-1] if own else (Path("?"), "?", 0)
    source = linecache.getline(str(path), line).strip()
    return Wait(f"it waits in {name}, {path.name}:{line}: {source}", lab or asks, lab)


def _reads(path: Path) -> bool:
    return path.parent == CONFORMANCE and path.name in READERS
