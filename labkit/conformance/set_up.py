"""Preconditions of checks, such as a provisioned device or an active user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from labkit.conformance.verdict import Mismatch
from labkit.core.errors import LabkitError
from labkit.fleet.device import DeviceError


class SetUpError(LabkitError):
    """A precondition of a check failed. The verdict is broken: it says nothing about the requirement."""


@contextmanager
def set_up(what: str) -> Iterator[None]:
    """Convert errors of the target while a precondition is made. Raises SetUpError in place of Mismatch and
    DeviceError.
    """
    try:
        yield
    except (Mismatch, DeviceError) as error:
        raise SetUpError(f"set-up: {what}: {error}") from error
