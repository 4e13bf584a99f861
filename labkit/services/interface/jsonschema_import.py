"""jsonschema, imported without what takes a second and a half and what schemas here never use.

Where JupyterLab is installed, its extras are too, and jsonschema imports them all to check formats. One of them,
rfc3987_syntax, builds a grammar at once, for the format `iri`. It is put off until somebody checks that format, here or
anywhere else in the process: what jsonschema does stays the same.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

GRAMMAR = "rfc3987_syntax"


def is_valid_syntax(*args: Any, **named: Any) -> Any:
    """As rfc3987_syntax has it, which is imported by now."""
    return import_module(GRAMMAR).is_valid_syntax(*args, **named)


if GRAMMAR in sys.modules or "jsonschema" in sys.modules or find_spec(GRAMMAR) is None:
    from jsonschema import Draft7Validator, ValidationError
    from jsonschema.validators import extend
else:
    later = ModuleType(GRAMMAR)
    later.is_valid_syntax = is_valid_syntax  # type: ignore[attr-defined]
    sys.modules[GRAMMAR] = later
    try:
        from jsonschema import Draft7Validator, ValidationError
        from jsonschema.validators import extend
    finally:
        del sys.modules[GRAMMAR]

__all__ = ["Draft7Validator", "ValidationError", "extend"]
