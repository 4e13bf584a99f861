"""What a check needs before it can begin, such as a provisioned device or an active user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from labkit.conformance.verdict import Mismatch
from labkit.core.errors import LabkitError
from labkit.fleet.device import DeviceError


class SetUpError(LabkitError):
    """What a check needs could not be made, so that its verdict is broken: it says nothing about its requirement."""


@contextmanager
def set_up(what: str) -> Iterator[None]:
    """Whatever the target does wrong in here is no failure of what is checked. Raises SetUpError instead."""
    try:
        yield
    except (Mismatch, DeviceError) as error:
        raise SetUpError(f"set-up: {what}: {error}") from error
