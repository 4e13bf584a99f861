"""All that a lab, its clients and the checks need, for a process that others are forked from (fork_server.py).

A fork then starts within milliseconds, with what takes long when it is done for the first time done.
"""

from contextlib import suppress
from importlib import import_module

import labkit.edge.openssl
import labkit.lab.lab  # noqa: F401
from labkit.conformance import runner
from labkit.conformance.catalogue import load
from labkit.conformance.check import all_checks
from labkit.conformance.models import search
from labkit.conformance.mutant import SMOKE
from labkit.conformance.rows import all_mutants
from labkit.conformance.target import opened
from labkit.core.errors import LabkitError
from labkit.solutions.lua.runtime import luajit

LIBRARIES = (
    "anyio._backends._asyncio anyio.from_thread httpcore httpx uvloop "
    "hypothesis.strategies hypothesis.internal.conjecture.engine"
)
with suppress(ImportError):
    luajit()
for name in LIBRARIES.split():
    with suppress(ImportError):  # not every system has every one of them
        import_module(name)
all_checks()
with suppress(LabkitError):  # a fault that is wrong is told by those who need it
    all_mutants()


def prepare() -> None:
    """Start a lab, play a check, and end it, with its threads: they do not survive a fork."""
    with opened() as target:
        runner.run([each for each in all_checks() if each.name == SMOKE], target, load())
    search.prepare()
