"""File descriptors for the connections of a fleet."""

from __future__ import annotations

from pathlib import Path

from labkit.core.errors import LabError

ENDS = 2  # descriptors of a connection, since both of its ends are in the lab's process
SPARE = 64  # for files, the journal's readers and other clients


def provide(devices: int, *, strict: bool) -> None:
    """Raise this process' limit of open files for `devices` connections, as far as the system allows.

    strict: raise LabError if it allows too few; otherwise fewer may be enough, since devices that end early free
    theirs.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = _in_use() + ENDS * devices + SPARE
    if soft == resource.RLIM_INFINITY or needed <= soft:
        return
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    except (OSError, ValueError):  # the system has a lower limit
        allowed = soft
    if strict and allowed < needed:
        raise LabError(
            f"{devices:,} live devices need {needed:,} open files, two for each connection, but this process may have "
            f"{allowed:,}: raise the limit (ulimit -n {needed}), give the run workers=…, or take fewer devices"
        )


def _in_use() -> int:
    """Return the number of open descriptors, 0 if the system does not list them."""
    try:
        return sum(1 for _ in Path("/dev/fd").iterdir())
    except OSError:
        return 0
