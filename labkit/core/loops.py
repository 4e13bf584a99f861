"""Which event loop to run on."""

from __future__ import annotations

import sys


def run_with_uvloop() -> bool:
    """Is uvloop there? It serves faster and needs less memory for each TLS connection."""
    if sys.platform == "win32":
        return False
    try:
        import uvloop  # noqa: F401
    except ImportError:
        return False
    return True
