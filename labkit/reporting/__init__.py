"""Reporting: running notebooks, and the tables, charts and files that come of it.

JupyterLab installs the extras of jsonschema, which nbformat imports, and with it all of them. One, rfc3987_syntax,
builds a grammar for the format `iri` when it is imported, which takes longer than all else here. That is deferred until
code anywhere in the process checks this format; the behaviour of jsonschema stays the same.
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


if not {GRAMMAR, "jsonschema"} & sys.modules.keys() and find_spec(GRAMMAR) is not None:
    stub = ModuleType(GRAMMAR)
    stub.is_valid_syntax = is_valid_syntax  # type: ignore[attr-defined]
    sys.modules[GRAMMAR] = stub
    try:
        import_module("jsonschema")
    finally:
        del sys.modules[GRAMMAR]
