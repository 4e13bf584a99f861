"""The wait in which a check's time ended, derived from the traceback of its cancellation."""

from __future__ import annotations

import linecache
import traceback
from dataclasses import dataclass
from pathlib import Path

CONFORMANCE = Path(__file__).parent
CLIENTS = CONFORMANCE.parent / "fleet"
# Files of this folder that wait for an answer of the target on behalf of a check.
READERS = frozenset({"answers.py", "connection_pool.py", "raw.py"})
HELPERS = READERS | {"blocking.py", "runner.py", "target.py"}


@dataclass(frozen=True, slots=True)
class Wait:
    """The operation that a check was waiting for. where: the check's line; target: whether it was an answer of the
    target, or a call of the lab's handle; lab: whether it was such a call.
    """

    where: str
    target: bool
    lab: bool


def waiting(error: BaseException) -> Wait:
    """Return the operation that a TimeoutError of asyncio interrupted."""
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
