"""Import of jsonschema without a slow dependency that labkit's schemas never use.

JupyterLab installs the extras of jsonschema, which imports them all for its format checks. One of them, rfc3987_syntax,
builds a grammar for the format `iri` when it is imported, which takes a second and a half. Here that import is deferred
until code anywhere in the process checks this format; the behaviour of jsonschema stays the same.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

GRAMMAR = "rfc3987_syntax"


def is_valid_syntax(*args: Any, **named: Any) -> Any:
    """Import rfc3987_syntax and call its function of this name."""
    return import_module(GRAMMAR).is_valid_syntax(*args, **named)


if GRAMMAR in sys.modules or "jsonschema" in sys.modules or find_spec(GRAMMAR) is None:
    from jsonschema import Draft7Validator, ValidationError
    from jsonschema.validators import extend
else:
    stub = ModuleType(GRAMMAR)
    stub.is_valid_syntax = is_valid_syntax  # type: ignore[attr-defined]
    sys.modules[GRAMMAR] = stub
    try:
        from jsonschema import Draft7Validator, ValidationError
        from jsonschema.validators import extend
    finally:
        del sys.modules[GRAMMAR]

__all__ = ["Draft7Validator", "ValidationError", "extend"]
