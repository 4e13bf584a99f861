"""Imports of a fork server (fork_server.py): modules that a lab, its clients and the checks need.

A forked process then starts within milliseconds, after all slow first-time initialization.
"""

from contextlib import suppress
from importlib import import_module

import labkit.edge.openssl
import labkit.lab.lab
import labkit.services.keystore.fakeredis_socket  # noqa: F401
from labkit.conformance import runner
from labkit.conformance.catalogue import load
from labkit.conformance.check import all_checks
from labkit.conformance.models import search
from labkit.conformance.mutant import SMOKE
from labkit.conformance.rows import all_mutants
from labkit.conformance.target import open_target
from labkit.core.errors import LabkitError
from labkit.solutions.lua.runtime import luajit

LIBRARIES = (
    "anyio._backends._asyncio httpcore httpx uvloop "
    "hypothesis.strategies hypothesis.internal.conjecture.engine "
    "labkit.providers.social.oauth1 labkit.providers.social.oauth2"
)
with suppress(ImportError):
    luajit()
for name in LIBRARIES.split():
    with suppress(ImportError):  # some are optional, or missing on a platform
        import_module(name)
all_checks()
with suppress(LabkitError):  # its users report an invalid fault
    all_mutants()


def prepare() -> None:
    """Start a lab, run a check, and close the lab with its threads, which do not survive a fork."""
    with open_target() as target:
        runner.run([each for each in all_checks() if each.name == SMOKE], target, load())
    search.prepare()
