"""Virtual devices, and the client they share; they reach the platform by HTTPS only."""

import sys
from importlib import import_module
from types import ModuleType


def _main() -> None:
    del sys.modules["httpx._main"]
    import_module("httpx._main").main()


# httpx imports its command line with itself, and so rich and pygments where these are installed. Here at its first use.
command_line = ModuleType("httpx._main")
command_line.main = _main  # type: ignore[attr-defined]
sys.modules.setdefault("httpx._main", command_line)
