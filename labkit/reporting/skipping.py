"""Cells of notebooks that cannot run on this machine."""

from __future__ import annotations

from labkit.core.errors import LabError


class SkippedError(LabError):
    """Error of a cell that this machine cannot run. A report skips it, and the cells that use what it defines."""


def skip_unless(possible: object, reason: str) -> None:
    """Raise SkippedError with the reason, as in "needs a C compiler", unless something is `possible` here."""
    if not possible:
        raise SkippedError(reason)
