"""Sharing of a module's local names with the other scripts, as where the platform joins modules and scripts into one.

In the older form of a folder (Solutionfile.json) the platform puts the text of all modules before each script, so that
scripts see the local functions of modules. Here a module runs once; at its end its outermost local names become globals
with the values that they have then. A module keeps its own names, also if another one has the same.
"""

from __future__ import annotations

from labkit.solutions.folders.scripts import ScriptSource
from labkit.solutions.lua.syntax import outermost_return, usage


def sharing_locals(module: ScriptSource) -> str:
    """Return the source of a module that makes its outermost local names global at its end.

    No line moves. A module that returns a value does so still.
    """
    names = sorted(usage(module).locals)
    if not names:
        return module.source
    shared = " ".join(f'if {name} ~= nil then rawset(_G, "{name}", {name}) end' for name in names)
    source = module.source.encode()
    at = outermost_return(module)
    if at is None:
        return f"{module.source}\n{shared}"
    return b" ".join((source[:at], shared.encode(), source[at:])).decode()
