"""Settings of stubs: services of vendors that solutions call, and that the platform does not have."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from labkit.settings.values import OperationName


def _form(value: Any) -> str | None:
    """Return the tag of a stub's form: an own error for each form is clearer than one for both."""
    if isinstance(value, Mapping):
        return "results"
    return "file" if isinstance(value, str | Path) else None


Results = Annotated[dict[OperationName, Any], Field(min_length=1)]  # by operation

Stub = Annotated[
    Annotated[Path, Tag("file")] | Annotated[Results, Tag("results")],
    Discriminator(
        _form,
        custom_error_type="stub",
        custom_error_message="expected the name of a Python file, or a mapping with the result of each operation",
    ),
]
