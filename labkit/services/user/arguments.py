"""What arguments of several groups have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator


def listed(value: object) -> object:
    """For BeforeValidator: one item may stand for a list of one, and an empty table may look like an object."""
    if value == {}:
        return []
    return [value] if isinstance(value, Mapping | str) else value


def _whole(value: object) -> object:
    """Scripts pass whole numbers as numbers (which may be floats) and as text; true is none."""
    if isinstance(value, bool) or (isinstance(value, str) and not re.fullmatch("-?[0-9]+", value)):
        raise ValueError("expected a whole number")
    return int(value[:20]) if isinstance(value, str) else value


Whole = Annotated[int, BeforeValidator(_whole)]
