"""How a request of the lab's own says which record of the journal led to it."""

from __future__ import annotations

import re
from collections.abc import Mapping

CAUSE = "X-Labkit-Cause"

_SEQUENCE = re.compile(r"[0-9]{1,15}")


def cause_of(headers: Mapping[str, str]) -> int | None:
    """The sequence of the record that led to a request, where its headers say so."""
    text = headers.get(CAUSE, "")
    return int(text) if _SEQUENCE.fullmatch(text) else None
