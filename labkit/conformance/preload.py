"""All that a lab, its clients and the checks import when used, for the process that mutants are forked from.

A fork then starts within milliseconds. Nothing runs here, since threads do not survive a fork.
"""

from contextlib import suppress
from importlib import import_module

from labkit.conformance.check import all_checks
from labkit.conformance.mutant import all_mutants
from labkit.core.errors import LabkitError
from labkit.solutions.lua.runtime import luajit

USED = "anyio._backends._asyncio anyio.from_thread httpcore httpx labkit.services.keystore.embedded uvloop"
with suppress(LabkitError):  # a catalogue that is wrong is told by those who need it
    import_module("labkit.conformance.mutation")
with suppress(ImportError):
    luajit()
for name in ("labkit.edge.openssl", *USED.split()):
    with suppress(ImportError):  # not every system has every one of them
        import_module(name)
all_checks()
all_mutants()
