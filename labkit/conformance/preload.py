"""All that a lab, its clients and the checks need, for a process that others are forked from (fork_server.py).

A fork then starts within milliseconds, with what takes long when it is done for the first time done. What mutants
break is not kept over a lab's life (no module-level object changes after import), so a lab that was here before the
fork hides no fault: a mutant that it did hide would survive, and a test says so.
"""

from contextlib import suppress
from importlib import import_module

from labkit.conformance.check import all_checks
from labkit.conformance.mutant import SMOKE
from labkit.conformance.rows import all_mutants
from labkit.core.errors import LabkitError
from labkit.solutions.lua.runtime import luajit

USED = (
    "anyio._backends._asyncio anyio.from_thread httpcore httpx labkit.services.keystore.embedded uvloop "
    "hypothesis.strategies hypothesis.internal.conjecture.engine"
)
with suppress(LabkitError):  # a catalogue that is wrong is told by those who need it
    import_module("labkit.conformance.mutation")
with suppress(ImportError):
    luajit()
for name in ("labkit.edge.openssl", *USED.split()):
    with suppress(ImportError):  # not every system has every one of them
        import_module(name)
all_checks()
with suppress(LabkitError):
    all_mutants()


def prepare() -> None:
    """Start a lab, play a check, and end it, with its threads: they do not survive a fork."""
    from labkit.conformance import runner
    from labkit.conformance.catalogue import load
    from labkit.conformance.models import search
    from labkit.conformance.target import opened

    with opened() as target:
        runner.run([each for each in all_checks() if each.name == SMOKE], target, load())
    search.prepare()
