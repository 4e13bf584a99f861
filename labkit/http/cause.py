"""Request header with the journal record that caused one of the lab's own requests."""

from __future__ import annotations

import re
from collections.abc import Mapping

CAUSE = "X-Labkit-Cause"

_SEQUENCE = re.compile(r"[0-9]{1,15}")


def cause_of(headers: Mapping[str, str]) -> int | None:
    """Return the sequence number of the journal record that caused a request, or None."""
    text = headers.get(CAUSE, "")
    return int(text) if _SEQUENCE.fullmatch(text) else None
